"""Assemble the protocol's `Runtime` from adapters for Google Cloud and the user's handlers.

The environment configures them:

* `UNUM_SERVICE`: JSON object with the fields of `Service`.
* ``FIRESTORE_EMULATOR_HOST`` and `TASKS_HOST`: servers on this machine in place of Google's, without TLS.
"""

import importlib
import os
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from google.cloud import firestore, tasks_v2
from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksGrpcTransport

from unum_google.firestore import FirestoreStore
from unum_google.tasks import CloudTasks
from unum_runtime.clock import SystemClock
from unum_runtime.cold_start.records import dataclass, field
from unum_runtime.coroutines import Interruption, finish
from unum_runtime.errors import DefinitionError, DefinitionNotStored, NotOurEvent, Problem, StatesError
from unum_runtime.features.document_stores.conditional import ConditionalStore
from unum_runtime.json_text import parse_json
from unum_runtime.model.delivery_record import Arrival
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json, Pattern
from unum_runtime.protocol.delivery.pause import PauseReader
from unum_runtime.protocol.requests.definition_records import read_definition, write_definition
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S, Call, Log, Runtime

_CLOCK = SystemClock()
_stored_until_ms: dict[str, int] = {}
"""Time until which this process need not store a definition again, by digest."""


@dataclass(frozen=True)
class Context:
    """Second argument of user code.

    Attributes:
        unum: the invocation.
        deadline_ms: end of the request, in milliseconds since 1970.
    """

    unum: Call
    deadline_ms: int

    def get_remaining_time_in_millis(self) -> int:
        """Return the remaining time of the request, in milliseconds."""
        return max(0, self.deadline_ms - _CLOCK.now_ms())


def runtime_for(envelope: Envelope, log: Log) -> Runtime:
    """Return the runtime for a delivery of `envelope`, on the definition that it names.

    Raises:
        NotOurEvent: the event belongs to another workflow, or to a definition that nobody has stored.
        StoreError: the store did not answer.
    """
    own = definition()
    if envelope.workflow != own.name:
        raise NotOurEvent(f"event.workflow: expected {own.name!r}, got {envelope.workflow!r}")
    try:
        return runtime_on(envelope.digest, log)
    except DefinitionNotStored as unknown:
        raise NotOurEvent(f"{envelope.name}: {unknown}") from unknown


def runtime_on(digest: str | None, log: Log) -> Runtime:
    """Return a runtime for the definition `digest`, or for this function's own definition if None.

    Raises:
        DefinitionNotStored: nobody has stored the definition.
        StoreError: the store did not answer.
    """
    own = definition()
    return _runtime(own if digest in (None, own.digest) else _stored(str(digest)), log)


def start_runtime(log: Log) -> Runtime:
    """Return the runtime for a start, after the definition is stored for deliveries to later versions.

    Raises:
        StoreError: the store did not answer.
    """
    runtime = _runtime(definition(), log)
    if _CLOCK.now_ms() >= _stored_until_ms.get(runtime.workflow.digest, 0):
        _stored_until_ms[runtime.workflow.digest] = write_definition(runtime)
    return runtime


@cache
def definition() -> Workflow:
    """Return this function's own definition.

    Raises:
        DefinitionError: it needs what this platform has not.
    """
    return checked(Workflow.from_json(Path(service().definition).read_text(encoding="utf-8")))


def checked(workflow: Workflow) -> Workflow:
    """Return `workflow`, if functions on Google Cloud can run all of its states.

    Raises:
        DefinitionError: a Task requests a service, or waits for a callback.
    """
    remedy = "on Google Cloud, Tasks are functions of the workflow that return their results; call services there"
    problems = tuple(
        Problem(f"States.{task.name}.Resource", f"expected a function, got {task.resource or task.pattern}; {remedy}")
        for task in workflow.tasks
        if task.resource is not None or task.pattern is not Pattern.RESPONSE
    )
    if problems:
        raise DefinitionError(problems)
    return workflow


@cache
def _stored(digest: str) -> Workflow:
    return checked(read_definition(store(), definition().name, digest))


@cache
def store() -> ConditionalStore:
    """Return the store of the workflow: Firestore's, unless the settings name another one."""
    own = service()
    if own.store:
        opened: ConditionalStore = _attribute(own.store)(_CLOCK)
        return opened
    return FirestoreStore(cache(lambda: firestore.Client(project=own.project, database=own.database)), _CLOCK)


