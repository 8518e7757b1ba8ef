"""The contents of a world: jobs, machines, variability, traces."""
