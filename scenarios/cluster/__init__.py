"""Scenarios of a training cluster: workloads, traces and measured speed of GPUs."""
