"""Scenarios of a serverless platform: workflows, profiles, arrivals and noise."""
