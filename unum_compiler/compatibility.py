"""Modes of compatibility with Step Functions."""

from enum import StrEnum

PAYLOAD_LIMIT = 262_144
"""Most bytes of a value in Step Functions. Source: Step Functions Developer Guide, "Service quotas"."""

HOP_BUDGET = 5_000
"""Most steps: an execution of Step Functions may have 25,000 events, and a Task has five. Source: the same page."""


class Compatibility(StrEnum):
    """What a definition may use."""

    GENEROUS = "generous"
    """All that works here, with the limits of this library."""

    STRICT = "strict"
    """Only what Step Functions accepts and does in the same way, with its quotas."""
