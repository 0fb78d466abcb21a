"""Build the Lambda layers with the runtime."""
