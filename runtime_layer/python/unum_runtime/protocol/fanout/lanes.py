"""A fan-out as it was opened, read again for the branches that begin later: those of a part, and the next in a lane.

A lane is the branches of a Map that begin one when another has ended, because MaxConcurrency lets only so many run at
once.
"""

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import InconsistentHistory, RefusedDelivery, StoreError
from unum_runtime.model.checkpoint import Checkpoint, Item, is_stop_record
from unum_runtime.model.ir import Guard, Map, Task
from unum_runtime.model.naming import Name, Scope, checkpoint_key, join_keys
from unum_runtime.protocol.fanout.lookup import look
from unum_runtime.protocol.planning.plan import Commit, Invoke, OpenScope, branch, plan, started_after
from unum_runtime.protocol.runtime import Runtime

LOOK_LASTS_MS = 1_000
"""How old a delivery's look at the fan-outs around it may be where nothing guards the branch that begins."""


class Lanes:
    """The fan-outs, one inside the other, of which a delivery goes on from branch to branch.

    Attributes:
        looked_ms: when the delivery last asked whether they are settled, in milliseconds since 1970.
    """

    looked_ms: int = 0

    def __init__(self) -> None:
        self._opened: dict[Scope, OpenScope] = {}

    def opened(self, scope: Scope) -> OpenScope | None:
        """How `scope` was opened; None where that was not read yet."""
        return self._opened.get(scope)

    def keep(self, opened: OpenScope) -> None:
        """Know `opened`, and of others those around it: a delivery may come through any number of them."""
        depth = len(opened.scope.frames)
        self._opened = {scope: other for scope, other in self._opened.items() if len(scope.frames) < depth}
        self._opened[opened.scope] = opened


def origin(rt: Runtime, scope: Scope) -> OpenScope:
    """The fan-out as its originator committed it.

    Raises:
        StoreError: the originator's checkpoint is not there.
        InconsistentHistory: it says something else than the frames.
    """
    key = checkpoint_key(rt.workflow.name, scope.origin)
    return _opened(rt, scope, rt.store.read([key]).get(key))


def siblings(rt: Runtime, first: Name, stop: int) -> OpenScope:
    """The part from branch `first` up to `stop` of a fan-out that was opened.

    It begins even if the fan-out is settled meanwhile: by this event's last delivery, perhaps, in a branch without a
    Task, which then died before it went on from that.

    Raises:
        RefusedDelivery: the execution was stopped.
        StoreError: the originator's checkpoint is not there.
    """
    scope, index = Scope.around(first.execution, first.frames), first.frames[-1].index
    item, settled = _origin_and_around(rt, scope, index)
    if any(map(is_stop_record, settled)):
        raise RefusedDelivery(f"{first}: the execution was stopped")
    return replace(_opened(rt, scope, item), part=range(index, stop))


def next_in_lane(rt: Runtime, scope: Scope, index: int, lanes: Lanes | None) -> list[Invoke | Commit]:
    """The branch that begins when branch `index` has ended, where only so many run at once.

    None does where this fan-out or one around it is settled, or the execution was stopped; the same request asks that.
    But one that has begun goes on: it may be what settled the fan-out, in a delivery that went on with it and died.
    Nobody asks again so soon where the guard of the branch's Task says that nobody asks whether it was done.

    Args:
        rt: the runtime.
        scope: the fan-out.
        index: the branch.
        lanes: of the delivery, if it may go on; told how the fan-out was opened. Where they know that, the request asks
            for the next branch's outcome.
    """
    fan_out = rt.workflow.fan_out(scope.state)
    if not isinstance(fan_out, Map) or not fan_out.has_limit:
        return []
    lanes = lanes or Lanes()
    now_ms, opened = rt.clock.now_ms(), lanes.opened(scope)
    if opened is None:
        lanes.looked_ms = now_ms
        return _first_in_lane(rt, scope, index, lanes)
    following = _following(opened, index)
    if now_ms - lanes.looked_ms < LOOK_LASTS_MS and all(_is_unguarded(rt, begins) for begins in following):
        return following
    lanes.looked_ms = now_ms
    return [each for begins in following for each in _as_needed(rt, begins)]


def _first_in_lane(rt: Runtime, scope: Scope, index: int, lanes: Lanes) -> list[Invoke | Commit]:
    item, settled = _origin_and_around(rt, scope, index)
    if any(map(is_stop_record, settled)):
        return []
    opened = _opened(rt, scope, item)
    lanes.keep(opened)
    following = _following(opened, index)
    return [each for begins in following for each in _as_needed(rt, begins)] if settled else following


def _following(opened: OpenScope, index: int) -> list[Invoke | Commit]:
    return [branch(opened, following) for following in started_after(opened, index)]


def _is_unguarded(rt: Runtime, begins: Invoke | Commit) -> bool:
    task = rt.workflow.states[begins.state]
    return isinstance(begins, Invoke) and isinstance(task, Task) and task.guard is Guard.COMMIT


def _as_needed(rt: Runtime, begins: Invoke | Commit) -> list[Invoke | Commit]:
    """`begins`, if its branch has to begin or has begun, with what is seen of that."""
    found, settled = look(rt, begins.name, begins.state)
    if any(map(is_stop_record, settled)) or (settled and found is None):
        return []
    return [replace(begins, is_new=True) if isinstance(begins, Invoke) and found is None else begins]


def _opened(rt: Runtime, scope: Scope, item: Item | None) -> OpenScope:
    if item is None:
        raise StoreError(f"{scope.origin}: the checkpoint that opened {scope.state!r} is missing; has it expired?")
    opened = plan(rt.workflow, Checkpoint.from_item(scope.origin, item))
    if not isinstance(opened, OpenScope) or opened.scope != scope:
        raise InconsistentHistory(f"{scope.origin}: expected that it opens {scope}, found {opened}")
    return opened


def _origin_and_around(rt: Runtime, scope: Scope, index: int) -> tuple[Item | None, list[Item]]:
    """What opened the scope, and what it and those around branch `index` came to, if they are settled."""
    own = checkpoint_key(rt.workflow.name, scope.origin)
    around = join_keys(rt.workflow.name, Name(scope.execution, scope.branch(index), step=0))
    items = rt.store.read([own, *around])
    return items.get(own), [items[key] for key in around if key in items]
