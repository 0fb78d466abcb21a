"""Walk through a scope in parts; a later delivery resumes the walk from a stored cursor.

A part is one shard of a scope. After a part come the scopes inside its branches, then the next part. So a walk needs
the memory of one part for each fan-out around, whatever the width.

A cursor names the first part that is not done, and is created after all parts before it. A delivery that dies therefore
repeats at most the parts behind the last cursor: one wide part, or up to `MOST_PARTS` narrow ones. Each purpose has
cursors of its own, because parts done for one purpose are not done for another.

Cursors expire soon: a nudge must not resume one of yesterday, whose first parts may have lost their events since.
"""

from collections.abc import Iterable, Mapping
from typing import Generic, Protocol, TypeVar

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.errors import TimeIsShort
from unum_runtime.json_text import parse_json, to_text
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.naming import SHARD_SIZE, Execution, Key, Scope, execution_partition
from unum_runtime.protocol.runtime import Runtime

# Keys of the cursors of walks, beside the items of their executions; see `unum_runtime.protocol.control.walk`.

_WALKS = "/walks/"


def is_cursor(key: Key) -> bool:
    """Return True for a cursor, which expires before its execution: without it, a walk only takes longer."""
    return _WALKS in key.partition


def walk_partition(workflow: str, execution: Execution, purpose: str) -> str:
    """Return the partition of the cursors of a walk through an execution's scopes; see `walk`."""
    return f"{execution_partition(workflow, execution)}{_WALKS}{purpose}"


def walk_key(partition: str, begun_ms: int, path: Iterable[int]) -> Key:
    """Return the key of a cursor in `partition`, ordered by the walk's begin, then by progress: the path of its part.

    The path is shard, place in it, shard, ..., shard. An empty path stands for the end of the walk and comes last.
    """
    return Key(partition, f"{begun_ms:015d}.{'.'.join(f'{place:012d}' for place in path) or 'end'}")


RESERVE_MS = 60_000
"""Time left in a delivery below which no further part begins: a part may take seconds."""

CURSOR_LIFE_S = 900
"""Lifetime of a cursor, longer than Lambda takes to repeat a request that died."""

MOST_PARTS = 16
"""Number of parts after which a cursor is stored, or earlier after `SHARD_SIZE` branches. So a cursor costs little
beside the parts, and narrow executions have none."""

_Part = TypeVar("_Part")


class Tally(NamedTuple):
    """Sum over the parts of a scope, without the scopes inside.

    Attributes:
        branches: number of counted branches.
        latest_ms: latest time of a counted branch, in milliseconds since 1970.
    """

    branches: int = 0
    latest_ms: int = 0

    def plus(self, other: "Tally") -> "Tally":
        """Return the sum of both."""
        return Tally(self.branches + other.branches, max(self.latest_ms, other.latest_ms))


class Tree(Protocol[_Part]):
    """Scopes to walk through, and the work in each part."""

    def scope(self, node: _Part) -> Scope:
        """Return the scope of `node`."""
        ...

    def visit(self, node: _Part, shard: int, *, is_done: bool) -> tuple[Tally, Mapping[int, _Part] | None]:
        """Do the work of one part, unless `is_done` says that an earlier delivery did it.

        Returns:
            What the part adds to the tally of its scope; and the scopes inside by their places, ascending, or None
            if the rest of the scope needs no visit. A place is a number that names the same scope in each visit.
        """
        ...

    def leave(self, node: _Part, tally: Tally) -> None:
        """Do what follows the last part of a scope, given the tally of all its parts."""
        ...


class Trip(NamedTuple):
    """Identity of a walk.

    Attributes:
        execution: the execution whose cursors these are.
        purpose: text that tells the walk from all others of the execution; letters, digits and dots.
        is_once: a finished walk is not made again while its cursor exists.
    """

    execution: Execution
    purpose: str
    is_once: bool


def leave_rest_if_short(rt: Runtime) -> None:
    """Raise TimeIsShort if too little time is left for another part."""
    if rt.remaining_ms() < RESERVE_MS:
        raise TimeIsShort("some parts are left to another delivery; the same request again continues them")


def walk(rt: Runtime, tree: Tree[_Part], root: _Part, trip: Trip | None) -> Tally:
    """Visit all parts of `root` and of the scopes inside, from the stored cursor on; return the tally of `root`.

    Args:
        rt: the runtime.
        tree: the scopes and the work.
        root: the outermost scope.
        trip: identity of the walk; None for one that is never resumed.

    Raises:
        TimeIsShort: some parts are left; walk again.
        StoreError: some parts may not be done; walk again.
    """
    return _Walk(rt, tree, trip).run(root)


