"""Handler path of the service function, as deployed templates name it."""

from unum_runtime.features.services.service_function import handle

__all__ = ["handle"]
