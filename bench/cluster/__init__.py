"""The bench's view of the training cluster."""
