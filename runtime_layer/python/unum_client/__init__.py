"""Clients that start and read executions."""

from unum_client.async_client import AsyncClient
from unum_client.client import Client
from unum_client.descriptions import Description, ForkedFrom, Started, Step, StepStatus
from unum_client.former_modules import MOVED
from unum_client.task_calls import Call, as_completed
from unum_runtime.former_names import parse_names, redirect

__all__ = [
    "AsyncClient",
    "Call",
    "Client",
    "Description",
    "ForkedFrom",
    "Started",
    "Step",
    "StepStatus",
    "as_completed",
]

redirect(parse_names(MOVED))
