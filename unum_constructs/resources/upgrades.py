"""Options for deployments that remove parts of a workflow while executions run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from aws_cdk import aws_lambda as lambda_


class OnRemoved(StrEnum):
    """Decision about a deployment that removes parts which running executions need."""

    REFUSE = "refuse"
    """The deployment fails with a message that names the parts and the executions, and rolls back."""

    FAIL_EXECUTIONS = "fail-executions"
    """The deployment goes through. Executions fail when they need what is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """Parts that no Task of the definition needs, and that stay for executions of earlier definitions.

    It is the first of two steps that remove a part: executions that start from then on do without it. The second step
    leaves it out of `Keep`, when the earlier executions have ended.

    Attributes:
        functions: functions by the key that Tasks of earlier definitions name.
        activities: names of activities.
        timer: True for the timer queue.
        schedules: True for the schedules of long waits, and the timer queue.
    """

    functions: Mapping[str, lambda_.Function] = field(default_factory=dict)
    activities: Sequence[str] = ()
    timer: bool = False
    schedules: bool = False


NOTHING = Keep()
"""The default."""
