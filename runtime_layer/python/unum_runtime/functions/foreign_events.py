"""Events of another version than the execution that they name: the execution is nudged by its name instead.

The content of a foreign event proves nothing, so it is not used. The execution's own version plans again from what is
committed, and sends what is pending.
"""

from typing import Any

from unum_runtime.errors import ExecutionDoesNotExist, InvokeError, NotOurEvent, RefusedDelivery
from unum_runtime.functions import control_requests
from unum_runtime.model.envelope import Envelope
from unum_runtime.protocol.control import versions
from unum_runtime.protocol.control.operator_requests import Control, request
from unum_runtime.protocol.delivery.ingress import refuse_late
from unum_runtime.protocol.history.start_records import start_record
from unum_runtime.protocol.runtime import Runtime


def nudge_instead(rt: Runtime, envelope: Envelope, context: Any) -> None:
    """Nudge the execution of `envelope`, an event with another digest than the workflow of `rt`.

    Raises:
        RefusedDelivery: the execution's last moment has passed, or a later execution has its name.
        NotOurEvent: the event is of its execution's version, but reached a function of another one.
        InvokeError: the execution could not be nudged.
    """
    execution = envelope.name.execution
    refuse_late(rt, execution, str(envelope.name))
    try:
        record = start_record(rt.store, rt.workflow.name, execution.name)
    except ExecutionDoesNotExist as gone:
        raise RefusedDelivery(f"{envelope.name}: {gone}") from gone
    if record.name.execution != execution:
        raise RefusedDelivery(f"{envelope.name}: a later execution has the same name")
    found = versions.runs_on(rt.store, rt.workflow.name, execution.name)
    # A nudge would send the same event to the same function again.
    if found.digest == envelope.digest:
        raise NotOurEvent(f"{envelope.name}: expected a function of IR {envelope.digest}, got {rt.workflow.digest}")
    answer = control_requests.answer(request(Control.NUDGE, execution.name), context)
    if "error" in answer:
        raise InvokeError(f"{envelope.name}: foreign event, not nudged: {answer['error']}: {answer['message']}")
    rt.log("foreign", execution=execution.name, digest=envelope.digest, nudged=answer["count"])
