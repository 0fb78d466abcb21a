"""Events on a bus about the status of executions, for workflows with `status_events`; each delivery loads it."""
