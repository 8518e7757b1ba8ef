"""Networks in torch, and the same networks in JAX for whole episodes."""
