"""Recipes: each is a learner that can be read from top to bottom."""
