"""Graphs written in Python with `unum_compiler.graph`, and their conversion to the Amazon States Language."""
