"""Recipes: each is a learner, read from top to bottom."""
