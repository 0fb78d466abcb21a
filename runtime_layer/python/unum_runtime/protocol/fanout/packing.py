"""Results of branches in packs: committed and completed in one write, where they are small and certain to be the last.

Where an outcome is kept must be known before it is. So only those Tasks have a place in a pack behind which their
branch ends in any case. The entry in the pack alone decides what the branch came to, and says at the same time that it
has ended: an outcome for which a pack has no room is set aside first, and is nobody's until an entry says that it
counts. Nothing follows from an outcome before its entry is there. All other branches of the same fan-out mark their
place in a pack when they have ended; whoever sees a pack full adds it to the completion set of the fan-out.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.errors import InconsistentHistory
from unum_runtime.model.checkpoint import PACKED_VALUES, TOMBSTONE, Checkpoint, Item
from unum_runtime.model.ir import Choice, Collection, FanOut, Map, Pass, Pattern, State, Task, Work, Workflow
from unum_runtime.model.ir import Fail as FailState
from unum_runtime.model.ir import Succeed as SucceedState
from unum_runtime.model.naming import (
    Key,
    Name,
    Scope,
    aside_key,
    checkpoint_key,
    first_of,
    is_aside,
    pack_at,
    pack_key,
    pack_of,
)
from unum_runtime.model.pack import ENDS, STATE, entry, marked, packed
from unum_runtime.protocol.planning.plan import BranchFailed, CompleteBranch, Effect, plan
from unum_runtime.protocol.runtime import Runtime


class Place(NamedTuple):
    """Where a branch is in a pack.

    Attributes:
        key: of the pack.
        slot: the branch's place in it.
        state: that the pack names.
    """

    key: Key
    slot: int
    state: str


@lru_cache(maxsize=64)
def packed_tasks(workflow: Workflow) -> Mapping[str, tuple[str, ...]]:
    """By fan-out, the Tasks whose outcomes have places in packs; fan-outs without any are not there."""
    found: dict[str, tuple[str, ...]] = {}
    for task in workflow.tasks if workflow.small_results else ():
        if task.scope is not None and _has_place(workflow, task, task.scope):
            found[task.scope] = (*found.get(task.scope, ()), task.name)
    return found


def is_packed(workflow: Workflow, fan_out: str) -> bool:
    """Whether the branches of `fan_out` have places in packs."""
    return fan_out in packed_tasks(workflow)


def place_of(workflow: Workflow, state: str, name: Name) -> Place | None:
    """Where the outcome of an invocation of `state` is, if that is in a pack."""
    task = workflow.states.get(state)
    if task is None or task.scope is None or state not in packed_tasks(workflow).get(task.scope, ()):
        return None
    return _place(workflow, Scope.around(name.execution, name.frames), name.frames[-1].index)


def commit_packed(rt: Runtime, place: Place, checkpoint: Checkpoint, following: Effect) -> tuple[Item | None, Item]:
    """Fill `place` with `checkpoint`, which `following` follows, if it is empty.

    Returns:
        None where that was done, else the outcome that is committed; and the pack.

    Raises:
        OutcomeCollected: what was set aside before is collected, because all that follows is committed.
        InconsistentHistory: the branch has ended otherwise.
        StoreError: it is not known whether it was done.
    """
    counts, winner = _counts(rt, following), None
    item = packed(checkpoint, place.slot, place.state) if counts else None
    if item is None:
        winner = _set_aside(rt, checkpoint)
        if winner is not None:
            checkpoint = Checkpoint.from_item(checkpoint.name, winner)
            counts = _counts(rt, plan(rt.workflow, checkpoint))
        item = marked(place.slot, counts=counts, aside=checkpoint.name)
    is_filled, pack = _fill(rt, place, item)
    if is_filled:
        return winner, pack
    found = find_packed(rt, place, checkpoint.name, pack)
    if found is None:
        raise InconsistentHistory(f"{checkpoint.name}: expected an outcome in {place.key}, found {pack}")
    if rt.collection is Collection.EAGER and PACKED_VALUES[place.slot] in pack:  # nobody will look at what lies aside
        rt.store.collect([aside_key(checkpoint_key(rt.workflow.name, checkpoint.name))])
    return found, pack


def find_packed(rt: Runtime, place: Place, name: Name, pack: Item | None) -> Item | None:
    """The outcome of `name` that `pack` has in `place`.

    Raises:
        InconsistentHistory: the branch has ended otherwise.
    """
    if pack is None or ENDS[place.slot] not in pack:
        return None
    own, found = checkpoint_key(rt.workflow.name, name), entry(place.key, pack, place.slot, name.execution)
    if found is None or found[0] != own:
        raise InconsistentHistory(f"{name}: its branch has ended otherwise, {pack[ENDS[place.slot]]!r} in {place.key}")
    _, item = found
    return item or rt.store.read([aside_key(own)]).get(aside_key(own))


def marked_pack(rt: Runtime, scope: Scope, index: int) -> Item:
    """The pack of branch `index`, which has ended and counts as completed, with a mark in its place."""
    place = _place(rt.workflow, scope, index)
    return _fill(rt, place, marked(place.slot, counts=True))[1]


def own_keys(rt: Runtime, checkpoint: Checkpoint) -> list[Key]:
    """Where a delivery has stored `checkpoint`."""
    own = checkpoint_key(rt.workflow.name, checkpoint.name)
    place = place_of(rt.workflow, checkpoint.state, checkpoint.name)
    if place is None:
        return [own]
    is_inside = packed(checkpoint, place.slot, place.state) is not None
    return [place.key] if is_inside else [place.key, aside_key(own)]


def uncollected(items: Mapping[Key, Item]) -> list[Key]:
    """The packs, and what was set aside, among all items of a shard's partition, unless they are collected."""
    return [key for key, item in items.items() if TOMBSTONE not in item and (is_aside(key) or pack_at(key))]


