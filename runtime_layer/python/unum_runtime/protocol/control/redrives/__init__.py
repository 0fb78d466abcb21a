"""Redrives of failed executions, and what they share with forks: where an execution may be entered again."""
