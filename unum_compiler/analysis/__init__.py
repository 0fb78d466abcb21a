"""Analyze compiled workflows: edges, control flow, waits, changes between versions."""
