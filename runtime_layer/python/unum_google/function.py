"""HTTP function in place of the user's function on Google Cloud.

Three paths take requests, each with an ID token:

* `EVENTS`: events of the workflow, from its own service account alone;
* `SWEEP`: ``{"silent_s", "give_up_s"}``, from the same account;
* `START`: ``{"name", "input"}``, from accounts that may start executions.

Answers other than 2xx make Cloud Tasks deliver an event again. Those with 5xx, or none at all, are deaths of the
function: this module never answers with 5xx. Sources: Cloud Tasks documentation, "Create HTTP target tasks"; Functions
Framework, "Configure the functions framework".

Cloud Run checks that a caller may invoke a function, and lets it send any path and body. Checks of ID tokens say what a
caller may do: events are internal state of executions, so only the workflow's own account sends them.
"""

import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NoReturn, TypeAlias

from google.auth.exceptions import GoogleAuthError, TransportError
from google.auth.transport.requests import Request
from google.oauth2 import id_token

from unum_google.adapters import Service, events, runtime_for, runtime_on, service, start_runtime, store
from unum_google.tasks import EVENTS
from unum_runtime.cold_start.records import NamedTuple, replace
from unum_runtime.errors import (
    ClientError,
    ExecutionAlreadyExists,
    ExecutionDeleted,
    InvokeError,
    LeaseHeldError,
    NotOurEvent,
    RefusedDelivery,
    StartsPaused,
    StoreError,
    UnumError,
)
from unum_runtime.json_text import parse_json, to_ascii
from unum_runtime.model.checkpoint import Failure
from unum_runtime.model.envelope import Envelope, is_envelope
from unum_runtime.model.list_index import FIRST
from unum_runtime.model.naming import NAME_RULE, is_name
from unum_runtime.model.states import Json, Task
from unum_runtime.protocol.control import operator_requests
from unum_runtime.protocol.control.nudge import effects_of, missing
from unum_runtime.protocol.control.platform_failure import fail_invocation
from unum_runtime.protocol.control.sweep import Sweep, Swept, sweep
from unum_runtime.protocol.control.versions import runs_on
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.delivery.perform import envelope
from unum_runtime.protocol.delivery.start import start
from unum_runtime.protocol.history.pending import Missing
from unum_runtime.protocol.planning.plan import Invoke, JoinNeighbour
from unum_runtime.protocol.requests.answers import refusal
from unum_runtime.protocol.runtime import Call, Runtime
from unum_runtime.store.base import Index

# Recovery of executions whose functions die, or whose events Cloud Tasks has dropped.
#
# Cloud Tasks deletes an event after its last attempt, and tells nobody. So a function fails a Task whose deliveries end
# without an answer, and a sweep, on a function without user code, finds executions whose events are gone.
#
# Both repeat what a delivery does, without user code. They may come twice, die anywhere, and race with a late success:
# the first commit counts.

GIVEN_UP = "Lambda.Unknown"
"""Error of a Task whose function dies: the name that AWS uses, so that a Catch or Retry holds on both platforms."""

OnDefinition: TypeAlias = Callable[[str | None], Runtime]
"""A function that returns the runtime on the stored definition with a digest; on this function's own for None."""


class Search(NamedTuple):
    """A request for a sweep.

    Attributes:
        silent_s: time after which a pending event counts as lost, and is sent again, in seconds.
        give_up_s: time after which the Task of a pending event is failed, in seconds; at least `silent_s`.
        after: place after which the search begins; see `Sweep.after`.
    """

    silent_s: int
    give_up_s: int
    after: str = FIRST

    @classmethod
    def from_json(cls, event: Json) -> "Search":
        """Return the request in `event`.

        Raises:
            ValueError: malformed; the text says what was expected.
        """
        match event:
            case {"silent_s": int(silent_s), "give_up_s": int(give_up_s), **more} if 0 < silent_s <= give_up_s:
                if isinstance(after := more.pop("after", FIRST), str) and not more:
                    return cls(silent_s, give_up_s, after)
        raise ValueError(f"expected `silent_s` and `give_up_s`, seconds, 0 < silent_s <= give_up_s, got {event!r:.200}")


