"""Calls of one Task: equal calls share one execution and its result, from whichever program they come.

A call runs on a variant of the definition, with its Task alone. Its runs are numbered by the name of the result: a run
that ended without a remembered result is followed by another, by create-if-absent, so that all callers find the same.
Nothing of the caller's becomes internal state but the arguments.

Names of runs are secret until they are told, but a name proves nothing: a start may choose any. An execution is a call
of a Task if the definition that its start record names is the variant for calls of that Task, which no start takes.
"""

import re
from collections.abc import Mapping

from unum_runtime.cold_start.digest import sha256, short_digest
from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import (
    ClientError,
    DefinitionNotStored,
    ExecutionDoesNotExist,
    InvalidExecutionInput,
    StatesError,
)
from unum_runtime.features.memo.memo import find_stored, result_key
from unum_runtime.model.checkpoint import Checkpoint, Failure, Status, Success, read_start_record, start_record
from unum_runtime.model.envelope import MARK, WIRE_VERSION
from unum_runtime.model.ir import Variant
from unum_runtime.model.naming import Execution, Key, execution_partition_prefix, lease_key, start_key
from unum_runtime.model.states import Json
from unum_runtime.model.variants import called
from unum_runtime.protocol.control.control_aliases import CALL
from unum_runtime.protocol.control.operator_requests import ValidationException, check_version
from unum_runtime.protocol.control.operator_requests import is_request as is_control_request
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.delivery.lease import Lease
from unum_runtime.protocol.delivery.pause import read_pause, refuse_start
from unum_runtime.protocol.delivery.perform import perform
from unum_runtime.protocol.history import start_records
from unum_runtime.protocol.planning.existing_start import DELETED, is_deleted
from unum_runtime.protocol.planning.plan import plan
from unum_runtime.protocol.requests.answers import MAX_BYTES
from unum_runtime.protocol.requests.definition_records import read_definition
from unum_runtime.protocol.runtime import Runtime

LEASE_MS = 60_000
"""Time in which one caller alone sends the event of a run."""


@dataclass(frozen=True, kw_only=True)
class CallRequest:
    """A request about a call.

    Attributes:
        state: name of the Task.
        arguments: event of user code.
        run: name of the run that the caller waits for; None for a new call.
    """

    state: str
    arguments: Json = None
    run: str | None = None


def request(state: str, arguments: Json) -> dict[str, Json]:
    """Return the event of a call of the Task `state`."""
    return {MARK: WIRE_VERSION, "control": CALL, "state": state, "input": arguments}


def question(state: str, run: str) -> dict[str, Json]:
    """Return the event that asks what became of a `run` of the Task `state`."""
    return {MARK: WIRE_VERSION, "control": CALL, "state": state, "run": run}


def is_request(event: Json) -> bool:
    """Return True if `event` is a call, or a question about one."""
    return is_control_request(event) and event["control"] == CALL


def parse(event: Mapping[str, Json]) -> CallRequest:
    """Return the request in `event`.

    Raises:
        ValidationException: malformed; the text names the field.
    """
    check_version(event)
    state, run = event.get("state"), event.get("run")
    if not isinstance(state, str) or event.keys() - {MARK, "control", "state"} not in ({"input"}, {"run"}):
        raise ValidationException(f'call: expected "state" and one of "input" and "run", got {sorted(event)}')
    if "run" in event and not (isinstance(run, str) and re.fullmatch(_run_prefix(state) + "[0-9a-f]{32}", run)):
        raise ValidationException(f"run: expected the run of a call of {state!r}, got {run!r}")
    return CallRequest(state=state, arguments=event.get("input"), run=run)


def call(rt: Runtime, asked: CallRequest) -> Json:
    """Return the remembered result, or share or begin the run that computes it.

    Args:
        rt: a runtime of the variant with the Task alone, with its address, and the code that names its results.
        asked: the call.

    Returns:
        ``Status``; ``Output`` as JSON text, or ``Error`` and ``Cause``, of what has ended; ``Run`` of what has not.

    Raises:
        ClientError: the call is impossible; the text says why.
        UnumError: unknown whether a run has begun; call again.
    """
    value = start_records.checked_input(asked.arguments, rt.store)
    try:
        key, _ = result_key(rt, rt.workflow.task(asked.state), value)
    except StatesError as error:
        raise InvalidExecutionInput(f"arguments: {error.cause}") from error
    number, run = _newest(rt, key.sort)
    if run is not None:
        answer = _status(rt, run, asked.state)
        # Another execution in the place of the run is no answer: the next run has a name that nobody knows yet.
        if answer is None or answer["Status"] == Status.RUNNING:
            return _begin(rt, run, value)
    # After the run was read: a run stores its result before it ends, so no result is missed and computed again.
    found = find_stored(rt, key, None)
    if found is not None:
        return {"Status": Status.SUCCEEDED, "Output": _limited(found.text)}
    new = f"{_run_prefix(asked.state)}{sha256(rt.new_secret().encode())[:32]}"
    pause = read_pause(rt.store, rt.workflow.name)
    if pause is not None:
        refuse_start(rt, new, pause)
    place = _place(rt, key.sort, number + 1)
    winner = rt.store.create(place, {"run": new}, expires_at_s=rt.result_expires_at_s())
    return _begin(rt, new if winner is None else str(winner["run"]), value)


