"""The cluster as a decision process: actions, observations, rewards and environments."""
