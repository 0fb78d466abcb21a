"""Start later branches of an open fan-out: branches of a part, and next branches of lanes.

A lane is a sequence of branches under MaxConcurrency: each begins when the one before it has ended. Both kinds of
branches begin from the fan-out's origin, the checkpoint that opened it, read again from the store.
"""

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import InconsistentHistory, RefusedDelivery, StoreError
from unum_runtime.model.checkpoint import Checkpoint, Item, is_stop_record
from unum_runtime.model.naming import Name, Scope, checkpoint_key
from unum_runtime.model.states import Guard, Task
from unum_runtime.protocol.fanout.packing import Found, read_in_scopes, read_outcome
from unum_runtime.protocol.planning.plan import Commit, Invoke, OpenScope, branch, plan, started_after
from unum_runtime.protocol.runtime import Runtime

CHECK_LASTS_MS = 1_000
"""Age limit of a delivery's last check of the scopes around it, for starting a branch whose Task has no guard."""


class Lanes:
    """Open nested fan-outs; one delivery runs their branches in sequence.

    Attributes:
        checked_ms: time of the last check whether the scopes around are settled, in milliseconds since 1970.
    """

    checked_ms: int = 0

    def __init__(self) -> None:
        self._opened: dict[Scope, OpenScope] = {}

    def opened(self, scope: Scope) -> OpenScope | None:
        """Return the opened fan-out of `scope`; None before its origin was read."""
        return self._opened.get(scope)

    def keep(self, opened: OpenScope) -> None:
        """Keep `opened`; drop fan-outs outside its enclosing scopes."""
        # A long delivery may pass any number of inner fan-outs, each with all its inputs: keep one per depth.
        depth = len(opened.scope.frames)
        self._opened = {scope: other for scope, other in self._opened.items() if len(scope.frames) < depth}
        self._opened[opened.scope] = opened


def read_origin(rt: Runtime, scope: Scope) -> OpenScope:
    """Return a fan-out as committed by its origin.

    Raises:
        StoreError: the origin's checkpoint is missing.
        InconsistentHistory: the checkpoint contradicts the branch's frames.
    """
    key = checkpoint_key(rt.workflow.name, scope.origin)
    return _parse_origin(rt, scope, rt.store.read([key]).get(key))


def read_part(rt: Runtime, first: Name, stop: int) -> OpenScope:
    """Return branch `first`'s fan-out, reduced to branches `first` up to `stop`.

    Raises:
        RefusedDelivery: the execution was stopped.
        StoreError: the origin's checkpoint is missing.
    """
    scope, index = Scope.around(first.execution, first.frames), first.frames[-1].index
    item, settled = _read_origin_in_scopes(rt, scope, index)
    # Only a stop refuses the part. A settled scope does not: an earlier delivery of this same event may have settled it
    # in a branch without a Task, and died before it continued from that.
    if any(map(is_stop_record, settled)):
        raise RefusedDelivery(f"{first}: the execution was stopped")
    return replace(_parse_origin(rt, scope, item), part=range(index, stop))


def next_in_lane(rt: Runtime, scope: Scope, index: int, lanes: Lanes) -> list[Invoke | Commit]:
    """Return the next branch's start after branch `index` under MaxConcurrency, or an empty list.

    The list is also empty if the execution was stopped, or if a scope around is settled and the branch has no outcome.
    A branch with an outcome continues even then: it may itself have settled the scope, in a delivery that died.

    Args:
        rt: the runtime.
        scope: the fan-out, a Map with MaxConcurrency.
        index: the branch that has ended.
        lanes: the delivery's open fan-outs; keeps this one.
    """
    now_ms, opened = rt.clock.now_ms(), lanes.opened(scope)
    if opened is None:
        lanes.checked_ms = now_ms
        return _first_in_lane(rt, scope, index, lanes)
    following = _following(opened, index)
    is_recent = now_ms - lanes.checked_ms < CHECK_LASTS_MS
    # Without a guard a duplicate may run user code anyway, so a check this recent may stand for another read. At the
    # end of a lane nothing is checked.
    if not following or (is_recent and all(_is_unguarded(rt, begins) for begins in following)):
        return following
    lanes.checked_ms = now_ms
    return [each for begins in following for each in _unless_settled(rt, begins)]


def _first_in_lane(rt: Runtime, scope: Scope, index: int, lanes: Lanes) -> list[Invoke | Commit]:
    item, settled = _read_origin_in_scopes(rt, scope, index)
    if any(map(is_stop_record, settled)):
        return []
    opened = _parse_origin(rt, scope, item)
    lanes.keep(opened)
    following = _following(opened, index)
    return [each for begins in following for each in _unless_settled(rt, begins)] if settled else following


def _following(opened: OpenScope, index: int) -> list[Invoke | Commit]:
    return [branch(opened, following) for following in started_after(opened, index)]


def _is_unguarded(rt: Runtime, begins: Invoke | Commit) -> bool:
    task = rt.workflow.states[begins.state]
    return isinstance(begins, Invoke) and isinstance(task, Task) and task.guard is Guard.COMMIT


def _unless_settled(rt: Runtime, begins: Invoke | Commit) -> list[Invoke | Commit]:
    """Return `begins`, marked new without outcome; nothing if a surrounding scope settled without it."""
    found, settled = read_outcome(rt, begins.name, begins.state)
    if any(map(is_stop_record, settled)) or (settled and found is None):
        return []
    return [replace(begins, is_new=True) if isinstance(begins, Invoke) and found is None else begins]


def _parse_origin(rt: Runtime, scope: Scope, item: Item | None) -> OpenScope:
    if item is None:
        raise StoreError(f"{scope.origin}: the checkpoint that opened {scope.state!r} is missing; has it expired?")
    opened = plan(rt.workflow, Checkpoint.from_item(scope.origin, item))
    if not isinstance(opened, OpenScope) or opened.scope != scope:
        raise InconsistentHistory(f"{scope.origin}: expected that it opens {scope}, found {opened}")
    return opened


def _read_origin_in_scopes(rt: Runtime, scope: Scope, index: int) -> Found:
    """Return the origin's item, with outcomes of `scope` and surrounding scopes."""
    name = Name(scope.execution, scope.branch(index), step=0)
    return read_in_scopes(rt, checkpoint_key(rt.workflow.name, scope.origin), name)
