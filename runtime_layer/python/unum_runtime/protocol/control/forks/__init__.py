"""Forks: executions that begin where another one was."""
