"""The parts of learning that are specific to the serverless platform."""
