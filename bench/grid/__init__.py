"""Grids of scenarios, policies and seeds: rows, their origin, and intervals."""
