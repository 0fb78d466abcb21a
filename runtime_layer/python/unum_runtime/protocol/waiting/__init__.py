"""Tasks that wait for an outside result: callbacks and service jobs."""
