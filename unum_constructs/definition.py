"""Definitions of workflows, under their public name."""

from unum_compiler.definition import Definition

__all__ = ["Definition"]
