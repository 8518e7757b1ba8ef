"""ESG: the path search, its exact look-up version, and the learned version."""
