"""Networks in torch, and the same in JAX for whole episodes."""
