"""Published schedulers as pure JAX policies."""
