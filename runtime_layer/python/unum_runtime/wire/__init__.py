"""The few calls of AWS that every step makes, on the standard library alone: it takes longer to import an SDK."""
