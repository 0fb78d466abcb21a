"""Handler path of the failure handler, as deployed templates name it."""

from unum_runtime.functions.operations.failure_function import handle

__all__ = ["handle"]
