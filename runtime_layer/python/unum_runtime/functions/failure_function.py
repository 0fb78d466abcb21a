"""What Lambda calls with the events that it has given up, of the functions of one workflow.

It is the on-failure destination of their versions and of the start alias, itself as a version, so that it has the same
definition as they. It takes the place of the function that the event was for, and plans with the addresses that this
has, which it looks up in its configuration. The environment is that of every function of the workflow
(`UNUM_WORKFLOWS`), and names the handlers of other workflows that share functions with this one (`UNUM_OTHERS`).

What it cannot do it raises: after some attempts Lambda hands the record to the queue of dead letters.
Through an alias of its own it is asked for more than that, see `unum_runtime.functions.control_requests`.
Source of the records: AWS Lambda Developer Guide, "Capturing records of Lambda asynchronous invocations".
"""

import json
import os
from collections.abc import Mapping
from typing import Any, NoReturn

from unum_runtime.aws.embedded_metrics import THROTTLED
from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.cold_start.records import dataclass, replace
from unum_runtime.errors import InconsistentHistory, InvokeError, NotOurEvent, RefusedDelivery
from unum_runtime.functions import control_requests, function_versions
from unum_runtime.functions.configuration import services
from unum_runtime.functions.runtimes import runtime_of
from unum_runtime.model.checkpoint import Failure, to_text
from unum_runtime.model.envelope import Envelope, is_envelope, named_start
from unum_runtime.model.identity import started_by
from unum_runtime.model.ir import Json
from unum_runtime.protocol.control import operator_requests
from unum_runtime.protocol.delivery.platform_failure import fail_invocation
from unum_runtime.protocol.delivery.start import resume, start
from unum_runtime.protocol.requests import start_alias
from unum_runtime.protocol.runtime import Call, NoTimer, Runtime

UNKNOWN = "Lambda.Unknown"
"""Source: AWS Step Functions Developer Guide, "Handle Lambda service exceptions"."""

TRANSIENT = frozenset({"StoreError", "InvokeError", "LeaseHeldError", "LeaseStolenError"})
"""Errors of the runtime that say nothing of user code: the event may be delivered again."""

CONTRADICTIONS = frozenset({"NotOurEvent", "InconsistentHistory"})
"""Errors of the runtime after which nothing can be built on the event."""

REDELIVERED = "redelivered"
"""Field of an envelope: how often it was delivered anew from here."""

MAX_REDELIVERIES = 5
"""Of one event; with Lambda's retries after each, they outlast disturbances of 15 minutes."""

REDELIVERY_DELAY_MS = 30_000
"""Before the first; twice as long before each that follows. It takes a timer, which not all workflows have."""


