"""Search for running executions that need what a deployment removes, of all definitions.

It reads what a sweep reads: the executions that ran at the last sweep, and those that have started or were redriven
since. What it cannot know counts as needed.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TypeAlias

from unum_runtime.cold_start.records import NamedTuple, dataclass, field, replace
from unum_runtime.errors import ClientError, InconsistentHistory
from unum_runtime.model.checkpoint import Began, Item, began_from_item
from unum_runtime.model.delays import delays_events, longest_delay_s
from unum_runtime.model.ir import Workflow
from unum_runtime.model.list_index import Kind, execution_at
from unum_runtime.model.naming import execution_partition
from unum_runtime.model.states import ACTIVITY as ACTIVITY_RESOURCE
from unum_runtime.model.states import Choice, Map, Parallel, State, Task, Work
from unum_runtime.protocol.control.sweep_memory import recall
from unum_runtime.protocol.history.list_entries import Listed
from unum_runtime.protocol.history.start_records import end_of
from unum_runtime.protocol.requests.definition_records import read_definition
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.base import Index

# Parts of a deployment that an execution can still need, from the state that it committed last.
#
# Everything that the definition allows counts, whatever the data are. The state itself counts as well: its delivery may
# still send what follows, and a retry may lead back to it.


class Needs(NamedTuple):
    """Future needs of an execution.

    Attributes:
        functions: keys of functions.
        activities: names of activities.
        delay_s: longest delay of an event in seconds; None if no event has to wait.
    """

    functions: frozenset[str]
    activities: frozenset[str]
    delay_s: float | None


def needs_from(workflow: Workflow, state: str) -> Needs:
    """Return what executions need that have committed `state` of the top level last.

    A `state` that the definition lacks counts as the first one.
    """
    ahead = [*_reachable(workflow, state if state in workflow.states else workflow.start_at)]
    tasks = [each for each in ahead if isinstance(each, Task)]
    called = [task.resource or "" for task in tasks]
    delays = [longest_delay_s(workflow, each) for each in ahead if delays_events(workflow, each)]
    return Needs(
        frozenset(task.function for task in tasks),
        frozenset(each.removeprefix(ACTIVITY_RESOURCE) for each in called if each.startswith(ACTIVITY_RESOURCE)),
        max(delays, default=None),
    )


def _reachable(workflow: Workflow, start: str) -> Iterator[State]:
    """Yield `start` and all states that control can reach from it."""
    seen, ahead = {start}, [start]
    while ahead:
        state = workflow.states[ahead.pop()]
        yield state
        new = {*_following(state)} - seen
        seen |= new
        ahead += new


def _following(state: State) -> Iterator[str]:
    """Yield the states that may follow `state`, those in its branches included."""
    if state.next is not None:
        yield state.next
    if isinstance(state, Work):
        yield from (catcher.next for catcher in state.catch)
    match state:
        case Choice():
            yield from (target for _, target in state.rules)
            if state.default is not None:
                yield state.default
        case Parallel():
            yield from state.branches
        case Map():
            yield state.start


RESERVE_MS = 30_000
"""Time left in a delivery below which the search ends: CloudFormation must get an answer in any case."""

AT_ONCE = 64
"""Executions that are read between two looks at the clock."""

SHOWN = 3
"""Names in the result."""


FUNCTION, ACTIVITY, TIMER, SCHEDULES = "function ", "activity ", "timer", "schedules"
"""Names of parts; keys of functions and names of activities follow the first two."""

PARTS = "Parts"
"""Property of the custom resource: the places of a deployment's parts by name."""

WORKFLOWS = "Workflows"
"""Property of the custom resource of a shared control function, in place of `PARTS`: the parts by workflow name."""


class Removed(NamedTuple):
    """What a deployment removes.

    Attributes:
        functions: keys of functions, by ARN without a qualifier.
        activities: names of activities.
        timer: True for the timer queue.
        schedules: delay in seconds above which events need the schedule group; None if it stays.
    """

    functions: Mapping[str, str]
    activities: frozenset[str] = frozenset()
    timer: bool = False
    schedules: float | None = None

    def needed(self, needs: Needs | None, arns: Mapping[str, str]) -> frozenset[str]:
        """Return names of the removed parts that an execution needs.

        Args:
            needs: what its definition needs; None for everything.
            arns: ARNs of the functions of its version, by key. A function that is not among them counts by its key.
        """
        if needs is None:
            return self.names
        keys = {self.functions.get(arns[key]) if key in arns else key for key in needs.functions}
        functions = {place: key for place, key in self.functions.items() if key in keys}
        delay_s = -1 if needs.delay_s is None else needs.delay_s
        schedules = self.schedules if self.schedules is not None and delay_s > self.schedules else None
        return Removed(functions, self.activities & needs.activities, self.timer and delay_s >= 0, schedules).names

    @property
    def names(self) -> frozenset[str]:
        """Names of all removed parts."""
        shared = {TIMER: self.timer, SCHEDULES: self.schedules is not None}
        return frozenset(
            (
                *(f"{FUNCTION}{key}" for key in self.functions.values()),
                *(f"{ACTIVITY}{name}" for name in self.activities),
                *(name for name, is_removed in shared.items() if is_removed),
            )
        )


