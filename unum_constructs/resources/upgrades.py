"""Options for deployments that remove parts of a workflow while executions run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_compiler.definition import Definition
from unum_constructs.cdk.argument_checks import check_mappings, check_types, checked_choice
from unum_constructs.errors import ConstructError
from unum_runtime.model.naming import NAME_RULE, is_name


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrades:
    """Deployments of a workflow while executions run.

    Attributes:
        on_removed: effect of a deployment that removes functions, activities, the timer queue or schedules that
            running executions need. ``REFUSE``: it fails and rolls back; this requires a table that lists executions.
            ``FAIL_EXECUTIONS``: it goes through. Default: ``REFUSE``, if the table is known to list executions and
            the workflow's own functions are in no VPC.
        keep: parts that only executions of earlier definitions need.
        earlier: definitions whose executions may still run. Synth then says what the deployment means for them, as
            ``unum diff`` does, and fails if it would be refused. With the context value ``unum:compareDeployed``, it
            says so for the deployed definition, and for its running executions, as far as it has access.
    """

    on_removed: OnRemoved | str | None = None
    keep: Keep | None = None
    earlier: Sequence[Definition] = ()

    def decision(self, workflow: Construct) -> OnRemoved | None:
        """Return the decision about deployments that remove what executions need; None for the default.

        Raises:
            ConstructError: there is no such decision.
        """
        option = "upgrades.on_removed"
        return None if self.on_removed is None else checked_choice(workflow, option, self.on_removed, OnRemoved)

    def kept(self, workflow: Construct) -> Keep:
        """Return the kept parts.

        Raises:
            ConstructError: a value has another type, or no activity can have a name.
        """
        option, keep = "upgrades.keep", self.keep
        check_types(workflow, Keep, {option: keep})
        if keep is None:
            return NOTHING
        check_mappings(workflow, {f"{option}.functions": keep.functions})
        check_types(workflow, bool, {f"{option}.timer": keep.timer, f"{option}.schedules": keep.schedules})
        for name in (keep.activities,) if isinstance(keep.activities, str) else keep.activities:
            if isinstance(keep.activities, str) or not is_name(name):
                expected = f"expected a list of names, each {NAME_RULE}"
                raise ConstructError(workflow, f"{option}.activities: {expected}, got {name!r}")
        return keep
