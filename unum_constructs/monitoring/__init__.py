"""Alarms and the dashboard of a workflow."""
