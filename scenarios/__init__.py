"""What a world is: jobs, machines, variability, traces."""
