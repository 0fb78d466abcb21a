"""Workflows in one process."""
