"""How a world evolves over time: the functional contract, and one folder per world."""
