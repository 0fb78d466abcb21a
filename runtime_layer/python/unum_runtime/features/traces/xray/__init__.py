"""Segments of X-Ray."""