@dataclass(frozen=True, kw_only=True)
class GivenUp:
    """An event that Lambda has given up.

    Attributes:
        function: the function that it was for, without the qualifier.
        qualifier: the version or alias that it was for.
        request_id: of the event.
        event: the event.
        failure: what became of it at last, named and told as Step Functions does for Lambda functions.
    """

    function: str
    qualifier: str
    request_id: str
    event: Json
    failure: Failure

    @property
    def address(self) -> str:
        """Function and qualifier."""
        return f"{self.function}:{self.qualifier}"

    @classmethod
    def from_record(cls, record: Json) -> "GivenUp":
        """What Lambda's invocation record says.

        Raises:
            NotOurEvent: it is no such record.
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
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise NotOurEvent(f"expected a record of an event that Lambda has given up: {error!r}") from error


def handle(event: Json, context: Any) -> Json:
    """Make up for what a record tells; or do what somebody asks for, or what that led to.

    Args:
        event: a record; or a request; or an envelope that this function has sent to itself.
        context: Lambda's context object.

    Returns:
        The answer to a request.

    Raises:
        NotOurEvent: there is nothing in it that this workflow could go on from.
        InconsistentHistory: what is stored contradicts the event.
        UnumError: something did not answer; Lambda calls again.
    """
    *_, qualifier = context.invoked_function_arn.split(":")
    if (
        operator_requests.is_request(event) or not qualifier.isdecimal()
    ):  # through the alias nothing else is read as such
        return control_requests.answer(event, context)
    try:
        if is_envelope(event):
            control_requests.deliver(event, context)
        else:
            _make_up(event, context)
    except RefusedDelivery as refused:
        # Returned, not raised, as by every function: nothing could come of the event any more.
        print(json.dumps({"source": "unum", "message": "refused", "reason": str(refused)}))  # noqa: T201 - the log
    return None


def _make_up(record: Json, context: Any) -> None:
    (workflow,) = services()
    given_up = GivenUp.from_record(record)
    if not given_up.qualifier.isdecimal():
        _start(_stand_in(workflow, given_up, context), given_up)
    elif not is_envelope(given_up.event):
        raise NotOurEvent(f"{given_up.address}: expected an event of a workflow, got another; who invoked it?")
    elif given_up.event["workflow"] != workflow:
        _hand_on(given_up.event["workflow"], record)
    else:
        _fail(_stand_in(workflow, given_up, context), given_up)


def _start(rt: Runtime, given_up: GivenUp) -> None:
    """Begin the execution that `given_up` should have begun; its first Task, of which nobody knows, is tried anew.

    What was to be an answer for a Task that waits is handed in.
    """
    if start_alias.is_request(given_up.event):
        start_alias.answer(rt, given_up.event)
        return
    name = named_start(given_up.event)
    if name is None:
        given, value = started_by(given_up.event)
        start(rt, given or given_up.request_id, value)
    else:
        resume(rt, name)  # without a lease: whoever had one has given up, or has come as far as this


def _fail(rt: Runtime, given_up: GivenUp) -> None:
    error, cause = given_up.failure.error, given_up.failure.cause
    rt.log("given up", address=given_up.address, event=given_up.request_id, error=error, cause=cause)
    if error in CONTRADICTIONS:
        raise InconsistentHistory(f"{given_up.address}: {error}: {cause}")
    if error in TRANSIENT:
        _redeliver(rt, given_up)
    else:
        fail_invocation(rt, Envelope.from_json(given_up.event), given_up.failure)


def _redeliver(rt: Runtime, given_up: GivenUp) -> None:
    """Have the event delivered again, later if possible; the failure is not that of user code.

    Raises:
        InvokeError: that has been done so often that it does not help.
    """
    event, before = given_up.event, given_up.event.get(REDELIVERED, 0)
    if before == MAX_REDELIVERIES:
        failure = f"{given_up.failure.error}: {given_up.failure.cause}"
        raise InvokeError(f"{given_up.address}: gave up after it was delivered anew {before} times; {failure}")
    payload = to_text({**event, REDELIVERED: before + 1}).encode()
    if isinstance(rt.timer, NoTimer):
        rt.invoker.invoke([(rt.own_address, payload)])
    else:
        rt.timer.schedule([(rt.own_address, payload, rt.clock.now_ms() + (REDELIVERY_DELAY_MS << before))])


def _hand_on(workflow: str, record: Json) -> None:
    """Let the handler of `workflow`, which shares the function with this one, do it."""
    others = json.loads(os.environ.get("UNUM_OTHERS", "{}"))
    if workflow not in others:
        raise NotOurEvent(f"event.workflow: expected one of {sorted({*services(), *others})}, got {workflow!r}")
    LambdaInvoker(function_versions.lambda_client()).invoke([(others[workflow], to_text(record).encode())])


def _stand_in(workflow: str, given_up: GivenUp, context: Any) -> Runtime:
    """The runtime of the function that the event was for, without its code."""
    find = function_versions.configured if given_up.qualifier.isdecimal() else function_versions.look_up
    address, table = find(given_up.address)
    if workflow not in table:
        raise NotOurEvent(f"{address}: expected that it serves workflow {workflow!r}, but only {sorted(table)}")
    if given_up.qualifier not in (address.rpartition(":")[2], table[workflow].start_alias):
        raise NotOurEvent(f"{given_up.address}: expected a version, or the start alias of workflow {workflow!r}")
    return replace(
        runtime_of(workflow, table[workflow], address, context), hosts=frozenset(), call=_no_code, fuses=None
    )


def _no_code(call: Call, _value: Json) -> NoReturn:
    raise AssertionError(f"{call.invocation}: the handler of failures runs no user code")


def _failure(record: Mapping[str, Json]) -> Failure:
    """What became of the event, in the words of Step Functions."""
    answer = record.get("responsePayload")
    if isinstance(answer, dict):
        return Failure(answer.get("errorType") or UNKNOWN, to_text(answer))
    condition, tries = (record["requestContext"].get(each) for each in ("condition", "approximateInvokeCount"))
    cause = {
        "errorMessage": f"Lambda has given up the event: {condition}; times that the function was invoked: {tries}"
    }
    if record.get("responseContext"):  # the function ran, but its answer did not fit into the record
        return Failure(UNKNOWN, to_text(cause))
    return Failure(THROTTLED, to_text({**cause, "errorType": THROTTLED.partition(".")[2]}))
