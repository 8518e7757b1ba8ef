"""The folder of a training run: its state, and one process at a time in it."""
