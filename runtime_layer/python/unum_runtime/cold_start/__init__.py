"""Replacements of standard modules that shorten a cold start."""