def _place(workflow: Workflow, scope: Scope, index: int) -> Place:
    pack = pack_of(index)
    key = pack_key(workflow.name, scope, pack, workflow.digest)
    return Place(key, index - first_of(pack), packed_tasks(workflow)[scope.state][0])


def _fill(rt: Runtime, place: Place, item: Item) -> tuple[bool, Item]:
    whole = {STATE: place.state, **item}
    return rt.store.extend(place.key, whole, unless=ENDS[place.slot], expires_at_s=rt.expires_at_s())


def _set_aside(rt: Runtime, checkpoint: Checkpoint) -> Item | None:
    """None where `checkpoint` was set aside, else what was before."""
    key = aside_key(checkpoint_key(rt.workflow.name, checkpoint.name))
    return rt.store.create(key, checkpoint.to_item(), expires_at_s=rt.expires_at_s())


def _counts(rt: Runtime, following: Effect) -> bool:
    """Whether a branch that `following` ends counts as completed."""
    if isinstance(following, CompleteBranch):
        return True
    assert isinstance(following, BranchFailed)  # noqa: S101 - nothing else follows the last Task of a branch
    fan_out = rt.workflow.fan_out(following.frames[-1].state)
    return isinstance(fan_out, Map) and fan_out.tolerates


def _has_place(workflow: Workflow, task: Task, scope: str) -> bool:
    """Whether `task` is the last of its branch whatever it comes to, and its name is no other's.

    A quorum counts branches one by one. Who waits for a holder's answer is looked for by the invocation's own key.
    """
    is_alone = workflow.committers(task.name) == {task.name} and not any(
        each.committed_by == task.name for each in workflow.tasks
    )
    is_plain = task.pattern is not Pattern.CALLBACK and not task.meets_previous
    return is_alone and is_plain and workflow.fan_out(scope).quorum is None and _ends_after(workflow, task)


def _ends_after(workflow: Workflow, task: Task) -> bool:
    """Whether nothing that has to be committed can follow `task` in its branch."""
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
