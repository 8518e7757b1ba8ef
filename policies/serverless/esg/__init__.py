"""ESG: path search, exact suffix tables, and the learned version of it."""
