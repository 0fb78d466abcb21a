"""Tasks whose result arrives from outside: callbacks and service jobs."""
