"""Schedulers of the serverless platform, their shared tables, and the catalog."""
