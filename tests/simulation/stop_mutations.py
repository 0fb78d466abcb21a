"""Deliberate mistakes in how executions are stopped, and in the names that stopping relies on."""

from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.mutations import CRASH, Mutation
from unum_runtime.model import naming
from unum_runtime.model.checkpoint import Checkpoint, Failure, Status, stop_record
from unum_runtime.model.naming import Name
from unum_runtime.protocol import runtime
from unum_runtime.protocol.control import stop
from unum_runtime.protocol.delivery import commit, deliver, run_task
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.fanout import packing
from unum_runtime.protocol.planning import plan
from unum_runtime.protocol.runtime import Runtime
from unum_simulator import Faults, Invariant

STOP = Faults(crashes=0, duplicates=0, stops=1)


def stop_beside_the_steps(patch: pytest.MonkeyPatch) -> None:
    def record(name: Name, failure: Failure, stopped_ms: int) -> Checkpoint:
        return stop_record(replace(name, step=10**6), failure, stopped_ms)

    patch.setattr(stop, "stop_record", record)


def stop_after_the_next_step(patch: pytest.MonkeyPatch) -> None:
    def record(name: Name, failure: Failure, stopped_ms: int) -> Checkpoint:
        return stop_record(name.following, failure, stopped_ms)

    patch.setattr(stop, "stop_record", record)


def nobody_looks_around(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(packing, "join_keys", lambda *_: ())


def only_the_next_fan_out_is_looked_at(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(packing, "join_keys", lambda workflow, name: naming.join_keys(workflow, name)[-1:])


def branches_begin_without_a_look(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(packing, "join_keys", lambda workflow, name: naming.join_keys(workflow, name) if name.step else ())


def loser_to_a_stop_goes_on(patch: pytest.MonkeyPatch) -> None:
    def broken(rt: Runtime, effect: plan.Commit, delivery: DeliveryState) -> list[plan.Effect]:
        following = commit.commit(rt, effect, delivery)
        if isinstance(following[0], plan.Finish) and following[0].ending.status is Status.ABORTED:
            return [plan.plan(rt.workflow, commit.draft(rt, effect))]
        return following

    patch.setattr(deliver, "commit", broken)


def step_for_what_is_not_committed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(plan, "_next_name", lambda _workflow, checkpoint: checkpoint.name.following)


def names_shared_with_idempotency_keys(patch: pytest.MonkeyPatch) -> None:
    made_by = run_task.TaskTry._call

    def call(own: Any, *given: Any) -> runtime.Call:
        key = f"{own.envelope.workflow}/{own.envelope.name}"
        return replace(made_by(own, *given), idempotency_key=key)

    patch.setattr(run_task.TaskTry, "_call", call)


STOP_MUTATIONS: dict[str, Mutation] = {
    "stop beside the steps": Mutation(
        graph="chain", faults=STOP, breaks=Invariant.STOPPED, patch=stop_beside_the_steps, is_near=False
    ),
    "stop after the next step": Mutation(
        graph="chain", faults=STOP, breaks=Invariant.STOPPED, patch=stop_after_the_next_step, is_near=False
    ),
    "stop without a look around": Mutation(
        graph="map", faults=STOP, breaks=Invariant.STOPPED, patch=nobody_looks_around
    ),
    "stop with a look at the next fan-out alone": Mutation(
        graph="nested maps of one row", faults=STOP, breaks=Invariant.STOPPED, patch=only_the_next_fan_out_is_looked_at
    ),
    "stop without a look where a branch begins": Mutation(
        graph="map", faults=STOP, breaks=Invariant.STOPPED, patch=branches_begin_without_a_look
    ),
    "loser to a stop goes on": Mutation(
        graph="chain", faults=STOP, breaks=Invariant.STOPPED, patch=loser_to_a_stop_goes_on
    ),
    "a step for what is not committed": Mutation(
        graph="uncommitted tasks", faults=CRASH, breaks=Invariant.SAME_VIEW, patch=step_for_what_is_not_committed
    ),
    "idempotency keys of names alone": Mutation(
        graph="uncommitted tasks", faults=CRASH, breaks=Invariant.SAME_VIEW, patch=names_shared_with_idempotency_keys
    ),
}
"""Every mistake by name."""
