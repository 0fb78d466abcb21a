"""Map Runs: progress of each Map of an execution, counted from commits of its branches.

A branch corresponds to a child execution of AWS; with an ``ItemBatcher`` it has several items. Maps without Tasks or
without items are computed in place, so they have no Map Run.

Source of the counts: AWS Step Functions API Reference, "DescribeMapRun".
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from unum_client.deliveries import to_datetime
from unum_runtime.errors import StatesError
from unum_runtime.model.checkpoint import Checkpoint, Collected, Status
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Scope
from unum_runtime.model.states import Map
from unum_runtime.protocol.history.timeline import Timeline, failed_with, started_branches
from unum_runtime.protocol.planning.evaluation import compiled
from unum_runtime.protocol.planning.plan import (
    BranchFailed,
    CompleteBranch,
    OpenScope,
    plan,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Items or branches, counted by status.

    Attributes:
        pending: waiting for others under ``MaxConcurrency``.
        running: started, not ended.
        succeeded: ended with success.
        failed: ended with a failure, timeouts included.
        aborted: not ended at the end of the Map.
    """

    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    aborted: int = 0

    @property
    def total(self) -> int:
        """Sum of all counts."""
        return self.pending + self.running + self.succeeded + self.failed + self.aborted


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Tolerated failures, by definition; 0 by default.

    Attributes:
        count: number of branches.
        percentage: percentage of branches.
    """

    count: int = 0
    percentage: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MapRun:
    """One run of a Map.

    Attributes:
        id: identifier, unique in the execution.
        state: name of the Map.
        index: branch index of each fan-out around it, outermost first, from 0; empty at the top level.
        distributed: True in distributed mode.
        generation: number of earlier retries of the Map.
        status: ``RUNNING``, ``SUCCEEDED``, ``FAILED``, or ``ABORTED`` after an earlier end of the scope around it.
        items: items by status.
        branches: branches by status; fewer than items with an ``ItemBatcher``.
        results_written: number of items with results written by a ``ResultWriter``.
        max_concurrency: number of branches at once; 0 if the definition has no limit.
        tolerance: tolerated failures.
        started_at: time of entering the Map.
        stopped_at: time of the end; None while it runs.
    """

    id: str
    state: str
    index: tuple[int, ...]
    distributed: bool
    generation: int
    status: Status
    items: Counts
    branches: Counts
    results_written: int
    max_concurrency: int
    tolerance: Tolerance
    started_at: datetime
    stopped_at: datetime | None


def map_runs(workflow: Workflow, checkpoints: Iterable[Checkpoint], earlier: Iterable[Workflow] = ()) -> list[MapRun]:
    """Return all Map Runs of an execution, in commit order of the steps before them.

    Args:
        workflow: last version of the execution.
        checkpoints: start record, steps and stop records of the execution.
        earlier: other versions that it has run on.

    Raises:
        ClientError: the execution has run on a version that is not given.
    """
    return [run.describe() for run in runs(Timeline(workflow, checkpoints, earlier))]


def runs(timeline: Timeline) -> "Iterator[Run]":
    """Yield all Map Runs in `timeline`, in commit order of the steps before them."""
    for checkpoint in timeline.committed.values():
        if checkpoint.opens is not None and isinstance(
            timeline.version_of(checkpoint).states.get(checkpoint.opens.state), Map
        ):
            yield Run(timeline, checkpoint, checkpoint.opens)


@dataclass(frozen=True)
class Run:
    """One Map Run in a timeline.

    Attributes:
        timeline: commits of the execution.
        origin: commit before the scope.
        scope: scope of the Map.
    """

    timeline: Timeline
    origin: Checkpoint
    scope: Scope

    def describe(self) -> MapRun:
        """Return the Map Run as clients see it."""
        opened, state = self.opened(), self.state
        status, stopped_ms, branches = self.statuses(opened)
        items = _counted(branches, [1] * len(branches) if opened is None else _sizes(state, opened))
        return MapRun(
            id=self.id,
            state=self.workflow.visible_name(state.name),
            index=tuple(frame.index for frame in self.scope.frames),
            distributed=state.distributed,
            generation=self.scope.generation,
            status=status,
            items=items,
            branches=_counted(branches, [1] * len(branches)),
            results_written=items.succeeded if self._are_written() else 0,
            max_concurrency=opened.arrival.width if opened and state.has_limit and not state.is_paced else 0,
            tolerance=Tolerance() if opened is None else _tolerance(self.workflow, state, opened),
            started_at=to_datetime(self.origin.committed_ms),
            stopped_at=None if stopped_ms is None else to_datetime(stopped_ms),
        )

    @property
    def workflow(self) -> Workflow:
        """Version of the Map."""
        return self.timeline.version_of(self.origin)

    @property
    def id(self) -> str:
        """Step and branch of each outer fan-out, then the own step."""
        around = "".join(f"{frame.iteration}.{frame.index}-" for frame in self.scope.frames)
        return f"{around}{self.scope.iteration}"

    @property
    def state(self) -> Map:
        """The Map."""
        state = self.workflow.states[self.scope.state]
        assert isinstance(state, Map)  # noqa: S101 - others have no runs
        return state

    def opened(self) -> OpenScope | None:
        """Return the opening effect; None if its commit was collected."""
        effect = None if isinstance(self.origin.outcome, Collected) else plan(self.workflow, self.origin)
        return effect if isinstance(effect, OpenScope) else None

    def statuses(self, opened: OpenScope | None) -> tuple[Status, int | None, list[Status | None]]:
        """Return the status, the end in milliseconds since 1970, and each branch's status, None without a start."""
        branches = self._branches(opened)
        status, stopped_ms = self._end(branches)
        if status is not Status.RUNNING:
            # A Map ends without waiting for running branches, for example after an intolerable failure.
            branches = [Status.ABORTED if each in (None, Status.RUNNING) else each for each in branches]
        return status, stopped_ms, branches

    def _branches(self, opened: OpenScope | None) -> list[Status | None]:
        """Return each branch's status; None without a known start."""
        branches = [self._branch(index) for index in range(self.scope.size)]
        if opened is not None:
            over = (index for index, status in enumerate(branches) if status not in (None, Status.RUNNING))
            running = started_branches(opened, over)
            branches = [
                status or (Status.RUNNING if index in running else None) for index, status in enumerate(branches)
            ]
        return branches

    def _branch(self, index: int) -> Status | None:
        """Return a branch's status by its last commit; None without commits."""
        last = self.timeline.last(self.scope.branch(index))
        if last is None:
            return None
        if isinstance(last.outcome, Collected):
            return Status.SUCCEEDED  # no data are left to plan from; collection mostly follows success
        match plan(self.workflow, last):
            case CompleteBranch():
                return Status.SUCCEEDED
            case BranchFailed():
                return Status.FAILED
        return Status.RUNNING

    def _end(self, branches: list[Status | None]) -> tuple[Status, int | None]:
        """Return run status and end time, in milliseconds since 1970."""
        settled = self.timeline.committed.get(self.scope.join)
        if settled is not None and settled.state == self.scope.state:
            return Status.SUCCEEDED if failed_with(settled) is None else Status.FAILED, settled.committed_ms
        # A commit of the joining Task, or all branches' successes, prove the success of a Map without a commit.
        if settled is not None or (self.state.join is not None and set(branches) == {Status.SUCCEEDED}):
            return Status.SUCCEEDED, max(each.committed_ms for each in self._last_commits())
        # The innermost committed scope around the Map ended it; otherwise only the execution's own end did.
        around = (self.timeline.committed.get(scope.join) for scope in self.origin.name.scopes)
        end = next((each for each in around if each is not None), self.timeline.end)
        return (Status.RUNNING, None) if end is None else (Status.ABORTED, end.committed_ms)

    def _last_commits(self) -> Iterator[Checkpoint]:
        yield self.origin
        lasts = (self.timeline.last(self.scope.branch(index)) for index in range(self.scope.size))
        yield from (last for last in lasts if last is not None)

    def _are_written(self) -> bool:
        """Return True if a hidden Task after the Map has written results."""
        if not self.state.writes:
            return False
        after = self.timeline.committed.get(self.scope.join)
        if after is not None and after.state == self.scope.state:
            after = self.timeline.after(self.scope.join)
        return after is not None and after.state == self.state.next and failed_with(after) is None


def _sizes(state: Map, opened: OpenScope) -> list[int]:
    """Return item counts per branch."""
    inputs = opened.arrival.inputs
    return [len(each["Items"]) for each in inputs] if "ItemBatcher" in state.data else [1] * len(inputs)


def _counted(branches: Iterable[Status | None], sizes: Iterable[int]) -> Counts:
    counts = Counts()
    for status, size in zip(branches, sizes, strict=True):
        name = "pending" if status is None else status.lower()
        counts = replace(counts, **{name: getattr(counts, name) + size})
    return counts


def _tolerance(workflow: Workflow, state: Map, opened: OpenScope) -> Tolerance:
    if not state.tolerates:
        return Tolerance()
    program, value = compiled(workflow, state), opened.arrival.value
    context = opened.arrival.evaluation.context_of(state.name)
    try:
        count = program.number("ToleratedFailureCount", value, context)
        percentage = program.number("ToleratedFailurePercentage", value, context)
    except StatesError:  # this error is the failure of the Map
        return Tolerance()
    return Tolerance(int(count or 0), float(percentage or 0))
