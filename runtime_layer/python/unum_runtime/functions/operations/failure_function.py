"""Failure handler, the intake of a workflow: the Lambda handler for failed events of the workflow's functions.

A version of it is the on-failure destination of the functions' versions. It acts in place of the function that failed,
with the routes in that function's configuration, and plans by the definition of the event, which the store keeps. A
failed start has the definition in the configuration of its function. Its environment has
`UNUM_WORKFLOWS`, as every function of the workflow; `UNUM_CONTROL`, the control function, unless it is that itself; and
`UNUM_OTHERS`, for each of its workflows the failure handlers of others that share functions with it, empty for itself.

Any function of the workflow may invoke its versions, and may forge what it sends. So a version reads names in a record
or a request, never content: it can make an invocation that exists fail, or send it again. Failed starts of executions
arrive at an alias, which the entry function's role alone may invoke.

It raises its own errors: after some attempts Lambda sends the record to the dead-letter queue.
Source of the records: AWS Lambda Developer Guide, "Capturing records of Lambda asynchronous invocations".
"""

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NoReturn

from unum_runtime.aws.embedded_metrics import THROTTLED
from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.cold_start.records import dataclass, replace
from unum_runtime.errors import (
    DefinitionNotStored,
    ExecutionDoesNotExist,
    InconsistentHistory,
    InvokeError,
    NotOurEvent,
    RefusedDelivery,
    StoreError,
)
from unum_runtime.functions.configuration import services
from unum_runtime.functions.definitions import NO_DEFINITION, keep_definition
from unum_runtime.functions.operations import function_versions
from unum_runtime.functions.operations.caller import LambdaCaller
from unum_runtime.functions.operations.dead_letters import DEAD_SINCE, REDELIVERED
from unum_runtime.functions.operations.function_versions import configured, lambda_client
from unum_runtime.functions.operations.runtime_in_place import runtime_of
from unum_runtime.functions.operations.served_workflow import workflow_of
from unum_runtime.functions.operations.throttled_events import is_throttled, send_again
from unum_runtime.json_text import parse_json, to_ascii, to_text
from unum_runtime.model.checkpoint import Checkpoint, Failure
from unum_runtime.model.delivery_record import Arrival
from unum_runtime.model.envelope import Envelope, is_answered, is_envelope
from unum_runtime.model.naming import (
    START_STEP,
    Execution,
    Name,
    checkpoint_key,
    control_alias_name,
    intake_alias,
    run_alias,
    start_intake_alias,
)
from unum_runtime.model.states import Json, Task
from unum_runtime.model.take_over_request import TakeOver, is_take_over
from unum_runtime.protocol.control import versions
from unum_runtime.protocol.control.control_aliases import WORKFLOW, ControlAlias
from unum_runtime.protocol.control.operator_requests import Control, request
from unum_runtime.protocol.control.platform_failure import fail_invocation
from unum_runtime.protocol.control.take_over import planned_event, take_over
from unum_runtime.protocol.delivery.ingress import refuse_late
from unum_runtime.protocol.delivery.perform import payload_of
from unum_runtime.protocol.history.start_records import start_record
from unum_runtime.protocol.requests import entry_aliases
from unum_runtime.protocol.runtime import Call, NoTimer, Runtime

# Events of another version than the execution that they name: the execution is nudged by its name instead.
#
# The content of a foreign event proves nothing, so it is not used. The control function plans again from what is
# committed, by the execution's own definition, and sends what is pending.

CONTROL = "UNUM_CONTROL"
"""Environment variable with the ARN of the control function."""


def nudge_instead(rt: Runtime, envelope: Envelope) -> None:
    """Nudge the execution of `envelope`, an event whose definition is not stored.

    Raises:
        RefusedDelivery: the execution's last moment has passed, or a later execution has its name.
        NotOurEvent: the execution runs on this definition, so nothing can plan its next step.
        InvokeError: the execution could not be nudged.
    """
    execution = envelope.name.execution
    # A nudge would send the same event to the same function again.
    if _runs_on(rt, execution) == envelope.digest:
        raise NotOurEvent(f"{envelope.name}: expected the definition of IR {envelope.digest} in the store, found none")
    answer = _ask_nudge(rt.workflow.name, execution.name)
    if "error" in answer:
        raise InvokeError(f"{execution}: not nudged: {answer['error']}: {answer['message']}")
    rt.log("foreign", execution=execution.name, nudged=answer["count"])


