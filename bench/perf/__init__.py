"""Measurements of the simulator's speed."""
