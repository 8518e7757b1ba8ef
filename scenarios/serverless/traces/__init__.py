"""Readers of arrivals and workflows."""
