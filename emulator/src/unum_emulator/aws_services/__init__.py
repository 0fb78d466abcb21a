"""Corrections of the other emulated services."""
