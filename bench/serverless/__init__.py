"""The bench's view of the serverless platform."""
