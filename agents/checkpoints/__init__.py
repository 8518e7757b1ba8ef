"""Checkpoints: weights and facts on disk, and the policies made from them."""
