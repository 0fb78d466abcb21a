"""Packs: commit a branch's small last outcome and complete the branch in one write.

A delivery must know an outcome's key before the outcome exists. So only a Task after which its branch certainly ends
has a place in a pack. The entry in that place alone decides the branch's outcome, and at the same time says that the
branch has ended. An outcome that is too large for the pack is set aside first, in an item of its own. It counts only if
the entry refers to it, and no delivery continues from an outcome before the entry exists. Branches that end with
another state only mark their place. Every delivery that sees a pack full adds it to the fan-out's completion set.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.errors import InconsistentHistory
from unum_runtime.model.checkpoint import PACKED_VALUES, TOMBSTONE, Checkpoint, Item
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.naming import (
    Key,
    Name,
    Scope,
    aside_key,
    checkpoint_key,
    first_of,
    is_aside,
    join_keys,
    pack_at,
    pack_key,
    pack_of,
)
from unum_runtime.model.pack import ENDS, STATE, entry, marked, packed
from unum_runtime.model.states import Choice, FanOut, Map, Pass, State, Task, Work
from unum_runtime.model.states import Fail as FailState
from unum_runtime.model.states import Succeed as SucceedState
from unum_runtime.protocol.planning.plan import BranchFailed, CompleteBranch, Effect, plan
from unum_runtime.protocol.runtime import Runtime

Found: TypeAlias = tuple[Item | None, list[Item]]
"""An item, None if it is absent; and the outcomes of the scopes around it, or the execution's stop record."""


class Place(NamedTuple):
    """Branch place within a pack.

    Attributes:
        key: key of the pack.
        slot: index of the branch in the pack.
        state: state of entries that name no other.
    """

    key: Key
    slot: int
    state: str


@lru_cache(maxsize=64)
def packed_tasks(workflow: Workflow) -> Mapping[str, tuple[str, ...]]:
    """Return the Tasks whose outcomes have places in packs, by fan-out; fan-outs without such Tasks are omitted."""
    found: dict[str, tuple[str, ...]] = {}
    for task in workflow.tasks if workflow.small_results else ():
        if task.scope is not None and _has_place(workflow, task, task.scope):
            found[task.scope] = (*found.get(task.scope, ()), task.name)
    return found


def is_packed(workflow: Workflow, fan_out: str) -> bool:
    """Return True if the branches of `fan_out` have places in packs."""
    return fan_out in packed_tasks(workflow)


def place_of(workflow: Workflow, state: str, name: Name) -> Place | None:
    """Return invocation `name`'s place in a pack; None for a Task without places."""
    task = workflow.states.get(state)
    if task is None or task.scope is None or state not in packed_tasks(workflow).get(task.scope, ()):
        return None
    return _place(workflow, Scope.around(name.execution, name.frames), name.frames[-1].index)


def commit_packed(rt: Runtime, place: Place, checkpoint: Checkpoint, following: Effect) -> tuple[Item | None, Item]:
    """Fill an empty `place` with `checkpoint`, whose effect is `following`.

    Returns:
        None if this call filled the place, else the outcome that is committed; and the pack right after that.

    Raises:
        ExecutionDeleted: the execution was deleted.
        OutcomeCollected: the outcome set aside earlier was collected, because all that follows from it is committed.
        InconsistentHistory: the branch has ended with another invocation.
        StoreError: the place may be filled or not.
    """
    counts, winner = _counts_as_completed(rt, following), None
    item = packed(checkpoint, place.slot, place.state) if counts else None
    if item is None:
        winner = _set_aside(rt, checkpoint)
        # Another delivery was first: the entry refers to its outcome, so it must count as that outcome does.
        if winner is not None:
            _refuse_deleted(checkpoint.name, winner)
            checkpoint = Checkpoint.from_item(checkpoint.name, winner)
            counts = _counts_as_completed(rt, plan(rt.workflow, checkpoint))
        item = marked(place.slot, counts=counts, aside=checkpoint.name)
    is_filled, pack = _fill(rt, place, item)
    if is_filled:
        return winner, pack
    found = find_packed(rt, place, checkpoint.name, pack)
    if found is None:
        raise InconsistentHistory(f"{checkpoint.name}: expected an outcome in {place.key}, found {pack}")
    # The entry has its own value, so no entry will ever refer to the outcome that this delivery set aside.
    if rt.collection is Collection.EAGER and PACKED_VALUES[place.slot] in pack:
        rt.store.collect([aside_key(checkpoint_key(rt.workflow.name, checkpoint.name))])
    return found, pack


def find_packed(rt: Runtime, place: Place, name: Name, pack: Item | None) -> Item | None:
    """Return invocation `name`'s outcome in `place` of `pack`; None for an empty place.

    Raises:
        InconsistentHistory: the branch has ended with another invocation.
    """
    if pack is None or ENDS[place.slot] not in pack:
        return None
    _refuse_deleted(name, pack)
    own, found = checkpoint_key(rt.workflow.name, name), entry(place.key, pack, place.slot, name.execution)
    if found is None or found[0] != own:
        end = pack[ENDS[place.slot]]
        raise InconsistentHistory(f"{name}: its branch has ended with another invocation, {end!r} in {place.key}")
    _, item = found
    return item or rt.store.read([aside_key(own)]).get(aside_key(own))


