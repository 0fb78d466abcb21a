"""Status events of workflows, made by this app or imported, and rules for them.

Source: AWS CDK, `aws_codebuild.Project.on_state_change`, whose options the rules have.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, TypeVar, Unpack

from constructs import Construct, IConstruct

from unum_constructs.cdk.lookup import is_token, stack_of
from unum_constructs.errors import ConstructError
from unum_constructs.metrics import MeteredWorkflow
from unum_runtime.features.status_events.status_events import DETAIL_TYPE, SOURCE
from unum_runtime.model.checkpoint import Status

if TYPE_CHECKING:
    from aws_cdk import aws_lambda as lambda_
    from aws_cdk.aws_events import EventPattern, IEventBus, IRuleTarget, Rule

_ARN_PARTS = 6

_Sweep = TypeVar("_Sweep")


class Placed(Protocol):
    """Function of a stack."""

    @property
    def stack(self) -> str:
        """Path of the stack."""


class RuleOptions(TypedDict, total=False):
    """Options of a rule, as of the CDK's ``on_...`` methods.

    Attributes:
        target: target of the events; others are added by ``add_target`` of the rule.
        event_pattern: further conditions, as `aws_events.EventPattern`.
        rule_name: name of the rule. Default: made by CloudFormation.
        description: description of the rule.
        cross_stack_scope: scope of the rule, if not the workflow.
    """

    target: "IRuleTarget"
    event_pattern: "EventPattern"
    rule_name: str
    description: str
    cross_stack_scope: Construct


class AnnouncedWorkflow(MeteredWorkflow):
    """Workflow that may have status events.

    Attributes:
        events: bus of its status events; None without events, or if unknown.
        start_alias: alias for event sources, whose ARN has account and region of the workflow.
    """

    events: "IEventBus | None" = None
    start_alias: "lambda_.IFunction"

    def on_execution_status_change(
        self,
        id: str,  # noqa: A002 - as in the CDK
        *,
        statuses: Sequence[str] = (),
        **options: Unpack[RuleOptions],
    ) -> "Rule":
        """Return a rule for status events of this workflow.

        Args:
            id: id of the rule below the workflow.
            statuses: ``RUNNING``, ``SUCCEEDED``, ``FAILED``, ``TIMED_OUT``, ``ABORTED``. Default: all.
            options: see `RuleOptions`.

        Raises:
            ConstructError: the workflow has no status events; its bus belongs to another account, where the rule must
                be made; or a status is none.
        """
        from aws_cdk import aws_events as events  # noqa: PLC0415 - few apps have rules

        bus = self._bus_for_rules()
        detail: dict[str, list[str]] = {"stateMachineArn": [self._state_machine_arn()]}
        if statuses:
            detail["status"] = _checked_statuses(self, statuses)
        rule = events.Rule(
            options.get("cross_stack_scope", self),
            id,
            event_bus=bus,
            event_pattern=events.EventPattern(source=[SOURCE], detail_type=[DETAIL_TYPE], detail=detail),
            rule_name=options.get("rule_name"),
            description=options.get("description"),
        )
        if "event_pattern" in options:
            rule.add_event_pattern(**_fields(options["event_pattern"]))
        if "target" in options:
            rule.add_target(options["target"])
        return rule

    def on_execution_started(self, id: str, **options: Unpack[RuleOptions]) -> "Rule":  # noqa: A002 - as above
        """Return a rule for executions that begin to run: starts, forks and redrives (``RUNNING``)."""
        return self.on_execution_status_change(id, statuses=[Status.RUNNING], **options)

    def on_execution_succeeded(self, id: str, **options: Unpack[RuleOptions]) -> "Rule":  # noqa: A002
        """Return a rule for executions that succeed (``SUCCEEDED``)."""
        return self.on_execution_status_change(id, statuses=[Status.SUCCEEDED], **options)

    def on_execution_failed(self, id: str, **options: Unpack[RuleOptions]) -> "Rule":  # noqa: A002
        """Return a rule for executions that fail (``FAILED``), but for those that time out or are stopped."""
        return self.on_execution_status_change(id, statuses=[Status.FAILED], **options)

    def on_execution_timed_out(self, id: str, **options: Unpack[RuleOptions]) -> "Rule":  # noqa: A002
        """Return a rule for executions that exceed their time limit (``TIMED_OUT``)."""
        return self.on_execution_status_change(id, statuses=[Status.TIMED_OUT], **options)

    def on_execution_aborted(self, id: str, **options: Unpack[RuleOptions]) -> "Rule":  # noqa: A002
        """Return a rule for executions that somebody stops, or that a sweep abandons (``ABORTED``)."""
        return self.on_execution_status_change(id, statuses=[Status.ABORTED], **options)

    def _bus_for_rules(self) -> "IEventBus":
        if self.events is None:
            raise ConstructError(
                self,
                "events: expected a bus for status events, got None; give the workflow `Monitoring(events=...)`, or "
                "its import `events`",
            )
        own, there = stack_of(self).account, _place(self.events)[1]
        if _differ(own, there):
            raise ConstructError(
                self,
                f"events: expected a bus of the account {own} for a rule, got {self.events.event_bus_arn}: make the "
                "rule in the account of the bus",
            )
        return self.events

    def _state_machine_arn(self) -> str:
        """Return the ARN that the events have: that of the context object, in the account of the functions."""
        stack, parts = stack_of(self), self.start_alias.function_arn.split(":")
        if len(parts) > _ARN_PARTS:
            _, partition, _, region, account, *_ = parts
        else:
            partition, region, account = stack.partition, stack.region, stack.account
        return f"arn:{partition}:states:{region}:{account}:stateMachine:{self.workflow_name}"


def checked_events(
    workflow: Construct, bus: "IEventBus | None", sweep: _Sweep, hosts: Iterable[Placed]
) -> "tuple[_Sweep, IEventBus | None]":
    """Return `sweep` and `bus`, on which the functions `hosts` put status events.

    Raises:
        ConstructError: it is no bus; they cannot put events on it; or no sweep finds those that are missing.
    """
    if bus is None:
        return sweep, None
    check_is_bus(workflow, bus, "monitoring.events")
    here, there = stack_of(workflow).region, _place(bus)[0]
    if _differ(here, there):
        raise ConstructError(
            workflow,
            f"monitoring.events: expected a bus of the region {here}, got {bus.event_bus_arn}: EventBridge takes "
            "events of its own region; forward them by a rule",
        )
    if sweep is None:
        raise ConstructError(
            workflow,
            "monitoring.events: expected a sweep, which puts the events that EventBridge has refused, got none; give "
            "`sweep`, and a table that lists executions",
        )
    own = stack_of(workflow).node.path
    distant = sorted({each.stack for each in hosts} - {own})
    if distant and stack_of(bus).node.path == own and not is_imported(bus):
        raise ConstructError(
            workflow,
            f"monitoring.events: expected a bus that functions of {distant[0]!r} know, got {bus.node.path!r} of "
            f"{own!r}, which is deployed after them; make the bus in another stack, or import it by its ARN",
        )
    return sweep, bus


def check_is_bus(construct: IConstruct, bus: object, option: str = "events") -> None:
    """Raise ConstructError unless `bus` is a bus, or None."""
    if bus is not None and not hasattr(bus, "event_bus_arn"):
        raise ConstructError(construct, f"{option}: expected an aws_events.IEventBus, got {bus!r}")


def is_imported(bus: "IEventBus") -> bool:
    """Return True if another app has made `bus`."""
    return bus.node.default_child is None


def _checked_statuses(workflow: IConstruct, statuses: Sequence[str]) -> list[str]:
    known = [str(each) for each in Status]
    if isinstance(statuses, str) or not {*statuses} <= {*known}:
        raise ConstructError(workflow, f"statuses: expected some of {known}, got {statuses!r}")
    return [str(each) for each in statuses]


def _fields(pattern: Any) -> dict[str, Any]:
    """Return the fields of an event pattern."""
    return dict(pattern) if isinstance(pattern, dict) else dict(pattern._values)  # noqa: SLF001 - jsii's structs


def _place(bus: "IEventBus") -> tuple[str, str]:
    """Return region and account of `bus` from its ARN: `env` of an imported bus names the importing stack."""
    parts = bus.event_bus_arn.split(":")
    return (parts[3], parts[4]) if len(parts) >= _ARN_PARTS else (bus.env.region, bus.env.account)


def _differ(here: str, there: str) -> bool:
    """Return True if two regions or accounts differ for certain; tokens may be equal."""
    return here != there and not is_token(here) and not is_token(there)
