"""Deliberate mistakes with Tasks that wait for a result of the branch before."""

from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.broken_stores import TransitionStore
from tests.simulation.mutations import CRASH, NONE, Mutation
from tests.simulation.region_mutations import NUDGED, REDRIVEN
from unum_runtime.features.eager_collection import collect
from unum_runtime.features.waves import previous_results
from unum_runtime.model.checkpoint import Checkpoint, Success
from unum_runtime.model.envelope import Value
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.naming import Key, Name, Scope, checkpoint_key
from unum_runtime.model.states import Task
from unum_runtime.protocol.control import nudge
from unum_runtime.protocol.delivery import commit, ingress
from unum_runtime.protocol.fanout import packing
from unum_runtime.protocol.history import pending
from unum_runtime.protocol.planning import plan
from unum_runtime.protocol.planning.plan import FeedNext, Invoke, JoinNeighbour
from unum_runtime.protocol.runtime import Runtime
from unum_simulator import Invariant


def own_side_alone_begins(patch: pytest.MonkeyPatch) -> None:
    feed = previous_results.feed

    def adds(rt: Runtime, effect: FeedNext) -> list[Invoke]:
        feed(rt, effect)
        return []

    patch.setattr(previous_results, "feed", adds)


def result_alone_begins(patch: pytest.MonkeyPatch) -> None:
    arrive = previous_results.arrive

    def adds(rt: Runtime, effect: JoinNeighbour) -> list[Invoke]:
        arrive(rt, effect)
        return []

    patch.setattr(previous_results, "arrive", adds)


def only_the_committer_feeds(patch: pytest.MonkeyPatch) -> None:
    """Continue from an outcome committed by another delivery without feeding the next branch."""

    def alone(workflow: Workflow, checkpoint: Checkpoint) -> list[plan.Effect]:
        return [plan.plan(workflow, checkpoint)]

    patch.setattr(ingress, "effects_after", alone)
    patch.setattr(commit, "effects_after", alone)


