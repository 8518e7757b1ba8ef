"""Demonstrations of experts as data sets."""
