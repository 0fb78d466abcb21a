"""Handlers by key, for tests and for `unum run workflow.asl.json --functions local.py`."""

from functions import orders

FUNCTIONS = {"Split": orders.split, "Price": orders.price, "Total": orders.total}
