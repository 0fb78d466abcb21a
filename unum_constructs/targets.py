"""Workflows as targets of EventBridge rules and schedules.

Every event source that can invoke a Lambda function works with `UnumWorkflow.start_alias`. These targets also select
the input from the event, and give each event one execution name, so that a duplicate event starts no second execution.
For name and input they use `UnumWorkflow.run_alias`, where a request says both.
"""

import re
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import jsii
from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as event_sources
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as scheduler_targets
from aws_cdk import aws_sqs as sqs
from aws_cdk.interfaces.aws_events import IRuleRef

from unum_constructs.errors import ConstructError
from unum_constructs.grants import IUnumWorkflow
from unum_runtime.features.signals.mailbox import is_signal_name
from unum_runtime.functions.configuration import QUEUES
from unum_runtime.json_text import find_fault, parse_json, to_ascii
from unum_runtime.model.envelope import MARK, WIRE_VERSION, start_event
from unum_runtime.model.naming import NAME_RULE
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.control_aliases import ControlAlias

if TYPE_CHECKING:
    from unum_constructs.resources.control_function import ControlFunction

WHOLE_EVENT = "$"

_MEMBERS = re.compile(r"\$(\.\w+)+")


@jsii.implements(events.IRuleTarget)
class UnumWorkflowTarget:
    """Target of an EventBridge rule: starts an execution for each matching event.

    Args:
        workflow: workflow to start.
        input: input of the execution, as JSON with `aws_events.EventField` for parts of the event. Default: the whole
            event.
        name: name of the execution, also with event fields. Events of one name and input start one execution; one
            with another input is refused, and becomes a dead letter of the workflow. An invalid name keeps its valid
            characters and gets a digest. Default: the event's id.
        dead_letter_queue: queue for events that EventBridge could not deliver to Lambda.
        max_event_age: longest time that EventBridge retries, 1 minute to 24 hours. Default: 24 hours.
        retry_attempts: retries by EventBridge, 0 to 185. Default: 185.

    Raises:
        ValueError: `input` is not JSON, or `name` is not text.
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
        event = _rule_input(input, name)
        self._target = targets.LambdaFunction(
            workflow.start_alias if event is None else workflow.run_alias,
            event=event,
            dead_letter_queue=dead_letter_queue,
            max_event_age=max_event_age,
            retry_attempts=retry_attempts,
        )

    def bind(self, rule: IRuleRef, id: str | None = None) -> events.RuleTargetConfig:  # noqa: A002 - the interface's name
        """Return the CDK's target configuration; see `aws_events.IRuleTarget`."""
        return self._target.bind(rule, id)


@jsii.implements(events.IRuleTarget)
class UnumSignalTarget:
    """Target of an EventBridge rule: sends a signal for each matching event, to one execution or to all by key.

    An event that comes twice counts once. A signal that is refused, for example because its execution has ended, is
    tried again by Lambda and then by sweeps, and stays in the failure queue meanwhile.

    Args:
        workflow: workflow of the app with Tasks that wait for the signal.
        signal: name of the signal.
        key: key of the signal, with `aws_events.EventField` for parts of the event; text or number.
        execution: name of the execution, also with event fields. Default: all executions that wait with `key`.
        value: result of the Tasks that wait, as JSON with event fields. Default: the whole event.
        id: identity of the signal, also with event fields. Default: the event's id.
        keep: time for which executions that begin to wait later hear a signal by key. Default: a day.
        dead_letter_queue: queue for events that EventBridge could not deliver to Lambda.
        max_event_age: longest time that EventBridge retries, 1 minute to 24 hours. Default: 24 hours.
        retry_attempts: retries by EventBridge, 0 to 185. Default: 185.

    Raises:
        ConstructError: no Task of the workflow waits for a signal, or the workflow is imported.
        ValueError: there is neither key nor execution, `keep` is for one execution, or `value` is not JSON.
    """

    def __init__(  # noqa: PLR0913 - what a signal has, and the arguments of targets.LambdaFunction
        self,
        workflow: IUnumWorkflow,
        signal: str,
        *,
        key: str | None = None,
        execution: str | None = None,
        value: Any = None,
        id: str | None = None,  # noqa: A002 - as in `Control.signal`
        keep: Duration | None = None,
        dead_letter_queue: sqs.IQueue | None = None,
        max_event_age: Duration | None = None,
        retry_attempts: int | None = None,
    ) -> None:
        if not is_signal_name(signal):
            raise ValueError(f"signal: expected {NAME_RULE}, got {signal!r}")
        if key is None and execution is None:
            raise ValueError("expected the key of a signal to all executions, or the name of one, got neither")
        if execution is not None and keep is not None:
            raise ValueError("keep: a signal to one execution is kept as long as that runs; leave it out")
        control: ControlFunction | None = getattr(workflow, "control", None)
        if control is None:
            raise ConstructError(workflow, "UnumSignalTarget: expected a workflow of this app, got an imported one")
        fields = {
            "key": key,
            "execution": execution,
            "keep_s": None if keep is None else keep.to_seconds(),
            "value": checked_json(events.EventField.from_path(WHOLE_EVENT) if value is None else value, "value"),
            "id": events.EventField.event_id if id is None else id,
        }
        known = {name: each for name, each in fields.items() if each is not None}
        request = {MARK: WIRE_VERSION, "control": ControlAlias.SIGNAL.value, "signal": signal, **known}
        self._target = targets.LambdaFunction(
            control.open_for_events(workflow),
            event=events.RuleTargetInput.from_object(request),
            dead_letter_queue=dead_letter_queue,
            max_event_age=max_event_age,
            retry_attempts=retry_attempts,
        )

    def bind(self, rule: IRuleRef, id: str | None = None) -> events.RuleTargetConfig:  # noqa: A002 - the interface's name
        """Return the CDK's target configuration; see `aws_events.IRuleTarget`."""
        return self._target.bind(rule, id)


