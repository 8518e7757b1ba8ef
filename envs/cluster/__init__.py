"""The training cluster: state, dynamics, what a scheduler sees, and the results of an episode."""
