"""The parts of learning that are specific to the training cluster."""
