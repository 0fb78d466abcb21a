"""Begin executions that requests name, with their input or with a stored start record."""

from collections.abc import Callable, Mapping
from functools import partial

from unum_runtime.errors import ExecutionDeleted, InconsistentHistory, RefusedDelivery, StartRefused, StoreError
from unum_runtime.model.envelope import ATTRIBUTES, named_start, start_writer
from unum_runtime.model.identity import started_by
from unum_runtime.model.states import Json
from unum_runtime.protocol.delivery.start import resume, start
from unum_runtime.protocol.runtime import Runtime


def begin(rt: Runtime, event: Mapping[str, Json], request_id: str) -> Json:
    """Begin the execution that `event` names, with its input or with that of the stored start record.

    Raises:
        StartRefused: there is neither an input nor a start record.
        ExecutionAlreadyExists: the name was started with another input, or belongs to a fork or a forced execution.
        ExecutionDeleted: the execution of that name was deleted.
        LeaseStolenError: another caller has replaced this one; deliver the event again.
        StoreError: the execution may exist or not; deliver the event again.
    """
    name = named_start(event)
    if name is not None:
        return _started_by(rt, name, partial(resume, rt, name, start_writer(event)))
    given, value = started_by(event)
    return begin_with(rt, given or request_id, value, event.get(ATTRIBUTES))


def begin_with(rt: Runtime, name: str, value: Json, attributes: Json = None) -> Json:
    """Begin the execution `name` with the input `value`; see `begin`."""
    return _started_by(rt, name, partial(start, rt, name, value, attributes))


def _started_by(rt: Runtime, name: str, work: Callable[[], None]) -> Json:
    """Execute `work` and answer a start, also a repeated one without remaining work."""
    try:
        work()
    except (ExecutionDeleted, StartRefused):
        raise
    except (InconsistentHistory, StoreError) as error:
        from unum_runtime.protocol.delivery.deletion import refuse_if_deleted  # noqa: PLC0415 - few deliveries fail

        refuse_if_deleted(rt, name, error)
        raise
    except RefusedDelivery as refused:
        rt.log("refused", reason=str(refused))
    return started(rt, name)


def started(rt: Runtime, name: str) -> Json:
    """Return the answer to a start."""
    return {"workflow": rt.workflow.name, "execution": name}
