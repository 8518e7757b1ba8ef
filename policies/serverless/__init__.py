"""ESG for the serverless platform: SLO shares, path search, exact suffix tables. Host side, plain NumPy."""