class _Walk(Generic[_Part]):
    """One delivery's share of a walk.

    Attributes:
        levels: for each scope around the next part: shard, place of the scope inside, and tally. The last is the
            innermost.
    """

    def __init__(self, rt: Runtime, tree: Tree[_Part], trip: Trip | None) -> None:
        self.rt, self.tree, self.trip = rt, tree, trip
        self.levels: list[tuple[int, int, Tally]] = []
        self._stored: list[tuple[int, int, Tally]] = []
        self._finished: Tally | None = None
        self._begun_ms, self._has_cursor = rt.clock.now_ms(), False
        self._visited, self._unsaved = 0, 0
        if trip is not None:
            self._recall(trip)

    def run(self, root: _Part) -> Tally:
        if self._finished is not None:
            return self._finished
        tally = self._scope(root)
        if self.trip is not None and self._has_cursor:
            self._create(
                walk_key(self._partition(self.trip), self._begun_ms, ()), {"levels": to_text([[0, 0, *tally]])}
            )
        return tally

    def _scope(self, node: _Part) -> Tally:
        """Visit the parts of `node` that are left; return the tally of all its parts."""
        first, branch, tally = self._stored.pop(0) if self._stored else (0, 0, Tally())
        depth = len(self.levels)
        for shard in range(first, self.tree.scope(node).shards):
            self.levels[depth:] = [(shard, branch, tally)]
            is_done = bool(self._stored)  # the cursor is in a scope inside, so this part itself was done before
            self._pause()
            found, inside = self.tree.visit(node, shard, is_done=is_done)
            if not is_done:
                tally = tally.plus(found)
                self._note(self.tree.scope(node).shard_size(shard))
            if inside is None:
                return tally
            self._inside(depth, (shard, branch, tally), inside)
            branch = 0
        self.tree.leave(node, tally)
        return tally

    def _inside(self, depth: int, place: tuple[int, int, Tally], inside: Mapping[int, _Part]) -> None:
        """Visit the scopes `inside` the part at `place`, from the branch of the cursor on."""
        shard, branch, tally = place
        for index, node in inside.items():
            if index < branch:
                continue
            if index > branch:
                self._stored.clear()  # the cursor's branch has left its scope since
            self.levels[depth:] = [(shard, index, tally)]
            self._scope(node)
        self._stored.clear()

    def _note(self, branches: int) -> None:
        self._visited += 1
        self._unsaved += max(branches, SHARD_SIZE // MOST_PARTS)

    def _pause(self) -> None:
        """Store a cursor if enough was done since the last one, or if the rest is left to another delivery."""
        is_short = self._visited > 0 and self.rt.remaining_ms() < RESERVE_MS
        if self.trip is not None and (self._unsaved >= SHARD_SIZE or (is_short and self._unsaved)):
            path = [place for shard, branch, _ in self.levels for place in (shard, branch)][:-1]
            levels = to_text([[shard, branch, *tally] for shard, branch, tally in self.levels])
            self._create(walk_key(self._partition(self.trip), self._begun_ms, path), {"levels": levels})
            self._unsaved, self._has_cursor = 0, True
        if is_short:
            leave_rest_if_short(self.rt)

    def _recall(self, trip: Trip) -> None:
        """Read the furthest cursor of the latest walk."""
        for key, item in self.rt.store.query(self._partition(trip), newest=1).items():
            levels = [(shard, branch, Tally(*tally)) for shard, branch, *tally in parse_json(str(item["levels"]))]
            begun_ms = int(item["begun"])
            if key != walk_key(key.partition, begun_ms, ()):
                self._stored, self._begun_ms, self._has_cursor = levels, begun_ms, True
            elif trip.is_once:
                self._finished = levels[0][-1]
            else:  # cursors of the latest walk come last
                self._begun_ms = max(self._begun_ms, begun_ms + 1)

    def _partition(self, trip: Trip) -> str:
        return walk_partition(self.rt.workflow.name, trip.execution, trip.purpose)

    def _create(self, key: Key, item: Item) -> None:
        now_ms = self.rt.clock.now_ms()
        # Two deliveries of one walk may come to the same place, and either cursor serves.
        item = {"at": now_ms, "begun": self._begun_ms, **item}
        self.rt.store.create(key, item, expires_at_s=now_ms // 1000 + CURSOR_LIFE_S)
