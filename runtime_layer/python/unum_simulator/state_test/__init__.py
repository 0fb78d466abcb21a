"""Run a single state with given input and mocked results."""
