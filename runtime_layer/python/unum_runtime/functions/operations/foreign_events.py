"""Events of another version than the execution that they name: the execution is nudged by its name instead.

The content of a foreign event proves nothing, so it is not used. The control function plans again from what is
committed, by the execution's own definition, and sends what is pending.
"""

import os

from unum_runtime.errors import ExecutionDoesNotExist, InvokeError, NotOurEvent, RefusedDelivery
from unum_runtime.functions.operations.caller import LambdaCaller
from unum_runtime.functions.operations.function_versions import lambda_client
from unum_runtime.json_text import to_text
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.naming import Execution, control_alias_name
from unum_runtime.model.states import Json
from unum_runtime.protocol.control import versions
from unum_runtime.protocol.control.control_aliases import ControlAlias
from unum_runtime.protocol.control.operator_requests import Control, request
from unum_runtime.protocol.delivery.ingress import refuse_late
from unum_runtime.protocol.history.start_records import start_record
from unum_runtime.protocol.runtime import Runtime

CONTROL = "UNUM_CONTROL"
"""Environment variable with the ARN of the control function."""


def nudge_instead(rt: Runtime, envelope: Envelope) -> None:
    """Nudge the execution of `envelope`, an event whose definition is not stored.

    Raises:
        RefusedDelivery: the execution's last moment has passed, or a later execution has its name.
        NotOurEvent: the execution runs on this definition, so nothing can plan its next step.
        InvokeError: the execution could not be nudged.
    """
    execution = envelope.name.execution
    # A nudge would send the same event to the same function again.
    if _runs_on(rt, execution) == envelope.digest:
        raise NotOurEvent(f"{envelope.name}: expected the definition of IR {envelope.digest} in the store, found none")
    answer = _ask_nudge(rt.workflow.name, execution.name)
    if "error" in answer:
        raise InvokeError(f"{execution}: not nudged: {answer['error']}: {answer['message']}")
    rt.log("foreign", execution=execution.name, nudged=answer["count"])


def _runs_on(rt: Runtime, execution: Execution) -> str | None:
    """Return the digest of the version on which `execution` runs; see `nudge_instead`."""
    refuse_late(rt, execution, str(execution))
    try:
        record = start_record(rt.store, rt.workflow.name, execution.name)
    except ExecutionDoesNotExist as gone:
        raise RefusedDelivery(f"{execution}: {gone}") from gone
    if record.name.execution != execution:
        raise RefusedDelivery(f"{execution}: a later execution has the same name")
    return versions.runs_on(rt.store, rt.workflow.name, execution.name).digest


def _ask_nudge(workflow: str, execution: str) -> Json:
    """Ask the control function to nudge `execution`, and return the answer."""
    address = f"{os.environ[CONTROL]}:{control_alias_name(ControlAlias.NUDGE, workflow)}"
    return LambdaCaller(lambda_client()).call(address, to_text(request(Control.NUDGE, execution)).encode())
