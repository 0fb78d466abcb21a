"""Entry point of both functions: Google Cloud calls `handle` with each request."""

from unum_google.function import handle

__all__ = ["handle"]
