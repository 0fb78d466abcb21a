"""Clients that start and read executions."""

from unum_client.async_client import AsyncClient
from unum_client.client import Client
from unum_client.descriptions import Description, ForkedFrom, Started, Step, StepStatus
from unum_client.task_calls import Call, as_completed

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
