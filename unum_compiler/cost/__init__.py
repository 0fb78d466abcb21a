"""Estimate what executions cost."""
