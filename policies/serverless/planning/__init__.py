"""Offline planners, which make a static plan per workflow before the run."""
