"""Handler path of the control function, as deployed templates name it."""

from unum_runtime.functions.operations.control_entry import handle

__all__ = ["handle"]