def _runs_on(rt: Runtime, execution: Execution) -> str | None:
    """Return the digest of the version on which `execution` runs; see `nudge_instead`."""
    refuse_late(rt, execution, str(execution))
    try:
        record = start_record(rt.store, rt.workflow.name, execution.name)
    except ExecutionDoesNotExist as gone:
        raise RefusedDelivery(f"{execution}: {gone}") from gone
    if record.name.execution != execution:
        raise RefusedDelivery(f"{execution}: a later execution has the same name")
    return versions.runs_on(rt.store, rt.workflow.name, execution.name).digest


def _ask_nudge(workflow: str, execution: str) -> Json:
    """Ask the control function to nudge `execution`, and return the answer."""
    asked, control = request(Control.NUDGE, execution), os.environ.get(CONTROL)
    if control is None:  # this function is the control function, of several workflows
        names = os.environ["AWS_LAMBDA_FUNCTION_NAME"], os.environ["AWS_LAMBDA_FUNCTION_VERSION"]
        return LambdaCaller(lambda_client()).call(":".join(names), to_text({**asked, WORKFLOW: workflow}).encode())
    address = f"{control}:{control_alias_name(ControlAlias.NUDGE, workflow)}"
    return LambdaCaller(lambda_client()).call(address, to_text(asked).encode())


# Intake: the version of the failure handler that continues invocations in place of functions whose role may not.


def answer(request: TakeOver, context: Any) -> None:
    """Continue the requested invocation, by the definition with the digest of the request.

    Raises:
        NotOurEvent: the request belongs to another workflow, or to no execution of it.
        DefinitionNotStored: no execution has a definition with the digest of the request.
        UnumError: a service did not answer; Lambda calls again.
    """
    if request.workflow not in services():
        raise NotOurEvent(f"take_over.workflow: expected one of {sorted(services())}, got {request.workflow!r}")
    rt = _runtime(request, context, request.digest)
    try:
        take_over(rt, request, execution_routes(rt, request.name))
    except (InconsistentHistory, NotOurEvent, StoreError) as error:
        from unum_runtime.protocol.delivery.deletion import refuse_if_deleted  # noqa: PLC0415 - few requests fail

        refuse_if_deleted(rt, request.name.execution.name, error)
        raise


def execution_routes(rt: Runtime, name: Name) -> dict[str, str]:
    """Return what travels with the execution of the invocation `name`, from its first commit or its first function."""
    first = Name(name.execution, (), START_STEP + 1)
    key = checkpoint_key(rt.workflow.name, first)
    item = rt.store.read([key]).get(key)
    began = None if item is None else Checkpoint.from_item(first, item).began
    routes = {key: rt.routes[key] for key in rt.carried} if began is None else {**began.routes}
    if rt.statuses is None:
        return routes
    from unum_runtime.features.status_events.announcements import (  # noqa: PLC0415 - only workflows with events have it
        redrives_before,
    )

    # The event of the function has them, but may be forged. It may also come after a redrive that followed on its end.
    step = name.frames[0].iteration if name.frames else name.step
    return routes | redrives_before(rt, name.execution, step).to_routes()


def _runtime(request: TakeOver, context: Any, digest: str) -> Runtime:
    """Return a runtime without user code, with the routes of the request's function version."""
    qualifier = request.address.rpartition(":")[2]
    if not qualifier.isdecimal():
        raise NotOurEvent(f"take_over.address: expected a version, got {request.address!r}")
    address, table = configured(request.address)
    if request.workflow not in table:
        raise NotOurEvent(f"{address}: expected that it serves workflow {request.workflow!r}, but only {sorted(table)}")
    rt = runtime_of(request.workflow, table[request.workflow], address, context, digest)
    return replace(rt, hosts=frozenset())


UNKNOWN = "Lambda.Unknown"
"""Source: AWS Step Functions Developer Guide, "Handle Lambda service exceptions"."""

TRANSIENT = frozenset({"StoreError", "StoreDenied", "InvokeError", "RouteGone", "LeaseHeldError", "LeaseStolenError"})
"""Errors of the runtime that do not concern user code: the event may be delivered again."""