def _refuse_deleted(name: Name, item: Item) -> None:
    """Raise ExecutionDeleted if `item` is the mark of a deletion."""
    if "error" in item:  # few outcomes are failures, and no pack has any
        from unum_runtime.protocol.planning.existing_start import refuse_deleted  # noqa: PLC0415 - the same

        refuse_deleted(name, item)


def mark_completed(rt: Runtime, scope: Scope, index: int) -> Item:
    """Mark branch `index` completed unless its place is filled; return the resulting pack."""
    place = _place(rt.workflow, scope, index)
    return _fill(rt, place, marked(place.slot, counts=True))[1]


def own_keys(rt: Runtime, checkpoint: Checkpoint) -> list[Key]:
    """Return possible keys of a stored `checkpoint`."""
    own = checkpoint_key(rt.workflow.name, checkpoint.name)
    place = place_of(rt.workflow, checkpoint.state, checkpoint.name)
    if place is None:
        return [own]
    is_inside = packed(checkpoint, place.slot, place.state) is not None
    return [place.key] if is_inside else [place.key, aside_key(own)]


def uncollected(items: Mapping[Key, Item]) -> list[Key]:
    """Return keys of uncollected packs and outcomes set aside among a shard's `items`."""
    return [key for key, item in items.items() if TOMBSTONE not in item and (is_aside(key) or pack_at(key))]


def _place(workflow: Workflow, scope: Scope, index: int) -> Place:
    pack = pack_of(index)
    key = pack_key(workflow.name, scope, pack, workflow.digest)
    return Place(key, index - first_of(pack), packed_tasks(workflow)[scope.state][0])


def _fill(rt: Runtime, place: Place, item: Item) -> tuple[bool, Item]:
    whole = {STATE: place.state, **item}
    return rt.store.extend(place.key, whole, unless=ENDS[place.slot], expires_at_s=rt.expires_at_s())


def _set_aside(rt: Runtime, checkpoint: Checkpoint) -> Item | None:
    """Store `checkpoint` beside the pack if absent; return None, else an earlier outcome."""
    key = aside_key(checkpoint_key(rt.workflow.name, checkpoint.name))
    return rt.store.create(key, checkpoint.to_item(), expires_at_s=rt.expires_at_s())


def _counts_as_completed(rt: Runtime, following: Effect) -> bool:
    """Return True if a branch ending with `following` counts as completed."""
    if isinstance(following, CompleteBranch):
        return True
    assert isinstance(following, BranchFailed)  # noqa: S101 - the only other effect of a branch's last Task
    fan_out = rt.workflow.fan_out(following.frames[-1].state)
    return isinstance(fan_out, Map) and fan_out.tolerates


def _has_place(workflow: Workflow, task: Task, scope: str) -> bool:
    """Return True if every outcome of `task` ends its branch under an unshared invocation name.

    Quorums, regions and the next branch look at single branches, which packs hide. A callback is found by the
    invocation's own key.
    """
    is_alone = workflow.committers(task.name) == {task.name} and not any(
        each.committed_by == task.name for each in workflow.tasks
    )
    is_plain = not task.gives_token and not (task.meets_previous or task.after_previous)
    fan_out = workflow.fan_out(scope)
    is_seen = fan_out.quorum is not None or bool(fan_out.needs) or task.name in workflow.feeds
    return is_alone and is_plain and not is_seen and _ends_after(workflow, task)


def _ends_after(workflow: Workflow, task: Task) -> bool:
    """Return True if no path after `task` needs another commit."""
    seen: set[str] = set()
    ahead = list(_followers(task))
    while ahead:
        name = ahead.pop()
        if name in seen:
            continue
        seen.add(name)
        state = workflow.states[name]
        if not _is_pure(state):
            return False
        ahead += _followers(state)
    return True


def _is_pure(state: State) -> bool:
    return isinstance(state, Pass | Choice | SucceedState | FailState) or (isinstance(state, FanOut) and state.pure)


def _followers(state: State) -> Iterator[str]:
    targets: Iterable[str | None] = (state.next,)
    if isinstance(state, Choice):
        targets = (*(target for _, target in state.rules), state.default)
    elif isinstance(state, Work):
        targets = (state.next, *(catcher.next for catcher in state.catch))
    return (target for target in targets if target is not None)


def read_outcome(rt: Runtime, name: Name, state: str) -> Found:
    """Return invocation `name`'s committed outcome, with outcomes of settled scopes around it.

    Raises:
        InconsistentHistory: the branch has ended with another invocation.
        StoreError: the store could not be read.
    """
    place = place_of(rt.workflow, state, name) if rt.workflow.small_results else None
    if place is None:
        return read_in_scopes(rt, checkpoint_key(rt.workflow.name, name), name)
    pack, settled = read_in_scopes(rt, place.key, name)
    return find_packed(rt, place, name, pack), settled


def read_in_scopes(rt: Runtime, key: Key, name: Name) -> Found:
    """Return the item at `key`, with outcomes of settled scopes around `name`.

    Raises:
        StoreError: the store could not be read.
    """
    around = join_keys(rt.workflow.name, name)
    # Strongly consistent: a delivery that starts after a commit always sees it, so a later duplicate runs no user code.
    items = rt.store.read([key, *around])
    return items.get(key), [items[each] for each in around if each in items]
