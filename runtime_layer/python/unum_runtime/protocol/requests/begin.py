"""Begin executions that requests name, with their input or with a stored start record."""

from collections.abc import Mapping

from unum_runtime.model.envelope import ATTRIBUTES, named_start, start_writer
from unum_runtime.model.identity import started_by
from unum_runtime.model.states import Json
from unum_runtime.protocol.delivery.start import resume, start
from unum_runtime.protocol.runtime import Runtime


def begin(rt: Runtime, event: Mapping[str, Json], request_id: str) -> Json:
    """Begin the execution that `event` names, with its input or with that of the stored start record.

    Raises:
        RefusedDelivery: there is neither an input nor a start record.
        LeaseStolenError: another caller has replaced this one; deliver the event again.
        StoreError: the execution may exist or not; deliver the event again.
    """
    name = named_start(event)
    if name is not None:
        resume(rt, name, start_writer(event))
        return started(rt, name)
    given, value = started_by(event)
    name = given or request_id
    if given != event["start"]:  # a name from the text of an event's target, as a former release may have read it
        from unum_runtime.protocol.requests.renamed import name_in_use  # noqa: PLC0415 - few names are invalid

        name = name_in_use(rt, event, name)
    start(rt, name, value, event.get(ATTRIBUTES))
    return started(rt, name)


def started(rt: Runtime, name: str) -> Json:
    """Return the answer to a start."""
    return {"workflow": rt.workflow.name, "execution": name}
