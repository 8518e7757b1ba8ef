"""How fast the serverless platform is simulated."""
