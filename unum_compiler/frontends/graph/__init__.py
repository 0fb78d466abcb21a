"""Graphs written in Python: what `unum_compiler.graph` builds, and how it becomes the Amazon States Language."""
