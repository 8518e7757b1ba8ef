"""Who decides: published schedulers as pure JAX policies."""
