"""Requests at the run alias that are answered: start an execution by name, or upload its large input first.

The workflow's own function writes the start record: the caller chooses name and input alone. The first step does not
run while the caller waits: the function sends itself a start request. An event without ``answer`` needs no request of
its own; see `unum_runtime.model.envelope.start_event`.
"""

import os
from collections.abc import Mapping
from functools import partial

from unum_runtime.errors import ClientError, InvalidExecutionInput, StoreError, ValidationException
from unum_runtime.json_text import parse_foreign, to_text
from unum_runtime.model.checkpoint import Checkpoint, Status
from unum_runtime.model.envelope import ATTRIBUTES, MARK, Writer, start_event, start_request, with_alias
from unum_runtime.model.naming import escape, lease_key, run_alias, start_key
from unum_runtime.model.requests import INPUT, UPLOADED
from unum_runtime.model.states import Json
from unum_runtime.protocol.delivery.lease import Lease
from unum_runtime.protocol.delivery.start import check_pause, new_record
from unum_runtime.protocol.history import start_records
from unum_runtime.protocol.requests.answers import INVALID_REQUEST, Links, answered, refusal
from unum_runtime.protocol.requests.begin import begin
from unum_runtime.protocol.runtime import Runtime

LEASE_MS = 60_000
"""Lease of a start: longer than Lambda needs to begin the execution."""

_FORMS = (
    f'"start" and one of "{INPUT}" and "{UPLOADED}", with or without "answer": true, "lease": true, '
    f'"force": true and "{ATTRIBUTES}"; or "upload" and "bytes"'
)


def answer(rt: Runtime, event: Mapping[str, Json], links: Links | None = None) -> Json:
    """Execute the request in `event`.

    Args:
        rt: the runtime.
        event: the request.
        links: maker of links to objects; None without a payload bucket.

    Returns:
        For a start ``ExecutionArn``, ``StartDate`` (milliseconds since 1970), ``Status``, ``IsNew``, and ``Waits`` if
        another caller's lease keeps this one from starting it; for an upload the link and the reference; or an object
        with ``error`` and ``message``.

    Raises:
        UnumError: the request may be executed or not; repeat it.
    """
    return answered(event, partial(_execute, rt, event, links))


def begin_uploaded(rt: Runtime, event: Json, request_id: str) -> Json:
    """Begin the execution of an `uploaded_event`.

    Raises:
        ValidationException: another event.
        InvalidExecutionInput: the input was not uploaded as announced.
    """
    if not isinstance(event, dict) or event.keys() - {ATTRIBUTES} != {MARK, "start", UPLOADED}:
        found = sorted(event) if isinstance(event, dict) else type(event).__name__
        raise ValidationException(f"expected {_FORMS}; got {found}; nothing was started")
    value = _uploaded_input(rt, event[UPLOADED])
    return begin(rt, start_event(event["start"], value, event.get(ATTRIBUTES)), request_id)


def _uploaded_input(rt: Runtime, reference: Json) -> Json:
    """Return the uploaded input at `reference`, verified.

    Raises:
        InvalidExecutionInput: it is not an upload of this workflow, is absent, or is not what was announced.
    """
    large, own = rt.large, _uploads(rt)
    if large is None or not isinstance(reference, str) or reference.rpartition("/")[0] != own:
        raise InvalidExecutionInput(f"{UPLOADED}: expected an upload of this workflow, {own}/DIGEST, got {reference!r}")
    try:
        text = large.read_texts([reference])[reference]
    except StoreError as error:
        raise InvalidExecutionInput(f"{UPLOADED}: {error}; upload the input again") from error
    return _parsed(text)


def _execute(rt: Runtime, event: Mapping[str, Json], links: Links | None) -> Json:
    # Every field is checked: the sender may be any principal that may invoke the alias.
    known = {MARK, "start", "answer", "lease", "force", INPUT, UPLOADED, ATTRIBUTES}
    match event:
        case {"upload": str(digest), "bytes": int(size)} if event.keys() == {MARK, "upload", "bytes"}:
            return _link(rt, digest, size, links)
        case {"start": name, "answer": True} if event.keys() <= known and (INPUT in event) != (UPLOADED in event):
            value = event[INPUT] if INPUT in event else _uploaded_input(rt, event[UPLOADED])
            return _start(rt, name, value, event, lease=event.get("lease") is True)
    return refusal(INVALID_REQUEST, f"expected {_FORMS}; got {sorted(event)}")


