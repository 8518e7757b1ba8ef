"""What learning needs of the training cluster."""
