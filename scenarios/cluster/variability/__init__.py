"""How GPUs differ, and what a scheduler knows of it."""
