"""Fork: start another execution from a top-level state, with copies of all earlier steps.

The fork runs on the current version and enters the state with a new input, or with its original one.
"""

from itertools import pairwise

from unum_runtime.cold_start.records import dataclass, replace
from unum_runtime.errors import ExecutionAlreadyExists, ExecutionDoesNotExist, NodeNotForkable
from unum_runtime.model.checkpoint import (
    Began,
    Checkpoint,
    Collected,
    ForkOrigin,
    Outcome,
    Phase,
    Success,
    read_start_record,
    start_record,
)
from unum_runtime.model.naming import Execution, Name
from unum_runtime.protocol.control.forks.forking import first_step, kept_steps
from unum_runtime.protocol.control.nudge import nudge_whole
from unum_runtime.protocol.delivery.commit import create
from unum_runtime.protocol.delivery.pause import read_pause, refuse_start
from unum_runtime.protocol.history import start_records
from unum_runtime.protocol.history.timeline import from_start
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES, WITHOUT_BUCKET
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.base import Store


@dataclass(frozen=True, kw_only=True)
class ForkRequest:
    """A request for a fork.

    Attributes:
        execution: name of the original execution.
        name: name of the new execution.
        node: the Task, Map or Parallel of the top level to begin with.
        visit: number of its visit, from 1.
        value: its input; None for the original one.
    """

    execution: str
    name: str
    node: str
    visit: int = 1
    value: Success | None = None

    def is_of(self, record: Checkpoint) -> bool:
        """Return True if an equal request wrote the start record `record`."""
        origin = record.fork
        return origin is not None and (origin.execution.name, origin.node, origin.visit, origin.value) == (
            self.execution,
            self.node,
            self.visit,
            self.value,
        )


def fork(rt: Runtime, request: ForkRequest, began: Began | None = None) -> Execution:
    """Start a fork; finish and nudge the fork of an equal request.

    Args:
        rt: a runtime with the addresses of all functions; of the fork's version, if its start record exists.
        request: the request.
        began: the versions that a new fork runs on.

    Returns:
        The new execution.

    Raises:
        ExecutionDoesNotExist: the original execution does not exist.
        ExecutionAlreadyExists: another execution has the new name.
        StartsPaused: the workflow is paused.
        NodeNotForkable: no such node, unknown input, or the execution would end at once; nothing was written.
        TimeIsShort: some copies are left; fork again.
        UnumError: a service did not answer; fork again.
    """
    record = found(rt.store, rt.workflow.name, request.name) or _start(rt, request, began)
    if not request.is_of(record):
        raise ExecutionAlreadyExists(
            f"execution {request.name!r} of workflow {rt.workflow.name!r} is another: use another name"
        )
    # The nudge finishes the fork. No event was sent for its copies, so it then sends the first one.
    nudge_whole(rt, request.name)
    return record.name.execution


def found(store: Store, workflow: str, execution_name: str) -> Checkpoint | None:
    """Return the start record of an execution; None without one."""
    try:
        return start_records.start_record(store, workflow, execution_name)
    except ExecutionDoesNotExist:
        return None


def _start(rt: Runtime, request: ForkRequest, began: Began | None) -> Checkpoint:
    """Return the fork's start record: a new one, or that of another request at the same time.

    Raises:
        NodeNotForkable: the fork is impossible; nothing was written.
    """
    pause = read_pause(rt.store, rt.workflow.name)
    if pause is not None:
        refuse_start(rt, request.name, pause)
    steps = from_start(rt.store, rt.workflow.name, request.execution)
    before = steps[_visited(rt, steps, request) - 1]
    origin = ForkOrigin(steps[0].name.execution, request.node, request.visit, before.name.step + 1, value=request.value)
    fresh = replace(
        start_record(Execution(request.name, rt.clock.now_ms()), None, steps[0].secret),
        outcome=steps[0].outcome,
        about=steps[0].about,
        digest=rt.workflow.digest,
        began=began,
        fork=origin,
    )
    # Refuse before the first write what could never be finished.
    first_step(rt, Name(fresh.name.execution, (), origin.step), kept_steps(steps, origin)[-1], origin)
    _check_size(rt, fresh.outcome, request.value)
    item = create(rt, fresh)
    return fresh if item is None else read_start_record(request.name, item)


def _check_size(rt: Runtime, *inputs: Outcome | Collected | None) -> None:
    """Raise NodeNotForkable if the inputs of the original and of the node do not fit into one item."""
    size = sum(len(each.text.encode()) for each in inputs if isinstance(each, Success))
    if rt.large is None and size > MAX_OUTCOME_BYTES:
        raise NodeNotForkable(
            f"input: it and the input of the original have {size} bytes together; a fork's start record has both, and "
            f"at most {MAX_OUTCOME_BYTES} are stored{WITHOUT_BUCKET}"
        )


def _visited(rt: Runtime, steps: list[Checkpoint], request: ForkRequest) -> int:
    """Return the number of `steps` before the requested visit.

    Raises:
        NodeNotForkable: no such visit.
    """
    state = rt.workflow.states.get(request.node)
    if state is None:
        raise NodeNotForkable(f"state {request.node!r}: workflow {rt.workflow.name!r} has none of that name")
    if state.scope is not None:
        raise NodeNotForkable(f"state {request.node!r}: is inside {state.scope!r}; fork at that, as a whole")
    visits = [number for number, pair in enumerate(pairwise(steps), start=1) if _is_visit(request.node, *pair)]
    if not 0 < request.visit <= len(visits):
        raise NodeNotForkable(
            f"state {request.node!r}: expected one of its visits, of which execution {request.execution!r} has "
            f"{len(visits)}, got {request.visit}; only what has committed can be forked at: a Task, Map or Parallel"
        )
    return visits[request.visit - 1]


def _is_visit(node: str, before: Checkpoint, after: Checkpoint) -> bool:
    """Return True if `node` was entered between two steps of the top level."""
    is_inside = before.state == node and before.phase is not Phase.LEFT
    opened = before.opens is not None and before.opens.state == node
    return before.ending is None and not is_inside and (opened or after.state == node)