def own_arrival_is_enough(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(plan, "_join_result", lambda invoke: invoke)


def result_of_the_first(patch: pytest.MonkeyPatch) -> None:
    """Every branch waits for the branch before, and gets the result of the first one."""
    arrive, feed = previous_results.arrive, previous_results.feed

    def with_the_first(rt: Runtime, invokes: list[Invoke]) -> list[Invoke]:
        return [replace(each, input=_of_the_first(rt, each)) for each in invokes]

    patch.setattr(previous_results, "arrive", lambda rt, effect: with_the_first(rt, arrive(rt, effect)))
    patch.setattr(previous_results, "feed", lambda rt, effect: with_the_first(rt, feed(rt, effect)))


def _of_the_first(rt: Runtime, invoke: Invoke) -> Value:
    *around, own = invoke.name.frames
    first = replace(invoke.name, frames=(*around, replace(own, index=0)))
    outcome, entered = previous_results._read(rt, first).outcome, invoke.input
    assert isinstance(outcome, Success)
    assert isinstance(entered, Value)
    return replace(entered, given=Success({**entered.value, "previous": outcome.value}))


def without_the_step(patch: pytest.MonkeyPatch) -> None:
    add: Any = previous_results._add
    patch.setattr(previous_results, "_add", lambda *given: add(*given[:-1], 0))


def one_set_for_all_tasks(patch: pytest.MonkeyPatch) -> None:
    key = previous_results.meeting_key
    patch.setattr(previous_results, "meeting_key", lambda workflow, scope, index, _task: key(workflow, scope, index, 0))


def one_set_for_all_branches(patch: pytest.MonkeyPatch) -> None:
    key = previous_results.meeting_key
    patch.setattr(previous_results, "meeting_key", lambda workflow, scope, _index, task: key(workflow, scope, 0, task))


def one_set_for_all_tries(patch: pytest.MonkeyPatch) -> None:
    key = previous_results.meeting_key

    def of_first(workflow: str, scope: Scope, index: int, task: int) -> Key:
        return key(workflow, replace(scope, generation=0, iteration=1), index, task)

    patch.setattr(previous_results, "meeting_key", of_first)


def one_set_for_all_scopes(patch: pytest.MonkeyPatch) -> None:
    key = previous_results.meeting_key
    patch.setattr(
        previous_results, "meeting_key", lambda workflow, scope, *more: key(workflow, replace(scope, frames=()), *more)
    )


def time_of_the_own_branch(patch: pytest.MonkeyPatch) -> None:
    begin = previous_results.begin_joined

    def as_own(own: JoinNeighbour, previous: Checkpoint) -> Invoke:
        return begin(own, previous.saying(committed_ms=0))

    patch.setattr(previous_results, "begin_joined", as_own)


def results_are_collected_by_the_next_step(patch: pytest.MonkeyPatch) -> None:
    def parent(rt: Runtime, name: Name) -> list[Key]:
        before = Name(name.execution, name.frames, name.step - 1)
        return [] if name.step == 0 or plan.is_start(before) else [checkpoint_key(rt.workflow.name, before)]

    patch.setattr(collect, "_parent_key", parent)


def inner_scope_collects_its_origin(patch: pytest.MonkeyPatch) -> None:
    def whole(rt: Runtime, scope: Scope) -> None:
        rt.store.collect(collect._scope_keys(rt, scope))

    patch.setattr(collect, "collect_scope", whole)


def sets_are_not_collected(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(previous_results, "arrival_keys", lambda *_: [])


def redrive_repeats_no_arrivals(patch: pytest.MonkeyPatch) -> None:
    def without(rt: Runtime, opened: pending.Opened, shard: int) -> pending.Part:
        part = pending.part_of(rt, opened, shard)
        return replace(part, ended=replace(part.ended, arrivals=()))

    patch.setattr(nudge, "part_of", without)


def nudge_begins_without_the_result(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(previous_results, "begin_joined", lambda own, _previous: own.invoke)


def result_is_packed(patch: pytest.MonkeyPatch) -> None:
    has_place = packing._has_place

    def blind(workflow: Workflow, task: Any, scope: str) -> bool:
        return has_place(workflow, replace(task, after_previous=None), scope)

    def unfed(workflow: Workflow, *more: Any) -> bool:
        without = {
            name: replace(state, after_previous=None) if isinstance(state, Task) else state
            for name, state in workflow.states.items()
        }
        return blind(replace(workflow, states=without), *more)

    patch.setattr(packing, "_has_place", unfed)


WAVE_MUTATIONS = {
    "the own branch alone begins a waiting Task": Mutation(
        graph="wave of another step", faults=NONE, breaks=Invariant.NO_LOST_WORK, patch=own_side_alone_begins
    ),
    "the result alone begins a waiting Task": Mutation(
        graph="wave of another step", faults=NONE, breaks=Invariant.NO_LOST_WORK, patch=result_alone_begins
    ),
    "only who commits a result feeds the next branch": Mutation(
        graph="wave of another step", faults=CRASH, breaks=Invariant.NO_LOST_WORK, patch=only_the_committer_feeds
    ),
    "only who fills an arrival set begins a Task": Mutation(
        graph="wave", faults=CRASH, breaks=Invariant.NO_LOST_WORK, scenario={"store": TransitionStore}
    ),
    "a Task does not wait for the branch before": Mutation(
        graph="wave", faults=NONE, breaks=Invariant.SAME_VIEW, patch=own_arrival_is_enough
    ),
    "every branch gets the result of the first": Mutation(
        graph="wave of three", faults=NONE, breaks=Invariant.SAME_VIEW, patch=result_of_the_first
    ),
    "arrivals without the step of their commit": Mutation(
        graph="wave", faults=NONE, breaks=Invariant.SAME_VIEW, patch=without_the_step
    ),
    "one arrival set for all Tasks of a branch": Mutation(
        graph="wave of two steps", faults=NONE, breaks=Invariant.NO_LOST_WORK, patch=one_set_for_all_tasks
    ),
    "one arrival set for all branches": Mutation(
        graph="wave of three", faults=NONE, breaks=Invariant.NO_LOST_WORK, patch=one_set_for_all_branches
    ),
    "one arrival set for all tries": Mutation(
        graph="wave that is retried", faults=NONE, breaks=Invariant.NO_LOST_WORK, patch=one_set_for_all_tries
    ),
    "one arrival set for all scopes": Mutation(
        graph="wave in a map", faults=NONE, breaks=Invariant.NO_LOST_WORK, patch=one_set_for_all_scopes
    ),
    "a Task is entered when its own branch came": Mutation(
        graph="wave with its time",
        faults=NONE,
        breaks=Invariant.SAME_VIEW,
        patch=time_of_the_own_branch,
        scenario={"tick_ms": 1},
        is_near=False,
    ),
    "a result is collected by the next step": Mutation(
        graph="wave of another step",
        faults=NONE,
        breaks=Invariant.NOTHING_LEAKS,
        patch=results_are_collected_by_the_next_step,
        scenario={"collection": Collection.EAGER},
    ),
    "a result is collected with the map that it opened": Mutation(
        graph="wave around a map",
        faults=NONE,
        breaks=Invariant.NO_LOST_WORK,
        patch=inner_scope_collects_its_origin,
        scenario={"collection": Collection.EAGER},
        is_near=False,
    ),
    "arrival sets are not collected": Mutation(
        graph="wave",
        faults=NONE,
        breaks=Invariant.NOTHING_LEAKS,
        patch=sets_are_not_collected,
        scenario={"collection": Collection.EAGER},
    ),
    "a redrive does not repeat arrivals and results": Mutation(
        graph="wave whose first step fails",
        faults=REDRIVEN,
        breaks=Invariant.NO_LOST_WORK,
        patch=redrive_repeats_no_arrivals,
        is_near=False,
    ),
    "a nudge begins a Task without the result": Mutation(
        graph="wave", faults=NUDGED, breaks=Invariant.SAME_VIEW, patch=nudge_begins_without_the_result
    ),
    "a result is hidden in a pack": Mutation(
        graph="wave with small results", faults=NONE, breaks=Invariant.NO_LOST_WORK, patch=result_is_packed
    ),
}
"""Every mistake by name."""
