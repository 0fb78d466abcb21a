"""Read models of executions: steps, progress, Map Runs, lists."""