def follow(rt: Runtime, asked: CallRequest) -> Json:
    """Return what became of the run that the caller waits for, as `call` does.

    Raises:
        ExecutionDoesNotExist: it never began, or is no call of the Task; call again.
    """
    run = str(asked.run)
    answer = _status(rt, run, asked.state)
    if answer is None or answer is _NO_CALL:
        raise ExecutionDoesNotExist(f"run {run!r} does not exist; call {asked.state!r} again")
    return answer


def _run_prefix(state: str) -> str:
    return f"call-{short_digest(state.encode())}-"


def _newest(rt: Runtime, name: str) -> tuple[int, str | None]:
    """Return number and name of the newest run for the result `name`; 0 and None without one."""
    for key, item in rt.store.query(_place(rt, name, 0).partition, newest=1).items():
        return int(key.sort), str(item["run"])
    return 0, None


def _place(rt: Runtime, name: str, number: int) -> Key:
    return Key(f"{execution_partition_prefix(rt.workflow.name)}calls~{name}", f"{number:09d}")


_NO_CALL: dict[str, Json] = {"Status": Status.ABORTED}
"""What became of a run in whose place is an execution that no call began."""


def _status(rt: Runtime, run: str, state: str) -> dict[str, Json] | None:
    """Return what became of `run`: None if it has not begun, `_NO_CALL` for an execution that is no call of `state`."""
    key = start_key(rt.workflow.name, run)
    item = rt.store.read([key]).get(key)
    if item is None:
        return None
    if is_deleted(item):
        return {"Status": Status.ABORTED, "Error": DELETED, "Cause": None}
    record = read_start_record(run, item)
    if not _is_call(rt, record, state):
        return _NO_CALL
    last = start_records.last_step(rt.store, rt.workflow.name, record.name.execution)
    if last is None or last.ending is None:
        return {"Status": Status.RUNNING, "Run": run}
    match last.ending.outcome:
        case Success() as success:
            return {"Status": last.ending.status, "Output": _limited(success.text)}
        case Failure(error, cause):
            return {"Status": last.ending.status, "Error": error, "Cause": cause}


def _is_call(rt: Runtime, record: Checkpoint, state: str) -> bool:
    """Return True if the execution of start record `record` runs the variant for calls of the Task `state`."""
    if record.fork is not None or not record.digest:
        return False
    if record.digest == called(rt.workflow, state).digest:
        return True
    # Begun on another definition. Its text proves what it is: a stored definition is verified against its digest.
    try:
        other = read_definition(rt.store, rt.workflow.name, record.digest)
    except DefinitionNotStored:
        return False
    return other.variant == Variant.CALL and other.start_at == state


def _limited(text: str) -> str:
    if len(text.encode()) > MAX_BYTES:
        raise ClientError(f"the result exceeds an answer of {MAX_BYTES} bytes; return a reference to it")
    return text


def _begin(rt: Runtime, run: str, value: Json) -> Json:
    """Store the start record of `run` unless it exists; send its event, unless another caller did so just now."""
    draft = start_record(Execution(run, rt.clock.now_ms()), value).saying(digest=rt.workflow.digest)
    expires_at_s = rt.result_expires_at_s()
    # Calls are equal by what names their result, whatever else differs: the input of the first is the run's.
    record = start_records.create_start(rt.store, rt.workflow.name, draft, expires_at_s=expires_at_s)
    # The first event may have been lost with its caller. Repeated ones find the lease of the result held, and wait.
    if record is draft or rt.clock.now_ms() >= record.committed_ms + LEASE_MS:
        _send(rt, record)
    return {"Status": Status.RUNNING, "Run": run}


def _send(rt: Runtime, record: Checkpoint) -> None:
    """Send the event of a run's Task, unless the run has gone on, or another caller has sent it lately."""
    execution = record.name.execution
    if record.digest != rt.workflow.digest or start_records.last_step(rt.store, rt.workflow.name, execution):
        return
    lease = Lease(
        store=rt.store,
        clock=rt.clock,
        key=lease_key(start_key(rt.workflow.name, execution.name)),
        owner=rt.new_secret(),
        duration_ms=LEASE_MS,
        log=rt.log,
    )
    if not lease.acquire():
        return
    try:
        if rt.statuses is not None:
            rt.statuses.started(rt, record)
        perform(rt, DeliveryState({}), plan(rt.workflow, record))
    except BaseException:  # also of a sandbox that is interrupted: nothing was sent
        lease.release()
        raise