CONTRADICTIONS = frozenset({"NotOurEvent", "InconsistentHistory"})
"""Errors of the runtime after which no result may be built on the event."""

MAX_REDELIVERIES = 5
"""Most redeliveries of an event; with Lambda's retries after each, they outlast disturbances of 15 minutes."""

REDELIVERY_DELAY_MS = 30_000
"""Delay before the first redelivery, doubled before each further one. Workflows without a timer have no delay."""


@dataclass(frozen=True, kw_only=True)
class GivenUp:
    """Event after Lambda's last attempt to deliver it.

    Attributes:
        function: ARN of its function, without a qualifier.
        qualifier: its version or alias.
        request_id: Lambda's request id.
        event: the event.
        failure: failure of the last attempt, with Step Functions' names for Lambda functions.
        reason: Lambda's condition and number of deliveries, as in ``RetriesExhausted 3``.
        is_throttled: True if Lambda gave it up for lack of concurrency, so its function has not failed.
    """

    function: str
    qualifier: str
    request_id: str
    event: Json
    failure: Failure
    reason: str = ""
    is_throttled: bool = False

    @property
    def address(self) -> str:
        """Qualified ARN."""
        return f"{self.function}:{self.qualifier}"

    @property
    def is_start(self) -> bool:
        """True if it went through a start alias; functions of the workflow invoke versions."""
        return not self.qualifier.isdecimal()

    def arrival(self, now_ms: int) -> Arrival:
        """Return what a commit in place of the function at `now_ms` says; Lambda names no log stream."""
        return Arrival(now_ms, request_id=self.request_id, given_up=self.reason)

    @classmethod
    def from_record(cls, record: Json) -> "GivenUp":
        """Parse Lambda's invocation record.

        Raises:
            NotOurEvent: `record` is no such record.
        """
        try:
            context = record["requestContext"]
            function, _, qualifier = context["functionArn"].rpartition(":")
            return cls(
                function=function,
                qualifier=qualifier,
                request_id=context["requestId"],
                event=record["requestPayload"],
                failure=_failure(record),
                is_throttled=is_throttled(record, THROTTLED),
                reason=f"{context.get('condition', '')} {context.get('approximateInvokeCount', '')}".strip(),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise NotOurEvent(f"expected a record of a failed event: {error!r}") from error


def handle(event: Json, context: Any) -> None:
    """Recover from a failed event, or take an invocation over.

    Args:
        event: a record of Lambda, or a request to take an invocation over.
        context: Lambda's context object.

    Raises:
        NotOurEvent: this workflow cannot continue from the event.
        InconsistentHistory: stored items contradict the event.
        UnumError: a service did not answer; Lambda calls again.
    """
    *_, alias = context.invoked_function_arn.split(":")
    try:
        if _is_start_here(event, alias, context):
            _start_again(event, context)
        elif is_take_over(event):
            _take_over(event, context)
        else:
            _recover(event, context)
    except RefusedDelivery as refused:
        # Return instead of raise, as every function does: nothing depends on the event, so a repeated delivery would
        # be refused again. `refuse_late` has counted an event after the last moment of its execution.
        print(to_ascii({"source": "unum", "message": "refused", "reason": str(refused)}))  # noqa: T201 - the log


def _is_start_here(event: Json, alias: str, context: Any) -> bool:
    """Return True if `event` can only be a failed start at `alias`, a version or an alias.

    Raises:
        NotOurEvent: the alias takes no failed events.
    """
    workflow = workflow_of(context)
    if alias.isdecimal():
        return False
    if alias != intake_alias(workflow):
        if alias != start_intake_alias(workflow):
            raise NotOurEvent(f"{alias}: expected a record of a failed start at {start_intake_alias(workflow)!r}")
        return True
    # One alias takes both if all functions have one role, so none could be denied the other.
    return services()[workflow].takes_starts and not is_take_over(event) and GivenUp.from_record(event).is_start


def _start_again(record: Json, context: Any) -> None:
    """Start what a failed event should have started.

    Raises:
        NotOurEvent: `record` is of another event.
    """
    workflow = workflow_of(context)
    given_up = GivenUp.from_record(record)
    own = os.environ.get(CONTROL) or function_versions.function_of(context.invoked_function_arn)
    if given_up.function == own:  # its permanent address, which sends starts on
        found = function_versions.start_alias(function_versions.directory_of(context.invoked_function_arn, workflow))
        given_up = replace(given_up, function=function_versions.function_of(found))
    if not given_up.is_start:
        raise NotOurEvent(
            f"{given_up.address}: expected a record of a failed start at {start_intake_alias(workflow)!r}"
        )
    rt = _runtime_in_place(workflow, given_up, context)
    if not is_answered(given_up.event):
        keep_definition(rt)
    recover(rt, given_up)


def _take_over(event: Mapping[str, Json], context: Any) -> None:
    request = TakeOver.from_json(event)
    if request.workflow == workflow_of(context):
        answer(request, context)
    else:
        _forward(request.workflow, event, context)


def _recover(record: Json, context: Any) -> None:
    workflow = workflow_of(context)
    given_up = GivenUp.from_record(record)
    if given_up.is_start:
        raise NotOurEvent(
            f"{given_up.address}: expected a failed event of a version; failed starts arrive at "
            f"{start_intake_alias(workflow)!r}"
        )
    if not is_envelope(given_up.event):
        raise NotOurEvent(f"{given_up.address}: expected an event of a workflow, got another; check its callers")
    if given_up.event["workflow"] != workflow:
        _forward(given_up.event["workflow"], record, context)
        return
    rt = _runtime_in_place(workflow, given_up, context)
    _check_host(rt, given_up)
    recover(rt, given_up)


def recover(rt: Runtime, given_up: GivenUp) -> None:
    """Recover from `given_up` in place of its function.

    Args:
        rt: the runtime of that function, without its user code.
        given_up: the event and its failure.

    Raises:
        RefusedDelivery: the event can have no effect any more.
        NotOurEvent: no invocation of the execution has this event.
        InconsistentHistory: stored items contradict the event.
        UnumError: a service did not answer; Lambda calls again.
    """
    if given_up.is_start:
        _start(rt, given_up)
        return
    try:
        _fail(rt, given_up)
    except (ExecutionDoesNotExist, InconsistentHistory, NotOurEvent, StoreError) as error:
        from unum_runtime.protocol.delivery.deletion import refuse_if_deleted  # noqa: PLC0415 - few records fail

        # A dead letter would keep the input of an execution that was deleted. What is no envelope has no execution.
        refuse_if_deleted(rt, str(given_up.event["execution"][0]), error)
        raise


def _start(rt: Runtime, given_up: GivenUp) -> None:
    """Start the execution that `given_up` should have started."""
    if given_up.qualifier == run_alias(rt.workflow.name):
        # Without a lease: the start request of its holder has failed, or the start is recorded.
        is_leased = isinstance(given_up.event, dict) and "writer" in given_up.event
        event = {**given_up.event, "writer": None} if is_leased else given_up.event
        entry_aliases.run(rt, event, given_up.request_id)
    else:
        entry_aliases.start_by_event(rt, given_up.event, given_up.request_id)


def _fail(rt: Runtime, given_up: GivenUp) -> None:
    error, cause = given_up.failure.error, given_up.failure.cause
    rt.log("given up", address=given_up.address, event=given_up.request_id, error=error, cause=cause)
    envelope = Envelope.from_json(given_up.event)
    if envelope.digest != rt.workflow.digest:
        nudge_instead(rt, envelope)
        return
    if error in CONTRADICTIONS:
        raise InconsistentHistory(f"{given_up.address}: {error}: {cause}")
    planned = planned_event(rt, envelope, execution_routes(rt, envelope.name))
    if given_up.is_throttled:
        again = partial(send_again, rt, planned, given_up.event, _dead_since(given_up.event))
        fail_invocation(rt, planned, given_up.failure, again)
    elif error in TRANSIENT:
        _redeliver(rt, given_up, planned)
    else:
        fail_invocation(rt, planned, given_up.failure)


def _check_host(rt: Runtime, given_up: GivenUp) -> None:
    """Raise NotOurEvent unless the function of the record runs the state of its event."""
    event = given_up.event
    if event["ir"] != rt.workflow.digest:  # a foreign event; nothing of it is used except the execution's name
        return
    state = rt.workflow.states.get(event["state"])
    hosts = function_versions.configured(given_up.address)[1][rt.workflow.name].hosts
    if state is None or (isinstance(state, Task) and state.function not in hosts):
        raise NotOurEvent(f"{given_up.address}: expected a state of {[*hosts]}, got {event['state']!r}")


def _redeliver(rt: Runtime, given_up: GivenUp, planned: Envelope) -> None:
    """Resend the event, delayed if the workflow has a timer: user code did not fail.

    Raises:
        InvokeError: the event was sent again `MAX_REDELIVERIES` times.
    """
    before = int(given_up.event.get(REDELIVERED, 0))
    if before >= MAX_REDELIVERIES:
        failure = f"{given_up.failure.error}: {given_up.failure.cause}"
        raise InvokeError(f"{given_up.address}: gave up after {before} redeliveries; {failure}")
    dead = _dead_since(given_up.event)
    payload = to_text({**parse_json(payload_of(rt, planned)), **dead, REDELIVERED: before + 1}).encode()
    if isinstance(rt.timer, NoTimer):
        rt.invoker.invoke([(rt.own_address, payload)])
    else:
        rt.timer.schedule([(rt.own_address, payload, rt.clock.now_ms() + (REDELIVERY_DELAY_MS << max(0, before)))])


def _dead_since(event: Json) -> dict[str, int]:
    """Return the field with the time of the event's first dead letter; empty without one."""
    return {DEAD_SINCE: int(event[DEAD_SINCE])} if DEAD_SINCE in event else {}


def _forward(workflow: str, record: Json, context: Any) -> None:
    """Forward `record`, or a request to the intake, to the failure handler of `workflow`."""
    own = workflow_of(context)
    others = parse_json(os.environ.get("UNUM_OTHERS", "{}")).get(own, {})
    if workflow not in others:
        raise NotOurEvent(f"event.workflow: expected one of {sorted({own, *others})}, got {workflow!r}")
    here = f"{function_versions.function_of(context.invoked_function_arn)}:{intake_alias(workflow)}"
    LambdaInvoker(function_versions.lambda_client()).invoke([(others[workflow] or here, to_text(record).encode())])


def _runtime_in_place(workflow: str, given_up: GivenUp, context: Any) -> Runtime:
    """Return the runtime of the event's function, without its user code."""
    # Versions never change, so their configuration is cached; aliases move with each deployment.
    find = function_versions.configured if given_up.qualifier.isdecimal() else function_versions.look_up
    address, table = find(given_up.address)
    if workflow not in table:
        raise NotOurEvent(f"{address}: expected that it serves workflow {workflow!r}, but only {sorted(table)}")
    if given_up.qualifier not in (address.rpartition(":")[2], table[workflow].start_alias, run_alias(workflow)):
        raise NotOurEvent(f"{given_up.address}: expected a version, or an alias of workflow {workflow!r} for starts")
    rt = _on_definition_of(given_up, partial(runtime_of, workflow, table[workflow], address, context))
    return replace(rt, hosts=frozenset(), call=no_code, fuses=None, arrival=given_up.arrival(rt.clock.now_ms()))


def _on_definition_of(given_up: GivenUp, runtime: Callable[[str | None], Runtime]) -> Runtime:
    """Return the runtime of the event's definition; of the function's own for starts; of none, if none is stored."""
    if given_up.is_start:
        return runtime(None)
    try:
        return runtime(given_up.event["ir"])
    except DefinitionNotStored:  # a foreign event
        return runtime(NO_DEFINITION)


def no_code(call: Call, _value: Json) -> NoReturn:
    """Refuse to run user code."""
    raise AssertionError(f"{call.invocation}: the handler of failures runs no user code")


def _failure(record: Mapping[str, Json]) -> Failure:
    """Return the failure in a record, with Step Functions' error names."""
    answer = record.get("responsePayload")
    if isinstance(answer, dict):
        return Failure(answer.get("errorType") or UNKNOWN, to_text(answer))
    condition, tries = (record["requestContext"].get(each) for each in ("condition", "approximateInvokeCount"))
    cause = {
        "errorMessage": f"Lambda has given up the event: {condition}; times that the function was invoked: {tries}"
    }
    # Lambda leaves a response out of the record if both do not fit into its size limit.
    if not is_throttled(record, THROTTLED):
        return Failure(UNKNOWN, to_text(cause))
    return Failure(THROTTLED, to_text({**cause, "errorType": THROTTLED.partition(".")[2]}))
