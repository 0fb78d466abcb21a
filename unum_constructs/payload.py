"""Storage of large values, under its public name."""

from unum_compiler.payload import Payload

__all__ = ["Payload"]
