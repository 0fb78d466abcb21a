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
from typing import Any, TypeAlias

from google.auth.exceptions import GoogleAuthError, TransportError
from google.auth.transport.requests import Request
from google.oauth2 import id_token

from unum_google.adapters import Service, events, runtime_for, runtime_on, service, start_runtime, store
from unum_google.dropped_events import Search, fail_dying, search
from unum_google.tasks import EVENTS
from unum_runtime.errors import (
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
from unum_runtime.model.envelope import Envelope, is_envelope
from unum_runtime.model.naming import NAME_RULE, is_name
from unum_runtime.model.states import Json
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.delivery.start import start

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
