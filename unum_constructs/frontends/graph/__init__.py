"""Graphs written in Python: what `unum_constructs.graph` builds, and how it becomes the Amazon States Language."""
