"""How a world moves: the functional contract, and one folder per world."""
