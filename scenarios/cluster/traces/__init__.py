"""Readers of trace and profile files."""
