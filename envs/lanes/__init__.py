"""Compiled episodes that are stepped from Python: one lane, or many side by side."""
