"""Nudge: resend the pending events of an execution.

The top level and each branch continue from their last commits, as after a late event. A nudge may therefore come at any
time, come twice, or die: it repeats no committed invocation, and the others are ordinary invocations. Fan-outs are read
and nudged part by part, see `walk`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import NotOurEvent, RefusedDelivery, TimeIsShort
from unum_runtime.model.checkpoint import Checkpoint, ForkOrigin, Phase, Success
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Name, Scope, checkpoint_key
from unum_runtime.protocol.control.forks.forking import finish, unfinished
from unum_runtime.protocol.control.throttles import throttles_of
from unum_runtime.protocol.control.walk import Tally, Trip, walk
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.delivery.join import continue_scope, fail
from unum_runtime.protocol.delivery.perform import perform
from unum_runtime.protocol.delivery.start import execution_routes
from unum_runtime.protocol.fanout.completion import add_completed_again
from unum_runtime.protocol.fanout.neighbours import record_arrival, record_previous
from unum_runtime.protocol.history.pending import (
    Complete,
    EndedBranches,
    Missing,
    Opened,
    Part,
    Resend,
    WaitsFor,
    is_overdue,
    part_of,
    pending_after,
    pending_join,
)
from unum_runtime.protocol.history.timeline import from_start
from unum_runtime.protocol.planning.plan import Commit, Effect, JoinNeighbour
from unum_runtime.protocol.runtime import Runtime

MOST_KEPT = 100
"""Pending commits that are kept; further ones are only counted."""

HELD = frozenset({WaitsFor.ANSWER})
"""Reasons that a nudge leaves alone: only a responder with the task token can continue."""


class Pending(list[Missing]):
    """The first pending commits of an execution, at most `MOST_KEPT`.

    Attributes:
        total: number of all that were found.
        is_done: False if the time did not suffice to look at all branches.
    """

    def __init__(self) -> None:
        """Begin with none."""
        super().__init__()
        self.total, self.is_done = 0, True

    def note(self, found: Iterable[Missing]) -> None:
        """Count the commits `found`, and keep the first ones."""
        for each in found:
            self.total += 1
            if self.total <= MOST_KEPT:
                self.append(each)


def missing(rt: Runtime, execution_name: str, *, silent_ms: int = 0) -> Pending:
    """Return the pending commits of an execution; none after its end. An unfinished fork waits for its first own step.

    Args:
        rt: a runtime of the execution's version.
        execution_name: name of the execution.
        silent_ms: only commits overdue by so many milliseconds; 0 for all.

    Raises:
        ExecutionDoesNotExist: no execution has that name.
        NotOurEvent: the execution runs on another version.
    """
    steps, found = own_steps(rt, execution_name), Pending()
    with _whole(found):
        origin = _unfinished(steps)
        if origin is None:
            _look(rt, _Search(rt, found, silent_ms), steps[-1], None)
        else:
            found.note(_overdue(rt, [_first_own_step(steps[0], origin)], silent_ms))
    return found


def nudge(rt: Runtime, execution_name: str, *, silent_ms: int = 0) -> Pending:
    """Perform the pending effects of an execution and poll its jobs; Tasks that wait for an answer are left alone.

    An unfinished fork is finished first. A nudge that left some parts, or died, is resumed by the next one within
    `CURSOR_LIFE_S`.

    Args:
        rt: a runtime of the execution's version with the addresses of all functions.
        execution_name: name of the execution.
        silent_ms: only commits overdue by so many milliseconds; 0 for all.

    Returns:
        The pending commits that this delivery found, those that wait for an answer included.

    Raises:
        ExecutionDoesNotExist: no execution has that name.
        NotOurEvent: the execution runs on another version.
        ClientError: the execution is a fork that can never be finished.
        UnumError: a service did not answer; nudge again.
    """
    steps, found = own_steps(rt, execution_name), Pending()
    origin = _unfinished(steps)
    if origin is not None:
        first = [_first_own_step(steps[0], origin)]
        if not _overdue(rt, first, silent_ms):
            return found
        _announce(rt, steps[:1])
        with _whole(found):
            finish(rt, steps[0], origin)
        if not found.is_done:
            found.note(first)
            return found
        steps, silent_ms = own_steps(rt, execution_name), 0
    trip = Trip(steps[0].name.execution, f"nudge.{steps[-1].name.step}.{silent_ms}", is_once=False)
    with _whole(found):
        _look(rt, _Search(rt, found, silent_ms, steps), steps[-1], trip)
    return found


def nudge_whole(rt: Runtime, execution_name: str) -> None:
    """Nudge an execution.

    Raises:
        TimeIsShort: some parts are left; nudge again. Otherwise as `nudge`.
    """
    if not nudge(rt, execution_name).is_done:
        raise TimeIsShort("some events are left to another delivery; the same request again continues them")


@contextmanager
def _whole(found: Pending) -> Iterator[None]:
    """Note if the time is too short for the whole."""
    try:
        yield
    except TimeIsShort:
        found.is_done = False


def _look(rt: Runtime, search: "_Search", last: Checkpoint, trip: Trip | None) -> None:
    """Look for pending commits after `last`, the last commit of the top level."""
    try:
        pending = pending_after(rt, last)
    except RefusedDelivery as refused:
        rt.log("refused", reason=str(refused))
        return
    if isinstance(pending, Missing):
        search.take([pending])
    elif pending is not None:
        walk(rt, search, pending, trip)


class _Search:
    """A walk that notes pending commits and, if it gets the `steps` of the top level, performs what leads to them."""

    def __init__(self, rt: Runtime, found: Pending, silent_ms: int, steps: Sequence[Checkpoint] = ()) -> None:
        self._rt, self._found, self._silent_ms, self._steps = rt, found, silent_ms, steps
        self._sends = bool(steps)

    def scope(self, node: Opened) -> Scope:
        """See `Tree.scope`."""
        return node.scope

    def visit(self, node: Opened, shard: int, *, is_done: bool) -> tuple[Tally, Mapping[int, Opened] | None]:
        """See `Tree.visit`."""
        try:
            part = part_of(self._rt, node, shard)
        except RefusedDelivery as refused:
            self._rt.log("refused", reason=str(refused))
            return Tally(), None
        if is_done:
            return Tally(), part.inside
        if self._count_again(part):
            self.take([pending_join(self._rt, node, Complete(node.scope), part.latest_ms)])
            return Tally(), None
        self.take(part.missing)
        return Tally(len(part.ended.done), part.latest_ms), None if part.is_decided else part.inside

    def leave(self, node: Opened, tally: Tally) -> None:
        """See `Tree.leave`."""
        if tally.branches >= node.needed:
            self.take([pending_join(self._rt, node, Complete(node.scope), tally.latest_ms)])

    def take(self, pending: list[Missing]) -> None:
        """Note those of `pending` that are overdue; perform their effects if the walk sends."""
        overdue = self._overdue(pending)
        self._found.note(overdue)
        names = {each.name for each in overdue}
        due = [each for each in overdue if self._sends and each.waits_for not in HELD]
        self._perform([effect for gap in due for effect in effects_of(self._rt, gap, names)])

    def _count_again(self, part: Part) -> bool:
        """Add ended branches to the completion set again if the walk sends; return True if they complete the scope."""
        # Ended branches alone are normal while others run; repeating their set entries would only cost writes.
        if not self._sends or part.is_decided or (self._silent_ms and not self._overdue(part.missing)):
            return False
        joined = (invoke for join in part.ended.joins for invoke in record_previous(self._rt, join))
        self._perform([*_failures(self._rt, part.ended), *part.ended.arrivals, *joined])
        return _is_complete(self._rt, part.ended)

    def _overdue(self, pending: list[Missing]) -> list[Missing]:
        return _overdue(self._rt, pending, self._silent_ms)

    def _perform(self, effects: list[Effect]) -> None:
        if effects:
            _announce(self._rt, self._steps)
            perform(self._rt, DeliveryState(_routes(self._rt, self._steps)), *effects)


def _announce(rt: Runtime, steps: Sequence[Checkpoint]) -> None:
    """Put the status event of a start or redrive, the last of `steps`, before later effects."""
    if rt.statuses is not None:
        from unum_runtime.features.status_events.announcements import (  # noqa: PLC0415 - only workflows with events have it
            change_before,
        )

        change = change_before(steps)
        if change is not None:
            rt.statuses.announce(rt, change)


def _routes(rt: Runtime, steps: Sequence[Checkpoint]) -> Mapping[str, str]:
    """Return what travels with the execution that has `steps`; its redrives too, if their number has a reader."""
    routes = execution_routes(rt)
    if rt.statuses is None:
        return routes
    from unum_runtime.features.status_events.announcements import (  # noqa: PLC0415 - only workflows with events have it
        redrives_in,
    )

    return {**routes, **redrives_in(steps).to_routes()}


def _unfinished(steps: list[Checkpoint]) -> ForkOrigin | None:
    """Return the origin of an unfinished fork that was not stopped; else None."""
    return None if steps[-1].is_stop else unfinished(steps)


def _overdue(rt: Runtime, found: list[Missing], silent_ms: int) -> list[Missing]:
    """Return commits overdue by `silent_ms`, without those whose events wait for concurrency; 0 returns all commits."""
    if silent_ms == 0:
        return found
    overdue = [each for each in found if is_overdue(rt, each, silent_ms)]
    # Each sweep would send one more event for a function that cannot run even one.
    waiting = throttles_of(rt, (each.name for each in overdue)) if overdue else {}
    return [
        each
        for each in overdue
        if each.name not in waiting or rt.clock.now_ms() - waiting[each.name].until_ms >= silent_ms
    ]


def _first_own_step(record: Checkpoint, origin: ForkOrigin) -> Missing:
    """Return the pending first own step of the unfinished fork with start record `record`."""
    name = Name(record.name.execution, (), origin.step)
    entry = Commit(name, origin.node, Phase.ENTERED, origin.value or Success(None))
    return Missing(
        name=name, state=origin.node, since_ms=record.committed_ms, waits_for=WaitsFor.DELIVERY, effect=entry
    )


def own_steps(rt: Runtime, execution_name: str, old: Workflow | None = None) -> list[Checkpoint]:
    """Return the start record and the steps of the top level of an execution on this version, or on `old`.

    Raises:
        ExecutionDoesNotExist: no execution has that name.
        NotOurEvent: the execution runs on another version.
    """
    steps = from_start(rt.store, rt.workflow.name, execution_name)
    # A redrive may continue on another version than the steps before it, and nothing plans from those again.
    last = next((step for step in reversed(steps) if step.state or step.fork), None)
    digests = {each.digest for each in (rt.workflow, old) if each is not None}
    if last is not None and last.digest not in digests:
        raise NotOurEvent(f"{last.name}: expected IR {rt.workflow.digest}, found IR {last.digest}")
    return steps


def effects_of(rt: Runtime, gap: Missing, names: set[Name]) -> list[Effect]:
    """Return the effects that lead to the commit `gap`; Tasks of other branches only if their `names` are pending."""
    match gap.effect:
        case EndedBranches() as ended:
            return [*_continued(rt, ended.scope, is_complete=_is_complete(rt, ended)), *_failures(rt, ended)]
        case Complete(scope):
            return _continued(rt, scope, is_complete=True)
        case Resend(envelope, address):
            rt.invoker.invoke([(address, envelope.to_bytes())])
            return []
        # The arrival that completes the join sends its event; both arrivals are repeated, as either may be lost.
        case JoinNeighbour() as effect:
            arrived = (invoke for each in _neighbour_joins(rt, effect) for invoke in record_arrival(rt, each))
            return [invoke for invoke in arrived if invoke.name in names]
        case effect:
            return [effect]


def _continued(rt: Runtime, scope: Scope, *, is_complete: bool) -> list[Effect]:
    """Return the continuation of a complete scope."""
    with suppress(RefusedDelivery):  # collected results: the step after them is committed, so nothing is lost
        return [continue_scope(rt, scope)] if is_complete else []
    return []


def _is_complete(rt: Runtime, ended: EndedBranches) -> bool:
    """Add ended branches to the completion set again, nodes to arrival sets; return True if they complete the scope."""
    if ended.nodes:
        from unum_runtime.features.regions.arrivals import end_nodes_again  # noqa: PLC0415 - few workflows have regions

        return end_nodes_again(rt, ended.scope, ended.nodes)
    return add_completed_again(rt, ended.scope, ended.done)


def _failures(rt: Runtime, ended: EndedBranches) -> list[Effect]:
    """Count failed branches again; return the effects if they fail the scope."""
    found = (effect for each in ended.failed for effect in fail(rt, each, DeliveryState({})))
    return [effect for effect in found if isinstance(effect, Commit) and effect.name == ended.scope.join]


def _neighbour_joins(rt: Runtime, effect: JoinNeighbour) -> list[JoinNeighbour]:
    """Return neighbour joins of a branch: its own, plus the previous branch's if this one has arrived."""
    name = effect.invoke.name
    scope, index = Scope.around(name.execution, name.frames), name.frames[-1].index
    if index == 0:
        return [effect]
    before = Name(name.execution, scope.branch(index - 1), name.step)
    last = replace(before, step=name.step - 1)
    key = checkpoint_key(rt.workflow.name, last)
    item = rt.store.read([key]).get(key)
    # A failure is no arrival: the scope may not have failed yet, and the join would find no input.
    has_arrived = item is not None and isinstance(Checkpoint.from_item(last, item).outcome, Success)
    previous = [JoinNeighbour(replace(effect.invoke, name=before))] if has_arrived else []
    return [*previous, effect]