def _start(rt: Runtime, name: Json, value: Json, event: Mapping[str, Json], *, lease: bool) -> Json:
    checked = start_records.checked_name(name)
    check_pause(rt, checked)
    content = start_records.checked_input(value, rt.store)
    attributes = start_records.as_attributes(event.get(ATTRIBUTES))
    draft = new_record(rt, checked, content, attributes)
    if rt.workflow.variant is not None:
        if not any(task.memoize for task in rt.workflow.tasks):
            raise ClientError(f"force: expected a Task with memoize in workflow {rt.workflow.name!r}, found none")
        draft = draft.saying(digest=rt.workflow.digest)
    # A repeated request with the same name and input finds the record: a start is idempotent in that way.
    record = start_records.record_start(rt.store, rt.workflow.name, draft, expires_at_s=rt.result_expires_at_s())
    last = None if record is draft else start_records.last_step(rt.store, rt.workflow.name, record.name.execution)
    status = last.ending.status if last is not None and last.ending is not None else Status.RUNNING
    answer = {
        "ExecutionArn": rt.workflow.home.arn(f"execution:{rt.workflow.name}:{checked}"),
        "StartDate": record.committed_ms,
        "Status": status,
        "IsNew": record is draft,
    }
    if lease:
        # From its first commit on, Lambda redelivers lost work of an execution.
        return answer if last is not None or _send_with_lease(rt, record) else answer | {"Waits": True}
    # Also for an existing execution: its first start request may have been lost.
    if status is Status.RUNNING:
        _send(rt, record)
    return answer


def _send(rt: Runtime, record: Checkpoint, writer: Writer | None = None) -> None:
    """Send this function the start request of `record`: its first step takes longer than a caller should wait."""
    address = with_alias(rt.own_address, run_alias(rt.workflow.name))
    rt.invoker.invoke([(address, to_text(start_request(record.name.execution.name, writer)).encode())])


def _send_with_lease(rt: Runtime, record: Checkpoint) -> bool:
    """Send the start request unless another caller's lease is in use; return True if it was sent."""
    lease = Lease(
        store=rt.store,
        clock=rt.clock,
        key=lease_key(start_key(rt.workflow.name, record.name.execution.name)),
        owner=os.urandom(16).hex(),
        duration_ms=LEASE_MS,
        log=rt.log,
    )
    if not lease.acquire():
        return False
    try:
        # The lease stays: the start request has the same claim, and its delivery releases it.
        _send(rt, record, Writer(lease.owner, rt.clock.now_ms()))
    except BaseException:  # also of a sandbox that is interrupted: nothing was sent, so nobody else needs to wait
        lease.release()
        raise
    return True


def _link(rt: Runtime, digest: str, size: int, links: Links | None) -> Json:
    """Return the link with which the caller may store one object for a short time."""
    if links is None or rt.large is None:
        raise InvalidExecutionInput(
            f"input: {size} bytes of JSON, but only a workflow with a bucket for large values takes so many; give it "
            'one, payload="s3"'
        )
    if len(digest) != _DIGEST or not all(each in "0123456789abcdef" for each in digest) or size < 1:
        raise InvalidExecutionInput(f"upload: expected a SHA-256 in hexadecimal and a size, got {digest!r}, {size!r}")
    name = f"{_uploads(rt)}/{digest}"
    return {**links.upload(name, size=size, sha256=digest), UPLOADED: name}


_DIGEST = 64
"""Hexadecimal digits of a SHA-256."""


def _uploads(rt: Runtime) -> str:
    """Return the folder of uploads: no execution has it, because names of executions have no ``~``."""
    return f"{escape(rt.workflow.name)}/~uploads"


def _parsed(text: str) -> Json:
    try:
        return parse_foreign(text)
    except ValueError as error:
        raise InvalidExecutionInput(f"input: expected JSON text: {error}") from error
