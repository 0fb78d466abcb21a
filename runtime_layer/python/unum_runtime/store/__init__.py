"""Shared state: the primitives, and a module for each backend."""
