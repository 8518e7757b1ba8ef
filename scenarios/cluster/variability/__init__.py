"""How GPUs differ, and what a scheduler knows about it."""
