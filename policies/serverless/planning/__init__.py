"""Offline planners: a static plan per workflow, made before the run."""
