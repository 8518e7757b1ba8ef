"""The serverless platform as the bench runs it."""
