"""Clients that start and read executions."""

from unum_runtime.client.client import Client
from unum_runtime.client.descriptions import Description, Started, Step, StepStatus

__all__ = ["Client", "Description", "Started", "Step", "StepStatus"]
