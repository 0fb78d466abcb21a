"""Timeline of an execution: the rules by which committed items form a history.

Readers of the past share this module: pending commits, redrive, fork, progress, Map Runs, history events, receipts.

From the store, one partition at a time and without the definition, so that executions of any version can be read:

* `from_start`, `top_level`: the start record and the steps of the top level, in order.
* `shards`, `of_shard`, `branches`: the steps in a scope, by shard or by branch. `Checkpoint.opens` names the scope.
* `nested_steps`: the steps of the top level, each followed by the steps in the scope that it opened.
* `redrives`: the step that ended the execution before each redrive, with the redrive's own step.

From the definition, because planning again is a pure function of a commit:

* `following`, `Timeline.branch_begin`: the effect of a commit, or of a branch's begin, with the states visited then.
* `frees_lane`, `started_branches`: the branches that may begin, from the ends of others in their lanes.

`Timeline` indexes the commits of one execution in memory. A tombstone (outcome `Collected`) proves the commit and the
error of a failure; nothing can be planned from it.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from unum_runtime.cold_start.records import NamedTuple, replace
from unum_runtime.errors import ClientError, OutcomeCollected
from unum_runtime.model.checkpoint import Checkpoint, Collected, Failure, Item, Phase
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import (
    SHARD_SIZE,
    Execution,
    Frames,
    Key,
    Name,
    Scope,
    execution_partition,
    place_in_shard,
    shard_partition,
)
from unum_runtime.model.pack import unpacked
from unum_runtime.model.states import FanOut, Map
from unum_runtime.protocol.history.past import as_it_was, past_digest
from unum_runtime.protocol.history.start_records import start_record
from unum_runtime.protocol.planning.advance import Visits
from unum_runtime.protocol.planning.plan import (
    BranchFailed,
    Commit,
    CompleteBranch,
    Effect,
    Invoke,
    JoinNeighbour,
    OpenScope,
    branch,
    is_start,
    plan,
    started_after,
    started_at_once,
)
from unum_runtime.store.base import Store


def top_level(store: Store, workflow: str, execution: Execution) -> list[Checkpoint]:
    """Return top-level steps, without the start record."""
    items = store.query(execution_partition(workflow, execution))
    return [Checkpoint.from_item(Name(execution, (), int(key.sort)), item) for key, item in items.items()]


def from_start(store: Store, workflow: str, execution_name: str) -> list[Checkpoint]:
    """Return start record and top-level steps.

    Raises:
        ExecutionDoesNotExist: no execution has that name.
    """
    record = start_record(store, workflow, execution_name)
    return [record, *top_level(store, workflow, record.name.execution)]


def of_shard(scope: Scope, items: dict[Key, Item]) -> Iterator[Checkpoint]:
    """Yield the checkpoints of branches of `scope` in the `items` of a shard, by branch and step."""
    for key, item in unpacked(items, scope.execution).items():
        index, step = place_in_shard(key)
        yield Checkpoint.from_item(Name(scope.execution, scope.branch(index), step), item)


def branches(store: Store, workflow: str, scope: Scope) -> Iterator[list[Checkpoint]]:
    """Yield steps of each branch of `scope`, also empty ones; each shard is read when its first branch is due."""
    for shard in range(scope.shards):
        yield from branches_of_shard(store, workflow, scope, shard)


def branches_of_shard(store: Store, workflow: str, scope: Scope, shard: int) -> list[list[Checkpoint]]:
    """Return steps of each branch in one shard of `scope`, also empty ones."""
    sequences: list[list[Checkpoint]] = [[] for _ in range(scope.shard_size(shard))]
    for checkpoint in of_shard(scope, store.query(shard_partition(workflow, scope, shard))):
        sequences[checkpoint.name.frames[-1].index - shard * SHARD_SIZE].append(checkpoint)
    return sequences


def nested_steps(store: Store, workflow: str, steps: Iterable[Checkpoint]) -> Iterator[Checkpoint]:
    """Yield `steps`, each followed by the steps in the scope that it opened."""
    for checkpoint in steps:
        yield checkpoint
        if checkpoint.opens is not None:
            for sequence in branches(store, workflow, checkpoint.opens):
                yield from nested_steps(store, workflow, sequence)


def redrives(steps: Iterable[Checkpoint]) -> list[tuple[Checkpoint, Checkpoint]]:
    """Return pairs of steps in a top level: an end, and the redrive after it."""
    # An end is never overwritten: a step after one can only be that of a redrive.
    return [(before, after) for before, after in pairwise(steps) if before.ending is not None]


class Following(NamedTuple):
    """Planned continuation of a commit.

    Attributes:
        effect: what has to happen.
        visits: the states visited between the commit and `effect`.
        reenters: the first visit continues in the state that the commit entered.
    """

    effect: Effect
    visits: Visits
    reenters: bool


def following(workflow: Workflow, checkpoint: Checkpoint) -> Following:
    """Return effect and visits after `checkpoint`.

    Raises:
        OutcomeCollected: the outcome is a tombstone.
    """
    visits: Visits = []
    effect = plan(workflow, checkpoint, visits)
    return Following(effect, visits, checkpoint.phase is Phase.ENTERED and not is_start(checkpoint.name))


def entered_state(effect: Effect) -> str | None:
    """Return the state that `effect` enters, whose own commit tells of it; None if it enters none."""
    match effect:
        case Invoke(_, state) | JoinNeighbour(Invoke(_, state)) | Commit(_, state):
            return state
        case OpenScope(scope):
            return scope.state
    return None


def begin_effect(
    opened: OpenScope, index: int, lasts: Callable[[int], Checkpoint | None], visits: Visits | None = None
) -> Invoke | Commit | None:
    """Return first effect of branch `index`; None while a node of a region has no results to begin with.

    Args:
        opened: the fan-out.
        index: the branch.
        lasts: returns the last commit of a branch, None without one.
        visits: collects visited states.
    """
    if not opened.arrival.state.needs:
        return branch(opened, index, visits)
    from unum_runtime.features.regions.arrivals import begin  # noqa: PLC0415 - few workflows have regions

    try:
        return begin(opened, index, lasts, visits)
    except OutcomeCollected:
        return None


def tolerates_failures(state: FanOut) -> bool:
    """Return True if `state` continues other branches after a failed one."""
    return state.quorum is not None or (isinstance(state, Map) and state.tolerates)


def frees_lane(state: FanOut, effect: Effect | None) -> bool:
    """Return True if `effect`, the end of a branch of `state`, starts the next branch in its lane."""
    return isinstance(effect, CompleteBranch) or (isinstance(effect, BranchFailed) and tolerates_failures(state))


def started_branches(opened: OpenScope, freed: Iterable[int]) -> set[int]:
    """Return all started branches, given branches that `freed` their lanes."""
    if opened.arrival.state.needs:
        from unum_runtime.features.regions.region import region_of  # noqa: PLC0415 - few workflows have regions

        ended, sources = {*freed}, region_of(opened.arrival.evaluation.workflow, opened.scope.state).sources
        return {node for node, needed in enumerate(sources) if ended.issuperset(needed)}
    return {*started_at_once(opened), *(each for index in freed for each in started_after(opened, index))}


def failed_with(checkpoint: Checkpoint) -> Failure | None:
    """Return the failure of `checkpoint`, also a caught or retried one; None after success."""
    match checkpoint.outcome:
        case (Failure() as failure) | Collected(Failure() as failure):
            return failure
    return checkpoint.continuation.caught


def is_success(checkpoint: Checkpoint) -> bool:
    """Return True if `checkpoint` proves success of its state."""
    # A collected input proves nothing of the state that it entered; a collected output does.
    is_left = checkpoint.phase is Phase.LEFT or not isinstance(checkpoint.outcome, Collected)
    return is_left and failed_with(checkpoint) is None


class Timeline:
    """Commits of one execution, by name and by branch.

    Each commit names the definition that wrote it. A redrive may have moved the execution to another one, and a fork
    may have copied commits of several.

    Attributes:
        workflow: last version of the execution.
        committed: start record and steps, by name, without stop records.
        top_level: start record, steps of the top level and stop records, in order.
    """

    def __init__(self, workflow: Workflow, checkpoints: Iterable[Checkpoint], earlier: Iterable[Workflow] = ()) -> None:
        """Index `checkpoints`: steps, stop records and, if a client wrote one, the start record; in any order.

        Args:
            workflow: last version of the execution.
            checkpoints: the commits.
            earlier: other versions that it has run on.

        Raises:
            ClientError: the execution has run on a version that is not given.
        """
        self.workflow = workflow
        self.committed: dict[Name, Checkpoint] = {}
        self._versions = {each.digest: each for each in (*earlier, workflow)}
        self._sequences: dict[Frames, list[Checkpoint]] = {}
        stops = []
        for checkpoint in map(self._as_it_was, checkpoints):
            if checkpoint.is_stop:
                stops.append(checkpoint)  # in the place of a step: no state came to it
                continue
            self._check_version(checkpoint)
            self.committed[checkpoint.name] = checkpoint
            self._sequences.setdefault(checkpoint.name.frames, []).append(checkpoint)
        for sequence in self._sequences.values():
            sequence.sort(key=_step)
        self.top_level: Sequence[Checkpoint] = sorted([*self._sequences.get((), ()), *stops], key=_step)

    @property
    def versions(self) -> Sequence[Workflow]:
        """Versions that the execution has run on; the last is `workflow`."""
        return [*self._versions.values()]

    def version_of(self, checkpoint: Checkpoint) -> Workflow:
        """Return the version that wrote `checkpoint`, and by which its continuation was planned."""
        if is_start(checkpoint.name):  # a client wrote it, and knew no version: the first step does
            first = self.after(checkpoint.name)
            return self.workflow if first is None else self.version_of(first)
        return self._versions[checkpoint.digest]

    def way_to(self, redriven: Checkpoint) -> Following | None:
        """Return effect and visits that led to `redriven`, the step of a redrive on another definition than before.

        Returns:
            None if the redrive entered the failed state again at once, by whichever definition.
        """
        position, version = self.top_level.index(redriven), self.version_of(redriven)
        ended, before = self.top_level[position - 1], self.top_level[position - 2]
        if ended.is_stop or self.version_of(ended) is not version:
            # By a definition that mends a failure without user code, the last step is kept, else the one before it.
            for kept in (ended, before):
                led = self._planned_anew(version, kept)
                if led is not None and entered_state(led.effect) == redriven.state:
                    return led
        return None

    def _planned_anew(self, version: Workflow, kept: Checkpoint) -> Following | None:
        is_known = kept.state in version.states or is_start(kept.name)
        if not is_known or isinstance(kept.outcome, Collected) or self.version_of(kept) is version:
            return None
        return following(version, kept)

    @property
    def start(self) -> Checkpoint:
        """Start record of the execution."""
        return self.top_level[0]

    @property
    def end(self) -> Checkpoint | None:
        """Commit that ended the execution; None while it runs, also after a redrive."""
        last = self.top_level[-1] if self.top_level else None
        # The last copy of an unfinished fork may be of an end of the original.
        return last if last is not None and last.ending is not None and not last.past else None

    @property
    def latest_ms(self) -> int:
        """Time of the latest commit, in milliseconds since 1970."""
        return max(checkpoint.committed_ms for checkpoint in self.committed.values())

    def outcome_of(self, scope: Scope) -> Checkpoint | None:
        """Return the fan-out's own commit; None if a joining Task commits instead."""
        checkpoint = self.committed.get(scope.join)
        return checkpoint if checkpoint is not None and checkpoint.state == scope.state else None

    def after(self, name: Name) -> Checkpoint | None:
        """Return the first commit after `name` in its branch or top level."""
        sequence = self._sequences.get(name.frames, [])
        position = bisect_right(sequence, name.step, key=_step)
        return sequence[position] if position < len(sequence) else None

    def branch_begin(self, opened: OpenScope, index: int) -> Following | None:
        """Return first effect and visits of branch `index`; None while it waits for results, or if these are gone."""
        visits: Visits = []
        effect = begin_effect(opened, index, lambda source: self.last(opened.scope.branch(source)), visits)
        return None if effect is None else Following(effect, visits, reenters=False)

    def joined(self, effect: Effect) -> Effect | None:
        """Return `effect`; in place of an arrival the event of a Task with `after_previous`, None while it waits."""
        task = self.workflow.task
        if not isinstance(effect, JoinNeighbour) or (awaited := task(effect.invoke.state).after_previous) is None:
            return effect
        from unum_runtime.features.waves.previous_results import begin_joined, result_of  # noqa: PLC0415 - few workflows

        *around, own = effect.invoke.name.frames
        found = result_of(self._sequences.get((*around, replace(own, index=own.index - 1)), ()), awaited)
        return None if found is None else begin_joined(effect, found)

    def last(self, frames: Frames) -> Checkpoint | None:
        """Return the last commit of a branch, inner scopes excluded; None without commits."""
        sequence = self._sequences.get(frames)
        return sequence[-1] if sequence else None

    def _as_it_was(self, checkpoint: Checkpoint) -> Checkpoint:
        """Return the copy `checkpoint` with what was true of the original, if the original's version is known."""
        digest = past_digest(checkpoint)
        return as_it_was(checkpoint) if not digest or digest in self._versions else checkpoint

    def _check_version(self, checkpoint: Checkpoint) -> None:
        if not is_start(checkpoint.name) and checkpoint.digest not in self._versions:
            raise ClientError(
                f"{checkpoint.name}: ran on version {checkpoint.digest} of workflow {self.workflow.name!r}, "
                f"but this is version {self.workflow.digest}; give the definition that was deployed then"
            )


def _step(checkpoint: Checkpoint) -> int:
    return checkpoint.name.step
