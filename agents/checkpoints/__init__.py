"""Checkpoints: weights and facts on disk, and the policies that they are."""
