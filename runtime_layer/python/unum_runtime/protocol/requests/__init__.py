"""Requests that callers outside the workflow may send."""
