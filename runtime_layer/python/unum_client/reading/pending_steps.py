"""Commits that a running execution waits for, read from its store with its definition."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, NoReturn

from unum_client.control import Missing
from unum_client.deliveries import to_datetime
from unum_runtime.clock import Clock
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import RefusedDelivery
from unum_runtime.model.checkpoint import Checkpoint
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import SHARD_SIZE, Name
from unum_runtime.model.states import Json, Wait
from unum_runtime.protocol.history import pending
from unum_runtime.protocol.history.pending import Complete, Opened, WaitsFor, part_of, pending_after, pending_join
from unum_runtime.protocol.history.timeline import begin_effect, branches_of_shard
from unum_runtime.protocol.planning.advance import Visits
from unum_runtime.protocol.planning.plan import Effect, plan
from unum_runtime.protocol.runtime import Call, Runtime
from unum_runtime.store.base import Store


def pending_steps(rt: Runtime, last: Checkpoint) -> Iterator[Missing]:
    """Yield the commits that an execution waits for.

    Args:
        rt: a runtime of the execution's version.
        last: last commit of its top level, or its start record.

    Raises:
        StoreError: the store did not answer.
    """
    if last.ending is None or last.past:
        with suppress(RefusedDelivery):  # what was collected meanwhile is over
            found = pending_after(rt, last)
            if isinstance(found, Opened):
                yield from (_shown(rt.workflow, each) for each in _inside(rt, found))
            elif found is not None:
                yield _shown(rt.workflow, _at_wait(found, lambda visits: plan(rt.workflow, last, visits)))


def reading_runtime(store: Store, clock: Clock, definition: Workflow, **options: Any) -> Runtime:
    """Return a runtime that reads executions of `definition`, sends nothing and runs no user code."""
    return Runtime(
        workflow=definition,
        store=store,
        invoker=_Nowhere(),
        clock=clock,
        call=_no_code,
        hosts=frozenset(),
        routes={},
        **options,
    )


def _inside(rt: Runtime, opened: Opened) -> Iterator[pending.Missing]:
    """Yield the pending commits in a scope; without any, that of its join."""
    is_open, latest_ms = False, 0
    for shard in range(opened.scope.shards):
        part, branches = part_of(rt, opened, shard), _Branches(rt, opened, shard)
        latest_ms = max(latest_ms, part.latest_ms)
        for found in part.missing:
            is_open = True
            is_inside = found.name.frames != opened.scope.frames
            yield _at_wait(found, partial(branches.effect, found.name)) if is_inside else _joining(opened, found)
        if part.is_decided:
            return
        for inner in part.inside.values():
            is_open = True
            yield from _inside(rt, inner)
    if not is_open:
        yield _joining(opened, pending_join(rt, opened, Complete(opened.scope), latest_ms))


class _Branches:
    """Branches of one shard of a fan-out, read at the first request for one."""

    def __init__(self, rt: Runtime, opened: Opened, shard: int) -> None:
        self._rt, self._opened, self._shard = rt, opened, shard

    def effect(self, name: Name, visits: Visits) -> Effect | None:
        """Return the effect that leads to the commit `name` of a branch, and collect the `visits` before it."""
        last = self._last(name.frames[-1].index)
        if last is None:
            return begin_effect(self._opened.opening, name.frames[-1].index, self._last, visits)
        return plan(self._rt.workflow, last, visits)

    def _last(self, index: int) -> Checkpoint | None:
        steps = self._steps[index % SHARD_SIZE]
        return steps[-1] if steps else None

    @cached_property
    def _steps(self) -> list[list[Checkpoint]]:
        return branches_of_shard(self._rt.store, self._rt.workflow.name, self._opened.scope, self._shard)


def _at_wait(found: pending.Missing, planned: Callable[[Visits], object]) -> pending.Missing:
    """Return `found` with the Wait that delays the Task, in place of the Task.

    A Wait before a Task has no commit: the event of the Task is delayed. To readers, the execution is at the Wait.

    Args:
        found: a pending commit.
        planned: plans it again, and collects the visited states.
    """
    if found.waits_for is not WaitsFor.TIME:
        return found
    visits: Visits = []
    planned(visits)
    waits = [visit.state.name for visit in visits if isinstance(visit.state, Wait)]
    return replace(found, state=waits[-1]) if waits else found


def _joining(opened: Opened, found: pending.Missing) -> pending.Missing:
    """Return `found`, with the Task that joins the scope's results in place of the scope."""
    join = opened.opening.arrival.state.join
    return replace(found, state=join) if join is not None and found.name == opened.scope.join else found


def _shown(workflow: Workflow, found: pending.Missing) -> Missing:
    return Missing(
        invocation=str(found.name),
        state=workflow.visible_name(found.state),
        index=tuple(frame.index for frame in found.name.frames),
        waits_for=found.waits_for,
        since=to_datetime(found.since_ms),
        until=None if found.until_ms is None else to_datetime(found.until_ms),
        job=found.job,
        signal=found.signal and found.signal.to_json(),
    )


class _Nowhere:
    """Invoker of a reader, which sends nothing."""

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        raise AssertionError(f"a reader sends no events, got {len(events)}")


def _no_code(call: Call, _value: Json) -> NoReturn:
    raise AssertionError(f"{call.invocation}: a reader runs no user code")
