"""The serverless platform: workflows of DNN functions on invokers whose GPUs are shared."""
