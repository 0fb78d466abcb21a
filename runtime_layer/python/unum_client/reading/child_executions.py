"""Child executions: the branches of distributed Maps, as executions with a name, an input and a history of their own.

Names are computed from the Map's opening commit, as in the branches' context object, so nothing is stored for them.
A name contains the time of entering the Map and a mark of the execution around it, so the search by a name goes through
the list of executions, from that time backwards, and reads those with the mark.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from unum_client.deliveries import to_datetime
from unum_client.descriptions import Step
from unum_client.reading.map_runs import Run, runs
from unum_runtime.errors import ClientError, ExecutionDoesNotExist
from unum_runtime.model.checkpoint import Checkpoint, Collected, Status
from unum_runtime.model.ir import Workflow
from unum_runtime.model.list_index import execution_at, place
from unum_runtime.model.naming import Execution, Frames
from unum_runtime.model.states import Json
from unum_runtime.protocol.history.list_entries import Listed
from unum_runtime.protocol.history.timeline import Timeline
from unum_runtime.protocol.planning.advance import branch_evaluation
from unum_runtime.protocol.planning.evaluation import child_execution, parent_mark
from unum_runtime.protocol.planning.plan import BranchFailed, CompleteBranch, OpenScope, plan
from unum_runtime.store.base import Index


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildExecution:
    """One branch of a distributed Map that has begun.

    Attributes:
        name: ``Execution.Name`` in the branch, a UUID.
        map_run: identifier of the Map Run, as in `MapRun.id`.
        state: name of the Map.
        label: label of the Map, by default its name, which is in the ARN.
        index: branch index in each fan-out, outermost first, the Map's own last, from 0.
        status: ``RUNNING``, ``SUCCEEDED``, ``FAILED``, or ``ABORTED`` after an earlier end of the Map.
        input: input of the branch, after ``ItemSelector`` and ``ItemBatcher``.
        output: output; None without success, or after collection.
        error: error name; None without a failure.
        cause: cause of the failure.
        started_at: ``Execution.StartTime`` in the branch, the time of entering the Map.
        stopped_at: time of the last commit of an ended branch; None while it runs.
        steps: commits of the branch and of fan-outs inside it, by time.
    """

    name: str
    map_run: str
    state: str
    label: str
    index: tuple[int, ...]
    status: Status
    input: Json
    output: Json
    error: str | None
    cause: str | None
    started_at: datetime
    stopped_at: datetime | None
    steps: tuple[Step, ...] = field(repr=False)


def child_executions(
    workflow: Workflow, checkpoints: Iterable[Checkpoint], earlier: Iterable[Workflow] = ()
) -> Iterator[ChildExecution]:
    """Yield the begun child executions of an execution, Map Run by Map Run, in the order of items.

    Branches of a Map whose opening commit was collected are left out: nothing is left to compute their names from.

    Args:
        workflow: last version of the execution.
        checkpoints: start record, steps and stop records of the execution.
        earlier: other versions that it has run on.

    Raises:
        ClientError: the execution has run on a version that is not given.
    """
    for run in runs(Timeline(workflow, checkpoints, earlier)):
        opened = run.opened() if run.state.distributed else None
        if opened is not None:
            yield from _children(run, opened)


def _children(run: Run, opened: OpenScope) -> Iterator[ChildExecution]:
    _, _, statuses = run.statuses(opened)
    steps = _steps_by_branch(run)
    for index, (status, value) in enumerate(zip(statuses, opened.arrival.inputs, strict=True)):
        if status is not None:
            frames = run.scope.branch(index)
            yield _child(run, opened, value, status, frames, steps[frames])


def _child(
    run: Run, opened: OpenScope, value: Json, status: Status, frames: Frames, steps: list[Checkpoint]
) -> ChildExecution:
    inside = branch_evaluation(run.state, frames[-1].index, value, opened.arrival.evaluation)
    label, name, started_ms = child_execution(run.state, inside)
    last = run.timeline.last(frames)
    effect = None if last is None or isinstance(last.outcome, Collected) else plan(run.workflow, last)
    failure = effect.failure if isinstance(effect, BranchFailed) else None
    return ChildExecution(
        name=name,
        map_run=run.id,
        state=run.workflow.visible_name(run.state.name),
        label=label.removeprefix("/"),
        index=tuple(frame.index for frame in frames),
        status=status,
        input=value,
        output=effect.outcome.value if isinstance(effect, CompleteBranch) else None,
        error=failure.error if failure else None,
        cause=failure.cause if failure else None,
        started_at=to_datetime(started_ms),
        stopped_at=None if status is Status.RUNNING or last is None else to_datetime(last.committed_ms),
        steps=tuple(map(Step.of, sorted(steps, key=lambda step: step.committed_ms))),
    )


def _steps_by_branch(run: Run) -> dict[Frames, list[Checkpoint]]:
    """Return the commits in each branch of `run`, those of inner fan-outs included."""
    depth = len(run.scope.frames) + 1
    found: dict[Frames, list[Checkpoint]] = defaultdict(list)
    for name, checkpoint in run.timeline.committed.items():
        found[name.frames[:depth]].append(checkpoint)
    return found


SKEW_MS = 300_000
"""Time by which the clock of an execution's starter may be ahead of the functions' clocks, in milliseconds."""

_NAME = re.compile(r"(?P<high>[0-9a-f]{8})-(?P<low>[0-9a-f]{4})-8(?P<mark>[0-9a-f]{3})-8[0-9a-f]{3}-[0-9a-f]{12}")
_PORTION = 100


def find_child(
    name: str, index: Index, workflow: str, children: Callable[[str], "list[ChildExecution]"]
) -> tuple[str, ChildExecution]:
    """Return the name of the parent, and its child execution `name`.

    Args:
        name: name of the child execution.
        index: index of the workflow's store.
        workflow: name of the workflow.
        children: returns the child executions of an execution, by its name.

    Raises:
        ExecutionDoesNotExist: no execution in the list has such a child.
        ClientError: the only executions that may have it run on another version, or theirs is not stored.
        NoIndex: the table has no index for lists.
        StoreError: unreadable index or execution.
    """
    unreadable: ClientError | None = None
    for parent in _parents(name, index, workflow):
        try:
            found = next((each for each in children(parent) if each.name == name), None)
        except ExecutionDoesNotExist:  # it expired after the list was read
            continue
        except ClientError as error:
            unreadable = error
            continue
        if found is not None:
            return parent, found
    raise unreadable or ExecutionDoesNotExist(f"executionArn: workflow {workflow!r} has no child execution {name!r}")


def _parents(name: str, index: Index, workflow: str) -> Iterator[str]:
    """Yield executions that may have the child `name`, the latest first."""
    match = _NAME.fullmatch(name)
    if match is None:
        return
    latest = Execution("~", int(match["high"] + match["low"], 16) + SKEW_MS)
    for found in Listed(index, workflow).newest(place(latest), _PORTION):
        parent = execution_at(found).name
        if parent_mark(parent) == match["mark"]:
            yield parent
