"""Who learns to decide: demonstrations, Stable-Baselines3 faces, learners. Torch and SB3 live only here."""
