"""Rebuild an execution's event history from its committed outcomes."""