@cache
def events() -> CloudTasks:
    """Return invoker and timer."""
    return CloudTasks(cache(_tasks_client), service().queues, service().account, _CLOCK)


def _tasks_client() -> Any:
    if TASKS_HOST not in os.environ:
        return tasks_v2.CloudTasksClient()
    import grpc  # noqa: PLC0415 - on one machine alone

    return tasks_v2.CloudTasksClient(
        transport=CloudTasksGrpcTransport(channel=grpc.insecure_channel(os.environ[TASKS_HOST]))
    )


def _runtime(workflow: Workflow, log: Log) -> Runtime:
    own = service()
    deadline_ms = _CLOCK.now_ms() + own.timeout_s * 1000
    return Runtime(
        workflow=workflow,
        store=store(),
        invoker=events(),
        timer=events(),
        clock=_CLOCK,
        call=lambda call, value: _call(call, value, deadline_ms),
        hosts=frozenset(own.hosts),
        routes=own.routes,
        retention_s=own.retention_s,
        collection=workflow.collection,
        log=log,
        remaining_ms=lambda: max(0, deadline_ms - _CLOCK.now_ms()),
        arrival=Arrival(_CLOCK.now_ms()),
        code=os.environ.get("K_REVISION", ""),
        own_address=own.address,
        read_pause=_pauses(workflow.name).read,
    )


@cache
def _pauses(workflow: str) -> PauseReader:
    return PauseReader(store(), workflow, _CLOCK)


def _call(call: Call, value: Json, deadline_ms: int) -> Any:
    """Run user code; cancel a coroutine, and refuse a result, that takes too long: nothing interrupts a thread."""
    started_s, is_late = time.monotonic(), False
    try:
        result = finish(_attribute(service().hosts[call.function])(value, Context(call, deadline_ms)), call.timeout_s)
    except Interruption:
        is_late = True
    if call.timeout_s is not None and (is_late or time.monotonic() - started_s > call.timeout_s):
        raise StatesError("States.Timeout", f"took longer than {call.timeout_s:g} s")
    return result


@cache
def _attribute(path: str) -> Any:
    module, _, attribute = path.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


SERVICE = "UNUM_SERVICE"
TASKS_HOST = "CLOUD_TASKS_EMULATOR_HOST"

GOOGLE_CERTS = "https://www.googleapis.com/oauth2/v1/certs"
"""Google's public keys for ID tokens. Source: Google Identity documentation, "Validate ID tokens"."""


@dataclass(frozen=True, kw_only=True)
class Service:
    """Settings of the workflow in one function.

    Attributes:
        definition: path of the compiled workflow, a JSON file beside the function's code.
        project: name of the project.
        database: name of the Firestore database, if the state is there.
        hosts: handlers of the workflow's functions that run here, as ``module.attribute`` by key.
        routes: URL of each function of the workflow, by key.
        address: URL of this function, the audience of tokens for it.
        queues: full name of the Cloud Tasks queue of each function, by its URL.
        account: email of the service account of all functions of the workflow. Its tokens alone carry events.
        starters: emails of the accounts that may start executions; functions may not, unless they are listed.
        retention_s: retention of items in seconds.
        timeout_s: time that Google Cloud gives a request to this function, in seconds; at most half an hour, because
            then Cloud Tasks delivers an event again.
        attempts: deliveries of an event that may end without an answer, before its Task fails.
        certs_url: URL of the public keys of tokens.
        store: ``module.attribute`` of a function that takes a `Clock` and returns the store of the workflow, a
            `ConditionalStore`; Firestore if empty.
    """

    definition: str
    project: str
    hosts: Mapping[str, str]
    routes: Mapping[str, str]
    address: str
    queues: Mapping[str, str]
    account: str
    database: str = "(default)"
    starters: tuple[str, ...] = ()
    retention_s: int = DEFAULT_RETENTION_S
    timeout_s: int = 540
    attempts: int = 3
    certs_url: str = field(default=GOOGLE_CERTS)
    store: str = ""


@cache
def service() -> Service:
    """Return the settings of this function.

    Raises:
        KeyError: the environment has none.
    """
    fields = parse_json(os.environ[SERVICE])
    return Service(**fields | {"starters": tuple(fields.get("starters", ()))})
