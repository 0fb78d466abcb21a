"""Longest time for which tests wait for something that should come soon."""

PATIENCE_S = 600
"""Limit in seconds, for machines that have other work. Reached only where something is wrong."""
