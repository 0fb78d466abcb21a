"""Requests about results that executions share: calls of single Tasks, and lists of what is remembered."""
