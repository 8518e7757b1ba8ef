"""Latency profiles of functions: a parametric law, measured tables, and readers of files."""
