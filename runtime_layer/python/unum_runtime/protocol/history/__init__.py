"""Read what an execution has committed."""
