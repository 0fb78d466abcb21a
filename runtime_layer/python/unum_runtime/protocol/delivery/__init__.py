"""Process one delivery of an event: the hot path."""
