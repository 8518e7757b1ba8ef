"""Schedulers of the serverless platform: what all of them know, and the catalog."""
