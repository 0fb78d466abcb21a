"""How an execution begins: an outsider's event, or a start record that a client wrote and then names."""

from collections.abc import Mapping

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import RefusedDelivery
from unum_runtime.model.checkpoint import Checkpoint, Success, read_start_record, start_record
from unum_runtime.model.envelope import Writer
from unum_runtime.model.ir import Json, Task
from unum_runtime.model.naming import Execution, start_key
from unum_runtime.protocol.delivery.commit import bounded, create
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.delivery.fusion import own_event
from unum_runtime.protocol.delivery.lease import claim_start
from unum_runtime.protocol.delivery.perform import envelope, perform
from unum_runtime.protocol.planning.plan import Invoke, plan
from unum_runtime.protocol.runtime import Runtime


def start(rt: Runtime, execution_name: str, value: Json) -> None:
    """Begin the execution `execution_name` with input `value`; the same name again goes on with what was first.

    Raises:
        StoreError: it is not known whether the execution exists; the event must be delivered again.
    """
    record = start_record(Execution(execution_name, rt.clock.now_ms()), value)
    record = replace(
        record, outcome=bounded(rt, Success(value), what="input")
    )  # too large, it fails the execution visibly
    winner = create(rt, record)
    if winner is None:
        rt.log("started", execution=execution_name)
    _begin(rt, record if winner is None else read_start_record(execution_name, winner), fresh=winner is None)


def resume(rt: Runtime, execution_name: str, writer: Writer | None = None) -> None:
    """Begin the execution whose start record a client wrote.

    Args:
        rt: the runtime.
        execution_name: the execution.
        writer: in whose name, if clients share the start by a lease.

    Raises:
        RefusedDelivery: there is no such record.
        LeaseStolenError: another writer has replaced this one; the event must be delivered again, in case that died.
    """
    key = start_key(rt.workflow.name, execution_name)
    item = rt.store.read([key]).get(key)
    if item is None:
        raise RefusedDelivery(f"no start record of execution {execution_name!r} in workflow {rt.workflow.name!r}")
    with claim_start(rt, key, writer) as claim:
        claim.insist()
        rt.log("started", execution=execution_name)  # who wrote the record has no log that this could be in
        _begin(rt, read_start_record(execution_name, item), fresh=False)


def _begin(rt: Runtime, record: Checkpoint, *, fresh: bool) -> None:
    """Go on from the start record, in this sandbox as far as the first Task, if this function hosts it.

    Raises:
        RefusedDelivery: what the execution has committed may be gone; only its result is kept for longer.
    """
    if rt.clock.now_ms() // 1000 > rt.last_s(record.name.execution):
        raise RefusedDelivery(f"{record.name.execution}: started again when what it has committed may be gone")
    routes = carried(rt)
    effect = plan(rt.workflow, record)
    if isinstance(effect, Invoke) and _is_for_us(rt, effect):
        step(rt, own_event(envelope(rt, effect, routes)), fresh=fresh)
    else:
        perform(rt, DeliveryState(routes), effect)


def _is_for_us(rt: Runtime, effect: Invoke) -> bool:
    """Whether this function can do now what `effect` asks another delivery for."""
    state = rt.workflow.states[effect.state]
    return effect.due_ms is None and isinstance(state, Task) and state.function in rt.hosts


def carried(rt: Runtime) -> Mapping[str, str]:
    """Addresses that every envelope of the execution has with it."""
    return {function: rt.routes[function] for function in rt.carried}
