"""Substitutes for standard modules, for shorter cold starts."""
