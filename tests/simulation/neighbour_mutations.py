"""Deliberate mistakes with quorums, and with branches that meet."""

import pytest

from tests.simulation.mutations import DUPLICATE, NONE, Mutation
from unum_runtime.cold_start.records import replace
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.naming import Scope
from unum_runtime.protocol.control import nudge
from unum_runtime.protocol.delivery import ingress, join, perform
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.fanout import completion, neighbours
from unum_runtime.protocol.planning.plan import BranchFailed, Commit, Invoke, JoinNeighbour
from unum_runtime.protocol.runtime import Runtime
from unum_simulator import Faults, Invariant

STOPPED = Faults(crashes=0, duplicates=0, stops=1, redrives=1, concurrency=1)


def failure_counts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(perform, "fail", join.complete)


def one_failure_fails(patch: pytest.MonkeyPatch) -> None:
    def fail(rt: Runtime, effect: BranchFailed, _delivery: DeliveryState) -> list[Commit]:
        return [join._fail_scope(rt, Scope.around(effect.execution, effect.frames), effect.failure, None)]

    patch.setattr(perform, "fail", fail)


def one_more_is_needed(patch: pytest.MonkeyPatch) -> None:
    def is_full(rt: Runtime, scope: Scope, shard: int, done: int) -> bool:
        return filling(rt, scope, shard, done - 1)

    filling = completion._completes_scope
    patch.setattr(completion, "_completes_scope", is_full)


def own_meeting_alone(patch: pytest.MonkeyPatch) -> None:
    def meet(rt: Runtime, effect: JoinNeighbour) -> list[Invoke]:
        return [each for each in neighbours.record_arrival(rt, effect) if each.name == effect.invoke.name]

    patch.setattr(perform, "record_arrival", meet)


def always_with_the_first(patch: pytest.MonkeyPatch) -> None:
    def with_the_first(rt: Runtime, envelope: Envelope) -> Value:
        *around, own = envelope.name.frames
        first = replace(envelope.name, frames=(*around, replace(own, index=0)))
        return neighbours.read_neighbours(rt, replace(envelope, name=first))

    patch.setattr(ingress, "read_neighbours", with_the_first)


def kept_arrivals_are_not_repeated(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(nudge, "record_previous", lambda _rt, _join: [])


NEIGHBOUR_MUTATIONS = {
    "a failure counts for a quorum": Mutation(
        graph="quorum with a failure", faults=NONE, breaks=Invariant.NO_LOST_WORK, patch=failure_counts
    ),
    "one failure fails a quorum": Mutation(
        graph="quorum with a failure", faults=NONE, breaks=Invariant.CONSISTENT, patch=one_failure_fails
    ),
    "a quorum that waits for one more": Mutation(
        graph="quorum with a failure", faults=NONE, breaks=Invariant.NO_LOST_WORK, patch=one_more_is_needed
    ),
    "a meeting that one of both begins": Mutation(
        graph="meeting", faults=NONE, breaks=Invariant.NO_LOST_WORK, patch=own_meeting_alone
    ),
    "a meeting with the first": Mutation(
        graph="meeting", faults=DUPLICATE, breaks=Invariant.SAME_VIEW, patch=always_with_the_first
    ),
    "a redrive that repeats no arrival of what it keeps": Mutation(
        graph="meeting",
        faults=STOPPED,
        breaks=Invariant.NO_LOST_WORK,
        patch=kept_arrivals_are_not_repeated,
    ),
}
"""Every mistake by name."""
