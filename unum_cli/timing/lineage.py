"""Verification of the parent that an input names, by the parent's own steps.

Who starts an execution chooses its input, but only the parent's functions write its steps. Two reads tell in most
cases: the start record and the steps of the top level. If these name no such execution, the definition is read, too.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

from unum_cli.timing.parents import STARTED_BY, Started, default_name, executions_in, parent_in, reported_value
from unum_client.boto3_shapes.arns import home_of
from unum_client.client import Client
from unum_client.reading.stored_steps import start_record
from unum_runtime.errors import UnumError
from unum_runtime.model.checkpoint import Checkpoint, Collected, Success
from unum_runtime.model.naming import Name
from unum_runtime.model.states import Json
from unum_runtime.protocol.history.timeline import top_level


class Lineage(StrEnum):
    """Result of the verification."""

    CONFIRMED = "confirmed"
    """A step has started the execution, or waits for its end."""

    UNKNOWN = "unknown"
    """The parent cannot be read, or its steps may leave out what they have started."""

    DENIED = "denied"
    """The parent has not started the execution."""


def lineage(client_of: Callable[[str], Client | None], value: Json, child: Started) -> Lineage:
    """Return whether the parent that the input `value` of `child` names has started it.

    Args:
        client_of: returns a client of the workflow with a name; None for one that cannot be read here.
        value: the input, which names a parent.
        child: the execution.
    """
    parent = parent_in(value)
    client = None if parent is None else client_of(parent.workflow)
    if parent is None or client is None or not _is_here(client, value[STARTED_BY], parent):
        return Lineage.UNKNOWN
    try:
        return _by_steps(client, parent, child)
    except UnumError:  # expired, or no right to read it
        return Lineage.UNKNOWN


def _is_here(client: Client, arn: str, parent: Started) -> bool:
    """Return False if `arn` is of another account or region than `client`, where the names may be taken, too."""
    own = home_of(client.start_alias)
    return own is None or arn == own.arn(f"execution:{parent.workflow}:{parent.name}")


def _by_steps(client: Client, parent: Started, child: Started) -> Lineage:
    record = start_record(client.store, parent.workflow, parent.name)
    steps = top_level(client.store, parent.workflow, record.name.execution)
    if any(child in started for started in _started(record, steps)):
        return Lineage.CONFIRMED
    last = steps[-1] if steps else record
    following = () if last.ending is not None else ((last.name.following, ""),)
    for name, state in (*((step.name, step.state) for step in steps), *following):
        if child.name in _default_names(parent.workflow, name, state):
            return Lineage.CONFIRMED
    # Branches are not read: a wide Map may have thousands. What was collected does not tell any more.
    if any(step.opens is not None or isinstance(step.outcome, Collected) for step in (record, *steps)):
        return Lineage.UNKNOWN
    return _by_definition(client, parent, child, [record, *steps])


def _started(record: Checkpoint, steps: Sequence[Checkpoint]) -> Iterator[set[Started]]:
    """Yield the executions that each step is the first to tell of."""
    known = {*executions_in(record.outcome.value)} if isinstance(record.outcome, Success) else set[Started]()
    for step in steps:
        found = {*executions_in(reported_value(step))}
        yield found - known
        known |= found


def _default_names(workflow: str, name: Name, state: str) -> Iterator[str]:
    """Yield the names that the first attempts of an invocation give to what they start."""
    for attempt in range(_MOST_ATTEMPTS):
        yield default_name(workflow, name, "", attempt)
        yield default_name(workflow, name, state, attempt)


_MOST_ATTEMPTS = 4
"""Attempts whose names are computed; later ones are rare, and remain unknown."""


def _by_definition(client: Client, parent: Started, child: Started, steps: Sequence[Checkpoint]) -> Lineage:
    """Return the answer for a parent whose steps name no such execution.

    Raises:
        UnumError: its definition is not stored, or the store did not answer.
    """
    # Few children are of parents that do not tell of them, and these modules load all that rows need.
    from unum_cli.timing.nesting import may_start, started_by_job  # noqa: PLC0415 - see above

    workflow, last = client.definition(parent.name), steps[-1]
    if last.ending is None:
        pending = [*client.pending(parent.name, workflow)]
        if any(started_by_job(missing) == child for missing in pending):
            return Lineage.CONFIRMED
        if any(may_start(workflow, missing.state) for missing in pending):
            return Lineage.UNKNOWN
    silent = (step for step in steps if not [*executions_in(reported_value(step))])
    is_moved = any(step.digest not in ("", workflow.digest) for step in steps)
    return Lineage.UNKNOWN if is_moved or any(may_start(workflow, step.state) for step in silent) else Lineage.DENIED
