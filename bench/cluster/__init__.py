"""The training cluster as the bench runs it."""
