"""The training cluster: state, dynamics, what a scheduler sees, and what came out."""
