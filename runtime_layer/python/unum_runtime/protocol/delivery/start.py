"""Start an execution by an outside event, or by a client's start record."""

from collections.abc import Mapping

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import (
    ExecutionDeleted,
    LeaseStolenError,
    OtherDefinition,
    RouteGone,
    StartRefused,
    StoreDenied,
)
from unum_runtime.model.checkpoint import Checkpoint, Item, Success, read_start_record, start_record
from unum_runtime.model.envelope import Writer
from unum_runtime.model.naming import NAME_RULE, Execution, is_name, start_key
from unum_runtime.model.states import Json, Task
from unum_runtime.protocol.delivery.commit import create, limit_outcome
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.delivery.fusion import own_event
from unum_runtime.protocol.delivery.ingress import refuse_late
from unum_runtime.protocol.delivery.lease import can_start_later, claim_start
from unum_runtime.protocol.delivery.perform import envelope, perform
from unum_runtime.protocol.planning.plan import Invoke, plan
from unum_runtime.protocol.runtime import Runtime


def start(rt: Runtime, execution_name: str, value: Json, attributes: Json = None) -> None:
    """Start execution `execution_name` with input `value`, or continue an existing execution.

    Args:
        rt: the runtime.
        execution_name: the execution.
        value: its input.
        attributes: attributes that a sender has chosen; others than valid ones are left out.

    Raises:
        StartsPaused: the workflow is paused, and the execution does not exist; deliver the event again.
        ExecutionAlreadyExists: the name was started with another input, or belongs to a fork or a forced execution.
        ExecutionDeleted: the execution of that name was deleted.
        RefusedDelivery: the execution exists, and needs nothing of this event.
        StoreError: the execution may exist or not; deliver the event again.
    """
    check_pause(rt, execution_name)
    record = new_record(rt, execution_name, value, attributes)
    # An input that is too large becomes a failure, so that the execution exists and fails visibly.
    record = replace(record, outcome=limit_outcome(rt, Success(value), what="input"))
    winner = create(rt, record)
    if winner is None:
        rt.log("started", execution=execution_name)
    else:
        from unum_runtime.protocol.planning.existing_start import check_event, existing_record  # noqa: PLC0415 - few

        _refuse_deleted(rt, execution_name, winner)
        draft, record = record, existing_record(rt.workflow.name, record, winner)
        check_event(rt.workflow.name, record, draft)
    _begin(rt, record, fresh=winner is None)


def _refuse_deleted(rt: Runtime, execution_name: str, item: Item) -> None:
    """Raise ExecutionDeleted if the start record `item` is what a deletion has left."""
    if "error" in item:  # of few records: an input that was too large, or a deletion
        from unum_runtime.protocol.planning.existing_start import deletion_text, is_deleted  # noqa: PLC0415

        if is_deleted(item):
            raise ExecutionDeleted(deletion_text(rt.workflow.name, execution_name))


def check_pause(rt: Runtime, execution_name: str) -> None:
    """Raise StartsPaused if the workflow is paused, unless the execution exists."""
    pause = rt.read_pause()
    if pause is not None:
        from unum_runtime.protocol.delivery.pause import refuse_start  # noqa: PLC0415 - a paused workflow alone

        refuse_start(rt, execution_name, pause)


def new_record(rt: Runtime, execution_name: str, value: Json, attributes: Json = None) -> Checkpoint:
    """Return the start record of a new execution, with the time of this clock, and facts for readers."""
    secret = rt.new_secret() if rt.workflow.draws else ""
    record = start_record(Execution(execution_name, rt.clock.now_ms()), value, secret)
    if not (rt.workflow.attributes or attributes):
        return record
    from unum_runtime.protocol.delivery.attributes import facts  # noqa: PLC0415 - few executions have any

    return record.saying(about=facts(rt, value, attributes))


def resume(rt: Runtime, execution_name: str, writer: Writer | None = None) -> None:
    """Start the execution whose start record a client wrote.

    Args:
        rt: the runtime.
        execution_name: the execution.
        writer: owner of the start's lease; None if clients share no lease.

    Raises:
        StartRefused: there is no such record, it begins otherwise, or the name is not valid for an execution.
        ExecutionDeleted: the execution was deleted.
        RefusedDelivery: the execution needs nothing of this event.
        OtherDefinition: the execution runs on another definition.
        LeaseStolenError: another writer has replaced this one, and no timer can keep the request; deliver the event
            again, in case that one died.
    """
    # Before the store is asked: the escaped key of an invalid name might be longer than DynamoDB allows.
    if not is_name(execution_name):
        raise StartRefused(f"start: expected a name, {NAME_RULE}, got {execution_name!r}")
    key = start_key(rt.workflow.name, execution_name)
    item = rt.store.read([key]).get(key)
    if item is None:
        rt.log("late", execution=execution_name)  # the client wrote the record before it sent this event
        raise StartRefused(f"no start record of execution {execution_name!r} in workflow {rt.workflow.name!r}")
    _refuse_deleted(rt, execution_name, item)
    record = read_start_record(execution_name, item)
    if record.fork is None and record.digest not in ("", rt.workflow.digest):
        raise OtherDefinition(execution_name, record.digest)
    if record.digest and record.fork is None and rt.workflow.variant is None:
        raise StartRefused(f"start of {execution_name!r}: expected a variant of a definition, got {record.digest}")
    try:
        with claim_start(rt, key, writer) as claim:
            claim.insist()
            rt.log("started", execution=execution_name)  # the client that wrote the record has no log of the workflow
            _begin(rt, record, fresh=False)
    except LeaseStolenError as stolen:
        if not can_start_later(rt):
            raise
        from unum_runtime.features.timers.waiter import wait_for_start  # noqa: PLC0415 - very few starts wait

        assert writer is not None  # noqa: S101 - without a writer, nothing is claimed
        wait_for_start(rt, execution_name, writer, stolen)


def _begin(rt: Runtime, record: Checkpoint, *, fresh: bool) -> None:
    """Continue from the start record, running a hosted first Task in this sandbox.

    Raises:
        StartRefused: it is a fork, which begins with another state.
        RefusedDelivery: the execution's commits may have expired, and only its result is kept for longer.
    """
    if record.fork is not None:
        raise StartRefused(f"{record.name.execution}: is a fork, which only its request or a nudge continues")
    refuse_late(rt, record.name.execution, f"start of {record.name.execution}")
    if rt.statuses is not None:  # before all that follows: no later delivery of this event may come
        rt.statuses.started(rt, record)
    routes = execution_routes(rt)
    effect = plan(rt.workflow, record)
    if isinstance(effect, Invoke) and _is_for_us(rt, effect):
        step(rt, own_event(envelope(rt, effect, routes)), fresh=fresh)
    else:
        try:
            perform(rt, DeliveryState(routes), effect)
        except (RouteGone, StoreDenied) as denied:
            from unum_runtime.protocol.delivery.hand_over import hand_over  # noqa: PLC0415 - after a deployment only

            hand_over(rt, record.name, record.state, denied, effect)


def _is_for_us(rt: Runtime, effect: Invoke) -> bool:
    """Return True if this function can run the invocation of `effect` now."""
    state = rt.workflow.states[effect.state]
    return effect.due_ms is None and isinstance(state, Task) and state.function in rt.hosts


def execution_routes(rt: Runtime) -> Mapping[str, str]:
    """Return addresses for every envelope of an execution."""
    return {function: rt.routes[function] for function in rt.carried}
