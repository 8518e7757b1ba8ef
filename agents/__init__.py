"""Learning: demonstrations, Stable-Baselines3 interfaces, learners. Only this package uses torch and SB3."""
