"""List schedulers for the training cluster; each combines an order, an admission rule and a placement."""
