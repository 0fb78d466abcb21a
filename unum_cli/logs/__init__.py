"""Log lines of executions, from CloudWatch Logs."""
