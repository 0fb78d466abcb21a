"""Traces of user code, for functions with a tracing kind; each function loads it at its start."""
