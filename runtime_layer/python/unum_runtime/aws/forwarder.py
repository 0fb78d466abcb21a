"""Handler path of the timer's forwarder; deployed templates name it, so it never moves."""

from unum_runtime.features.timers.timer_function import handle

__all__ = ["handle"]
