"""Requests to clusters, for Tasks with `eks:call` and `eks:runJob`; the service function alone loads it."""
