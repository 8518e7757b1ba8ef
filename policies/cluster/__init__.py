"""List schedulers for the training cluster: an order, an admission, a placement."""
