"""What learning needs of the serverless platform."""
