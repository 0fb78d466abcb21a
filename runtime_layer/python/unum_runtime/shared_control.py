"""Handler path of a control plane of several workflows, as deployed templates name it."""

from unum_runtime.functions.operations.shared_entry import handle

__all__ = ["handle"]
