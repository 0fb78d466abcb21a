"""Workflows as targets of EventBridge: of rules, and of schedules.

Every event source that can invoke a Lambda function can have `UnumWorkflow.start_alias`. These two do more: what goes
in may be a part of the event, and the execution still has a name that is the same on every delivery of it.
"""

import json
from typing import Any

import jsii
from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as scheduler_targets
from aws_cdk import aws_sqs as sqs
from aws_cdk.interfaces.aws_events import IRuleRef

from unum_constructs.grants import IUnumWorkflow
from unum_runtime.model.envelope import start_event
from unum_runtime.model.ir import Json

WHOLE_EVENT = "$"


@jsii.implements(events.IRuleTarget)
class UnumWorkflowTarget:
    """Starts an execution for each event that matches a rule.

    Args:
        workflow: which.
        input: the execution's input, as JSON in which `aws_events.EventField` stands for parts of the event; the whole
            event where it is None.
        name: the execution's name, the same: events of one name start one execution, with the input of the first. Where
            it is None, it is made from the event's own id. A value that is no name is replaced by a digest.
        dead_letter_queue: what EventBridge could not deliver to Lambda.
        max_event_age: how long EventBridge tries, 1 minute to 24 hours; 24 hours where it is not given.
        retry_attempts: how often, 0 to 185; 185 times where it is not given.

    Raises:
        ValueError: `input` is not JSON, or `name` no text.
    """

    def __init__(
        self,
        workflow: IUnumWorkflow,
        *,
        input: Any = None,  # noqa: A002 - as in all targets of the CDK
        name: str | None = None,
        dead_letter_queue: sqs.IQueue | None = None,
        max_event_age: Duration | None = None,
        retry_attempts: int | None = None,
    ) -> None:
        self._target = targets.LambdaFunction(
            workflow.start_alias,
            event=_rule_input(input, name),
            dead_letter_queue=dead_letter_queue,
            max_event_age=max_event_age,
            retry_attempts=retry_attempts,
        )

    def bind(self, rule: IRuleRef, id: str | None = None) -> events.RuleTargetConfig:  # noqa: A002 - the interface's name
        """See `aws_events.IRuleTarget`."""
        return self._target.bind(rule, id)


@jsii.implements(scheduler.IScheduleTarget)
class UnumScheduleTarget:
    """Starts an execution each time that a schedule of EventBridge Scheduler says.

    Args:
        workflow: which.
        input: the execution's input, as JSON in which `aws_scheduler.ContextAttribute` stands for what Scheduler knows;
            ``{"schedule": ARN, "time": scheduled time}`` where it is None.
        name: the execution's name, the same; made from schedule and scheduled time where it is None, so that there is
            one execution for each time.
        dead_letter_queue: what Scheduler could not deliver to Lambda.
        max_event_age: how long Scheduler tries, 1 minute to 24 hours; 24 hours where it is not given.
        retry_attempts: how often, 0 to 185; 185 times where it is not given.
        role: what Scheduler starts it with; made where it is None.

    Raises:
        ValueError: `input` is not JSON, or `name` no text.
    """

    def __init__(  # noqa: PLR0913 - the arguments of scheduler_targets.LambdaInvoke
        self,
        workflow: IUnumWorkflow,
        *,
        input: Any = None,  # noqa: A002 - as in all targets of the CDK
        name: str | None = None,
        dead_letter_queue: sqs.IQueue | None = None,
        max_event_age: Duration | None = None,
        retry_attempts: int | None = None,
        role: iam.IRole | None = None,
    ) -> None:
        self._target = scheduler_targets.LambdaInvoke(
            workflow.start_alias,
            input=_schedule_input(input, name),
            dead_letter_queue=dead_letter_queue,
            max_event_age=max_event_age,
            retry_attempts=retry_attempts,
            role=role,
        )

    def bind(self, _schedule: scheduler.ISchedule) -> scheduler.ScheduleTargetConfig:
        """See `aws_scheduler.IScheduleTarget`."""
        return self._target.bind(_schedule)


def _rule_input(value: Any, name: str | None) -> events.RuleTargetInput | None:
    """None for the event as it is, which names its execution by itself."""
    if value is None and name is None:
        return None
    whole = events.EventField.from_path(WHOLE_EVENT)
    started = _start(name, events.EventField.event_id, whole if value is None else value)
    return events.RuleTargetInput.from_object(started)


def _schedule_input(value: Any, name: str | None) -> scheduler.ScheduleTargetInput:
    schedule, time = scheduler.ContextAttribute.schedule_arn, scheduler.ContextAttribute.scheduled_time
    given = {"schedule": schedule, "time": time} if value is None else value
    return scheduler.ScheduleTargetInput.from_object(_start(name, f"{schedule} {time}", given))


def _start(name: str | None, own: str, value: Any) -> Json:
    """The event that starts an execution called `name`, or `own`.

    Raises:
        ValueError: `name` is no text, or `value` no JSON, for which the CDK's process would die.
    """
    if name is not None and (not isinstance(name, str) or not name):
        raise ValueError(f"name: expected text or None, got {name!r}")
    try:
        json.dumps(value, allow_nan=False, default=_resolved_later)
    except (TypeError, ValueError) as error:
        raise ValueError(f"input: expected JSON: {error}") from error
    return start_event(own if name is None else name, value)


def _resolved_later(value: object) -> None:
    """Stand in for what the CDK makes JSON of."""
    if not hasattr(value, "resolve"):
        raise TypeError(f"{type(value).__name__} is not JSON")
