"""Workflow alarms and dashboard."""