def start_by_messages(
    workflow: IUnumWorkflow, queue: sqs.IQueue, *, name_from: str | None = None, **options: Any
) -> None:
    """Start an execution for each message of `queue`, named by the message; failed starts are reported one by one.

    A message that comes twice starts one execution. A message that is moved back from a dead-letter queue has a new id:
    name executions by the message's body, if that can happen and an order must not run twice.

    Args:
        workflow: workflow of the app; event source mappings of an imported one belong into its own app.
        queue: queue whose messages start executions.
        name_from: path of a text or number in the body, which is JSON, such as ``$.order.id``. Messages of one name and
            body start one execution; one with another body is refused, and becomes a dead letter of the workflow.
            Messages without a name are named by their ids.
        options: other arguments of `aws_lambda_event_sources.SqsEventSource`.

    Raises:
        ConstructError: the workflow is imported.
        ValueError: `name_from` is no path of members.
    """
    alias = workflow.start_alias
    if not isinstance(alias, lambda_.Alias):
        raise ConstructError(workflow, "start_by_messages: expected a workflow of this app, got an imported one")
    _set_queue(workflow.workflow_name, alias.lambda_, queue, name_from)
    alias.add_event_source(event_sources.SqsEventSource(queue, report_batch_item_failures=True, **options))


_queues: WeakKeyDictionary[lambda_.IFunction, dict[str, dict[str, str]]] = WeakKeyDictionary()
"""Settings of queues by workflow and ARN, of each function in which executions start."""


def _set_queue(workflow_name: str, function: lambda_.IFunction, queue: sqs.IQueue, path: str | None) -> None:
    """Tell `function` that the mapping of `queue` takes reports of single failures, and the path of names."""
    if path is not None and (not isinstance(path, str) or not _MEMBERS.fullmatch(path)):
        raise ValueError(f"name_from: expected a path of members, such as $.order.id, got {path!r}")
    assert isinstance(function, lambda_.Function)  # noqa: S101 - executions start in a function of the workflow's stack
    settings = _queues.setdefault(function, {})
    settings.setdefault(workflow_name, {})[queue.queue_arn] = path or ""
    function.add_environment(QUEUES, function.stack.to_json_string(settings))


@jsii.implements(scheduler.IScheduleTarget)
class UnumScheduleTarget:
    """Target of EventBridge Scheduler: starts an execution at each scheduled time.

    Args:
        workflow: workflow to start.
        input: input of the execution, as JSON with `aws_scheduler.ContextAttribute` for properties of the invocation.
            Default: ``{"schedule": ARN, "time": scheduled time}``.
        name: name of the execution, also with context attributes. Default: schedule and scheduled time, so that each
            time starts one execution. A name that was used with another input is refused, so leave attempt number and
            execution id out of the input: they differ if Scheduler repeats its request.
        dead_letter_queue: queue for invocations that Scheduler could not deliver to Lambda.
        max_event_age: longest time that Scheduler retries, 1 minute to 24 hours. Default: 24 hours.
        retry_attempts: retries by Scheduler, 0 to 185. Default: 185.
        role: role that Scheduler assumes. Default: a new role.

    Raises:
        ValueError: `input` is not JSON, or `name` is not text.
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
            workflow.run_alias,
            input=_schedule_input(input, name),
            dead_letter_queue=dead_letter_queue,
            max_event_age=max_event_age,
            retry_attempts=retry_attempts,
            role=role,
        )

    def bind(self, _schedule: scheduler.ISchedule) -> scheduler.ScheduleTargetConfig:
        """Return the CDK's target configuration; see `aws_scheduler.IScheduleTarget`."""
        return self._target.bind(_schedule)


def _rule_input(value: Any, name: str | None) -> events.RuleTargetInput | None:
    """Return the start event; None passes EventBridge events unchanged, whose ids then name executions."""
    if value is None and name is None:
        return None
    whole = events.EventField.from_path(WHOLE_EVENT)
    started = _named_start(name, events.EventField.event_id, whole if value is None else value)
    return events.RuleTargetInput.from_object(started)


def _schedule_input(value: Any, name: str | None) -> scheduler.ScheduleTargetInput:
    schedule, time = scheduler.ContextAttribute.schedule_arn, scheduler.ContextAttribute.scheduled_time
    start = {"schedule": schedule, "time": time} if value is None else value
    return scheduler.ScheduleTargetInput.from_object(_named_start(name, f"{schedule} {time}", start))


def _named_start(name: str | None, own: str, value: Any) -> Json:
    """Return the event that starts an execution named `name`. Default: `own`.

    Raises:
        ValueError: `name` is not text, or `value` is not JSON; other values would crash the CDK's process.
    """
    if name is not None and (not isinstance(name, str) or not name):
        raise ValueError(f"name: expected text or None, got {name!r}")
    return start_event(own if name is None else name, checked_json(value, "input"))


def checked_json(value: Any, argument: str) -> Any:
    """Return `value`.

    Raises:
        ValueError: it is not JSON; the text names the `argument`.
    """
    try:
        # NaN is no JSON: the CDK's process would exit instead of raising an error.
        text = to_ascii(value, default=_check_resolvable)
        fault = find_fault(parse_json(text), text)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{argument}: expected JSON: {error}") from error
    if fault:
        raise ValueError(f"{argument}: expected JSON: {fault}")
    return value


def _check_resolvable(value: object) -> None:
    """Accept CDK tokens, which become JSON later.

    Raises:
        TypeError: `value` is neither JSON nor a token.
    """
    if not hasattr(value, "resolve"):
        raise TypeError(f"{type(value).__name__} is not JSON")
