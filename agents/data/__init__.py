"""Experts' demonstrations as data sets."""
