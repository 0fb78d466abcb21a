"""Storage of large values, under its public name."""

from unum_compiler.payload_storage import Payload

__all__ = ["Payload"]
