"""Handler path of the timer's forwarder, as deployed templates name it."""

from unum_runtime.functions.timer_function import handle

__all__ = ["handle"]
