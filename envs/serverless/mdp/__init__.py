"""The serverless platform as a decision process: observations, rewards and environments."""