def removed_parts(old: Mapping[str, str], new: Mapping[str, str], *, schedules_s: float) -> Removed:
    """Return parts of `old` without a place in `new`.

    Args:
        old: places of a deployment's parts by name.
        new: those of the next deployment.
        schedules_s: delay in seconds above which events are kept in schedules.
    """
    kept = {*new.values()}
    gone = {name: place for name, place in old.items() if place not in kept}
    return Removed(
        functions={place: name.removeprefix(FUNCTION) for name, place in gone.items() if name.startswith(FUNCTION)},
        activities=frozenset(name.removeprefix(ACTIVITY) for name in gone if name.startswith(ACTIVITY)),
        timer=TIMER in gone,
        schedules=schedules_s if SCHEDULES in gone else None,
    )


class Version(NamedTuple):
    """Facts about the version of an execution.

    Attributes:
        arns: ARNs of its functions without qualifiers, by key.
        retention_s: lifetime of its items in seconds.
    """

    arns: Mapping[str, str]
    retention_s: int


Versions: TypeAlias = Callable[[Began], Version]
"""A function that returns the facts about a version."""


class Stranded(NamedTuple):
    """Executions that need what is removed.

    Attributes:
        executions: their number.
        names: names of the first.
        parts: removed parts that they need.
        last_s: last moment of the last of them, in seconds since 1970.
        is_complete: False if the time did not suffice for all executions.
    """

    executions: int = 0
    names: tuple[str, ...] = ()
    parts: frozenset[str] = frozenset()
    last_s: int = 0
    is_complete: bool = True

    def plus(self, name: str, parts: frozenset[str], last_s: int) -> "Stranded":
        """Return the result with one more execution."""
        names = (*self.names, name)[:SHOWN]
        return self._replace(
            executions=self.executions + 1, names=names, parts=self.parts | parts, last_s=max(self.last_s, last_s)
        )


def find_stranded(rt: Runtime, index: Index, removed: Removed, versions: Versions) -> Stranded:
    """Return the running executions that need what is `removed`.

    Args:
        rt: a runtime of any version.
        index: the index of the workflow's executions.
        removed: what the deployment removes.
        versions: returns the facts about a version.

    Raises:
        NoIndex: the table has no index for lists.
        StoreError: something could not be read.
        InvokeError: Lambda did not answer.
    """
    search = _Search(rt, index, removed, versions)
    places, found = _places(rt, index), Stranded()
    while batch := [*islice(places, AT_ONCE)]:
        if rt.remaining_ms() < RESERVE_MS:
            return found._replace(is_complete=False)
        for place, (parts, last_s) in zip(batch, rt.concurrently(search.look_at, batch), strict=True):
            if parts:
                found = found.plus(execution_at(place).name, parts, last_s)
    return found


def _places(rt: Runtime, index: Index) -> Iterator[str]:
    """Yield the places of all executions that may run."""
    known, listed = recall(rt), Listed(index, rt.workflow.name)
    yield from sorted({*known.running, *listed.oldest(Kind.REDRIVEN, newest=known.horizon)})
    yield from listed.oldest(Kind.STARTED, later_than=known.horizon)


@dataclass(frozen=True)
class _Search:
    """Search with what it has read; threads may read the same twice."""

    rt: Runtime
    index: Index
    removed: Removed
    versions: Versions
    definitions: dict[str, Workflow | None] = field(default_factory=dict)
    known: dict[str, Version] = field(default_factory=dict)

    def look_at(self, place: str) -> tuple[frozenset[str], int]:
        """Return the removed parts that the execution at `place` needs, and its last moment."""
        execution, name = execution_at(place), self.rt.workflow.name
        if end_of(self.index, name, execution) is not None:
            return frozenset(), 0
        steps = [*self.index.query(execution_partition(name, execution)).values()]
        began = next((each for each in map(began_from_item, reversed(steps)) if each is not None), None)
        version = Version({}, self.rt.retention_s) if began is None else self._version(began)
        last_s = replace(self.rt, retention_s=version.retention_s).last_s(execution)
        if last_s < self.rt.clock.now_ms() // 1000:  # no event of it is delivered any more
            return frozenset(), last_s
        # Before its first step, an execution may need everything.
        needs = self._needs(steps[-1]) if steps else None
        return self.removed.needed(needs, version.arns), last_s

    def _needs(self, step: Item) -> Needs | None:
        digest = str(step["ir"])
        if digest not in self.definitions:
            self.definitions[digest] = self._definition(digest)
        definition = self.definitions[digest]
        return None if definition is None else needs_from(definition, str(step["state"]))

    def _definition(self, digest: str) -> Workflow | None:
        """Load the definition with `digest`; None if unknown."""
        try:
            return read_definition(self.rt.store, self.rt.workflow.name, digest)
        except (ClientError, InconsistentHistory):  # not stored, of a later release, or forged
            return None

    def _version(self, began: Began) -> Version:
        if began.address not in self.known:
            self.known[began.address] = self.versions(began)
        return self.known[began.address]
