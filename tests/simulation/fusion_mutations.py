"""Deliberate mistakes in going on with what follows in the same function."""

from typing import Any

import pytest

from tests.simulation.mutations import BOTH, CRASH, DUPLICATE, NONE, Mutation
from tests.simulation.part_mutations import lane_stops_where_it_settles
from unum_runtime.cold_start.records import replace
from unum_runtime.model.checkpoint import Checkpoint, Item
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import Name, Scope
from unum_runtime.model.states import Pattern, Task
from unum_runtime.protocol.delivery import commit, deliver, fusion, join, perform
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.fanout import completion, lanes
from unum_runtime.protocol.planning import plan
from unum_runtime.protocol.runtime import Runtime
from unum_simulator import Invariant

ONE = {"in_one_function": True}


def without_checkpoint(patch: pytest.MonkeyPatch) -> None:
    create = commit.create

    def skip(rt: Runtime, made: Checkpoint) -> Item | None:
        return None if isinstance(plan.plan(rt.workflow, made), plan.Invoke) else create(rt, made)

    patch.setattr(commit, "create", skip)


def in_any_function(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fusion.Fusion, "__call__", lambda *_: True)


def without_a_look(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(deliver, "is_first", lambda *_: True)


def without_a_look_after_a_lease(patch: pytest.MonkeyPatch) -> None:
    is_first = fusion.is_first
    patch.setattr(deliver, "is_first", lambda rt, delivery, _done, ahead: is_first(rt, delivery, ahead, ahead))


def whatever_is_collected(patch: pytest.MonkeyPatch) -> None:
    def may_fuse(_rt: Runtime, delivery: DeliveryState, _name: Name, task: Task) -> bool:
        return (
            delivery.may_continue and bool(delivery.created) and not delivery.found and task.pattern is Pattern.RESPONSE
        )

    patch.setattr(perform, "may_fuse", may_fuse)


def lane_without_a_look(patch: pytest.MonkeyPatch) -> None:
    def next_in_lane(*given: Any) -> list[plan.Invoke | plan.Commit]:
        found = lanes.next_in_lane(*given)
        return [replace(each, is_new=True) if isinstance(each, plan.Invoke) else each for each in found]

    patch.setattr(join, "next_in_lane", next_in_lane)


def lane_looked_at_too_early(patch: pytest.MonkeyPatch) -> None:
    def complete(rt: Runtime, effect: plan.CompleteBranch, delivery: DeliveryState) -> list[Any]:
        scope, index = Scope.around(effect.execution, effect.frames), effect.frames[-1].index
        started = lanes.next_in_lane(rt, scope, index, delivery.enter_lanes())
        return [join.continue_scope(rt, scope)] if completion.add_completed(rt, scope, index) else started

    patch.setattr(perform, "complete", complete)


def one_of_several(patch: pytest.MonkeyPatch) -> None:
    def send(rt: Runtime, invokes: list[plan.Invoke], delivery: DeliveryState, **_: Any) -> list[plan.Commit]:
        return sending(rt, invokes, delivery, is_all=bool(invokes))

    sending = perform._send
    patch.setattr(perform, "_send", send)


FUSION_MUTATIONS: dict[str, Mutation] = {
    "fused without its checkpoint": Mutation(
        graph="chain", faults=CRASH, breaks=Invariant.SAME_VIEW, patch=without_checkpoint, scenario=ONE
    ),
    "fused with another function": Mutation(
        graph="chain", faults=NONE, breaks=Invariant.SAME_VIEW, patch=in_any_function
    ),
    "fused without a look": Mutation(
        graph="diamond", faults=BOTH, breaks=Invariant.NO_RERUN, patch=without_a_look, scenario=ONE
    ),
    "fused without a look after a lease": Mutation(
        graph="leased task before another",
        faults=DUPLICATE,
        breaks=Invariant.NO_RERUN,
        patch=without_a_look_after_a_lease,
        scenario=ONE,
    ),
    "fused although it is collected": Mutation(
        graph="chain",
        faults=CRASH,
        breaks=Invariant.NO_LOST_WORK,
        patch=whatever_is_collected,
        scenario=ONE | {"collection": Collection.EAGER},
    ),
    "fused with a branch that settles its fan-out": Mutation(
        graph="retry of a limited map",
        faults=CRASH,
        breaks=Invariant.NO_LOST_WORK,
        patch=lane_stops_where_it_settles,
        scenario=ONE,
        is_near=False,
    ),
    "fused with the next branch of a lane without a look": Mutation(
        graph="limited map", faults=BOTH, breaks=Invariant.NO_RERUN, patch=lane_without_a_look, scenario=ONE
    ),
    "fused with the next branch of a lane after an early look": Mutation(
        graph="lane", faults=DUPLICATE, breaks=Invariant.NO_RERUN, patch=lane_looked_at_too_early, scenario=ONE
    ),
    "fused in place of several events": Mutation(
        graph="diamond", faults=DUPLICATE, breaks=Invariant.NO_LOST_WORK, patch=one_of_several, scenario=ONE
    ),
}
"""Every mistake by name."""