def fail_dying(rt: Runtime, event: Envelope, deaths: int) -> None:
    """Fail the Task of `event` unless it has an outcome, after `deaths` deliveries that ended without an answer.

    Raises:
        RefusedDelivery: the event can have no effect any more.
        UnumError: a service did not answer; the event comes again.
    """
    cause = f"{deaths} deliveries ended without an answer: the function died, or used up its time or memory"
    rt.log("given up", invocation=str(event.name), state=event.state, deaths=deaths)
    fail_invocation(_without_code(rt), event, Failure(GIVEN_UP, cause))


def search(on: OnDefinition, index: Index, asked: Search) -> Swept:
    """Send lost events of running executions again, fail Tasks whose events were given up, end what is over.

    Raises:
        StoreError: the index could not be read; the next sweep tries again.
    """
    rt = _without_code(on(None))
    request = Sweep(silent_ms=asked.silent_s * 1000, nudges=True, after=asked.after)
    return sweep(rt, index, request, partial(_ask, rt, on, asked.give_up_s * 1000), lambda _: rt.retention_s)


def _ask(here: Runtime, on: OnDefinition, give_up_ms: int, event: Mapping[str, Json]) -> Json:
    """Fail what one execution waits for in vain; answer the control request `event` about the rest."""
    try:
        asked = operator_requests.parse(event)
        found = runs_on(here.store, here.workflow.name, asked.execution)
        rt = replace(_without_code(on(found.digest)), remaining_ms=here.remaining_ms)
        for each in missing(rt, asked.execution, silent_ms=give_up_ms):
            _fail_lost(rt, each, give_up_ms)
        return operator_requests.answer(rt, asked, found.began)
    except ClientError as error:
        return refusal(type(error).__name__, str(error))


def _fail_lost(rt: Runtime, gap: Missing, give_up_ms: int) -> None:
    """Fail the Task that `gap` waits for; what needs no user code is left to the nudge."""
    if isinstance(gap.effect, JoinNeighbour):  # it may wait for a branch that still runs
        return
    for effect in effects_of(rt, gap, {gap.name}):
        task = rt.workflow.states.get(effect.state) if isinstance(effect, Invoke) else None
        if isinstance(effect, Invoke) and isinstance(task, Task):
            rt.log("given up", invocation=str(effect.name), state=effect.state, since_ms=gap.since_ms)
            # No attempt is stored. Overdue means that all retries had their time, so they count as used up.
            used_up = replace(effect, retries=tuple(each.max_attempts for each in task.retry))
            cause = f"no delivery of its event had an outcome for {give_up_ms // 1000} s"
            fail_invocation(rt, envelope(rt, used_up, {}), Failure(GIVEN_UP, cause))


def _without_code(rt: Runtime) -> Runtime:
    return replace(rt, hosts=frozenset(), call=_no_code)


def _no_code(call: Call, _value: Json) -> NoReturn:
    raise AssertionError(f"{call.invocation}: recovery runs no user code")


START, SWEEP = "/start", "/sweep"

TRIES, ANSWERED = "X-CloudTasks-TaskRetryCount", "X-CloudTasks-TaskExecutionCount"
"""Headers with the number of earlier deliveries of an event, and of those that were answered other than with 5xx.
Source: Cloud Tasks documentation, "Create HTTP target tasks", "Handler request headers"."""

Answer: TypeAlias = tuple[Mapping[str, Json], int]


def handle(request: Any) -> Answer:
    """Answer a request of the Functions Framework.

    Returns:
        A JSON object and the status of the answer.
    """
    try:
        return _answer(request, service())
    except Unauthorized as error:
        return {"error": str(error)}, 401
    except RefusedDelivery as refused:
        # Acknowledged: Cloud Tasks would deliver the event again, to be refused again.
        log("refused", reason=str(refused))
        return {"refused": str(refused)}, 200
    except NotOurEvent as error:
        # Not acknowledged: it may belong to an execution whose definition comes back with the next deployment.
        log("not ours", reason=str(error))
        return {"error": str(error)}, 400
    except (StoreError, InvokeError, LeaseHeldError, StartsPaused, GoogleAuthError) as error:
        log("put off", error=type(error).__name__, reason=str(error))
        return {"error": str(error)}, 429


def log(message: str, /, **fields: Json) -> None:
    """Write a line as Cloud Logging reads it."""
    sys.stdout.write(to_ascii({"source": "unum", "message": message, **fields}) + "\n")
    sys.stdout.flush()


