"""Assemble a workflow: options, binding, wiring, grants."""
