"""Deletions of executions, and removals of stacks that still have some."""
