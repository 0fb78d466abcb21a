"""Traces of user code; layers of workflows without them leave this folder out."""