def _answer(request: Any, own: Service) -> Answer:
    paths: Mapping[str, tuple[tuple[str, ...], Callable[[Json], Answer]]] = {
        EVENTS: ((own.account,), partial(_deliver, headers=request.headers)),
        SWEEP: ((own.account,), _sweep),
        START: (own.starters, _start),
    }
    if request.path not in paths or request.method != "POST":
        return {"error": f"expected POST to one of {[*paths]}"}, 404
    permitted, enter = paths[request.path]
    caller = caller_of(request.headers.get("Authorization"), own.address, own.certs_url)
    if caller not in permitted:
        log("forbidden", path=request.path, caller=caller)
        return {"error": f"{caller} may not use {request.path}"}, 403
    return enter(_body(request))


def _body(request: Any) -> Json:
    """Return the JSON value in the body; None, which no path accepts, for another content."""
    try:
        return parse_json(request.get_data()) if request.is_json else None
    except ValueError:
        return None


def _deaths(headers: Mapping[str, str]) -> int:
    """Return the number of earlier deliveries of the event that ended without an answer of this module."""
    return int(headers.get(TRIES, "0")) - int(headers.get(ANSWERED, "0"))


def _deliver(event: Json, headers: Mapping[str, str]) -> Answer:
    """Run one protocol step for an envelope; without user code if that has died too often."""
    if not is_envelope(event):
        raise NotOurEvent("event: expected an envelope of a workflow, got another value")
    envelope = Envelope.from_json(event)
    rt, deaths = runtime_for(envelope, log), _deaths(headers)
    if deaths < service().attempts:
        step(rt, envelope)
    else:
        fail_dying(rt, envelope, deaths)
    return {}, 200


def _sweep(event: Json) -> Answer:
    """Sweep the executions of the workflow, and send the rest of the sweep to this function when time runs out."""
    try:
        asked = Search.from_json(event)
    except ValueError as error:
        return {"error": str(error)}, 400
    found = search(partial(runtime_on, log=log), store(), asked)
    log("swept", looked_at=found.looked_at, silent=found.silent, is_done=found.rest is None)
    if found.rest is not None:
        rest = to_ascii({**asked._asdict(), "after": found.rest.after})
        events().post(service().address, SWEEP, rest.encode())
    return {"looked_at": found.looked_at, "silent": found.silent, "is_done": found.rest is None}, 200


def _start(event: Json) -> Answer:
    """Start an execution by name, or continue the one that has the name."""
    if not isinstance(event, dict) or event.keys() != {"name", "input"} or not is_name(event["name"]):
        return {"error": f"expected an object with `name`, {NAME_RULE}, and `input`"}, 400
    try:
        start(start_runtime(log), str(event["name"]), event["input"])
    except (ExecutionAlreadyExists, ExecutionDeleted) as error:
        log("refused", reason=str(error))
        return {"error": str(error)}, 409
    except RefusedDelivery as refused:  # the execution exists with this input, and needs nothing any more
        log("refused", reason=str(refused))
    return {"execution": event["name"]}, 200


_ISSUERS = ("accounts.google.com", "https://accounts.google.com")


class Unauthorized(UnumError):
    """A request without a valid token."""


def caller_of(authorization: str | None, audience: str, certs_url: str) -> str:
    """Return the verified email of the account that sent a request.

    Args:
        authorization: the header of this name; None without one.
        audience: URL of this function, for which the token must be.
        certs_url: URL of the public keys.

    Raises:
        Unauthorized: no token, or one that is forged, expired, of another issuer, for another function, or without a
            verified email.
        StoreError: the public keys could not be read.
    """
    kind, _, token = (authorization or "").partition(" ")
    if kind.lower() != "bearer" or not token:
        raise Unauthorized("expected a bearer token, got none")
    try:
        claims: Any = id_token.verify_token(token, _transport(), audience=audience, certs_url=certs_url)
    except TransportError as error:
        raise StoreError(f"{certs_url}: {error}") from error
    except (GoogleAuthError, ValueError) as error:
        raise Unauthorized(f"token: {error}") from error
    if claims.get("iss") not in _ISSUERS or not _is_verified(claims):
        raise Unauthorized(f"token: expected a verified email of {_ISSUERS[1]}, got {claims.get('iss')!r}")
    return str(claims["email"])


def _is_verified(claims: Any) -> bool:
    return claims.get("email_verified") is True


@cache
def _transport() -> Request:
    return Request()
