"""The folder of a training run: its state, and a lock so that one process at a time uses it."""
