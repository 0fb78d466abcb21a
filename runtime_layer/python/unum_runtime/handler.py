"""Handler path of task functions, as deployed templates name it."""

from unum_runtime.functions.task_function import handle

__all__ = ["handle"]
