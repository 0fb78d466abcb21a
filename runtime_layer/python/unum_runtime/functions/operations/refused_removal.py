"""Decision of the deployment guard: would an update strand running executions?"""

from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import Any

from unum_runtime.aws.client_factory import botocore_client
from unum_runtime.aws.invoker import PARALLEL_CALLS
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import RouteGone
from unum_runtime.functions.configuration import services
from unum_runtime.functions.definitions import NO_DEFINITION
from unum_runtime.functions.operations.function_versions import addresses, configured, function_of
from unum_runtime.functions.operations.runtime_in_place import runtime_of
from unum_runtime.functions.operations.served_workflow import WorkflowContext, workflow_of
from unum_runtime.functions.runtime_factory import index_of
from unum_runtime.model.checkpoint import Began
from unum_runtime.model.delays import LONGEST_IN_QUEUE_S
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.deletions.removal import (
    FUNCTION,
    PARTS,
    SCHEDULES,
    TIMER,
    WORKFLOWS,
    Removed,
    Stranded,
    Version,
    find_stranded,
    removed_parts,
)


def refusal(event: Mapping[str, Json], context: Any) -> str | None:
    """Return the reason to refuse the update in `event`; None if it strands no execution, or is a rollback.

    Raises:
        Exception: nobody knows whether it is a rollback.
    """
    removals = {workflow: removed for workflow, removed in _removals(event).items() if removed.names}
    if not removals or _rolls_back(event["StackId"]):
        return None
    reasons = (_refused(removed, WorkflowContext(context, workflow)) for workflow, removed in removals.items())
    return next(filter(None, reasons), None)


def _removals(event: Mapping[str, Json]) -> dict[str, Removed]:
    """Return what the update removes, by workflow; a workflow that leaves the stack needs nothing of it."""
    old, new = (event[each] for each in ("OldResourceProperties", "ResourceProperties"))
    if WORKFLOWS in new:
        before = old.get(WORKFLOWS, {})
        pairs = {name: (before.get(name, {}), parts) for name, parts in new[WORKFLOWS].items()}
    else:
        (workflow,) = services()
        pairs = {workflow: (old.get(PARTS, {}), new.get(PARTS, {}))}
    return {name: removed_parts(*parts, schedules_s=LONGEST_IN_QUEUE_S) for name, parts in pairs.items()}


def _refused(removed: Removed, context: Any) -> str | None:
    try:
        return _reason(_find(removed, context), removed)
    except Exception as error:  # noqa: BLE001 - what cannot be read may be needed
        found = f"{type(error).__name__}: {error}"
        return f"it removes {_listed(removed.names)}, and it is unknown whether running executions need that: {found}"


def _rolls_back(stack_id: str) -> bool:
    (stack,) = botocore_client("cloudformation", timeout_s=10).describe_stacks(StackName=stack_id)["Stacks"]
    return "ROLLBACK" in stack["StackStatus"]


def _find(removed: Removed, context: Any) -> Stranded:
    """Return the running executions that need what is `removed`.

    Raises:
        UnumError: a service did not answer, or the table does not list executions.
    """
    workflow = workflow_of(context)
    own_arn = f"{function_of(context.invoked_function_arn)}:$LATEST"
    rt = runtime_of(workflow, services()[workflow], own_arn, context, NO_DEFINITION)
    versions = partial(_version, workflow, rt.retention_s)
    return find_stranded(replace(rt, concurrently=_at_once), index_of(workflow), removed, versions)


def _version(workflow: str, retention_s: int, began: Began) -> Version:
    """Return the facts about a version; functions that are gone are left out."""
    arns = {key: function_of(address) for key, address in addresses(workflow, began).items()}
    try:
        return Version(arns, configured(began.address)[1][workflow].retention_s)
    except RouteGone:
        return Version(arns, retention_s)


def _reason(found: Stranded, removed: Removed) -> str | None:
    if found.executions:
        until = datetime.fromtimestamp(found.last_s, UTC).isoformat().replace("+00:00", "Z")
        shown = ", ".join(found.names) + (", ..." if found.executions > len(found.names) else "")
        least = "" if found.is_complete else "at least "
        return (
            f"it removes {_listed(found.parts)}, which running executions need: {least}{found.executions} ({shown}); "
            f"their last events are delivered until {until}"
        )
    if not found.is_complete:
        return f"it removes {_listed(removed.names)}, and there are too many executions to look at all of them in time"
    return None


def _listed(parts: Collection[str]) -> str:
    shown = [_OWN.get(part, part) for part in sorted(parts)[:MOST_SHOWN]]
    return ", ".join(shown) + (f" and {len(parts) - MOST_SHOWN} more" if len(parts) > MOST_SHOWN else "")


MOST_SHOWN = 8

_OWN = {
    f"{FUNCTION}$entry": "the entry function",
    f"{FUNCTION}$services": "the function that calls services",
    TIMER: "the timer queue",
    SCHEDULES: "the schedule group",
}


def _at_once(work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """Return the results of `work` for each of `items`, with several calls at once."""
    with ThreadPoolExecutor(PARALLEL_CALLS) as pool:
        return [*pool.map(work, items)]
