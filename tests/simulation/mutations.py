"""Deliberate mistakes in the protocol, each of which somebody could make; the simulator has to find every one.

They are put in from outside: a store that breaks its contract, a scenario, or a function of the protocol replaced.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.simulation.broken_stores import (
    CountingStore,
    DeletingStore,
    HalfReadingStore,
    OverwritingStore,
    TransitionStore,
)
from unum_runtime.errors import RefusedDelivery
from unum_runtime.features.eager_collection import collect
from unum_runtime.model import naming
from unum_runtime.model.checkpoint import Checkpoint, Failure, Phase
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.naming import Frame, Key, Name, Scope
from unum_runtime.model.states import Json
from unum_runtime.protocol import runtime
from unum_runtime.protocol.delivery import commit, deliver, ingress, join, perform, run_task, start
from unum_runtime.protocol.delivery.delivery_state import DeliveredEvent, DeliveryState
from unum_runtime.protocol.fanout import completion, lanes, packing
from unum_runtime.protocol.planning import evaluation, plan, retry
from unum_runtime.protocol.runtime import Runtime
from unum_simulator import Faults, Invariant, simulated_deliveries

HOUR_S = 3600
Patch = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """A mistake and what finds it.

    Attributes:
        graph: in which it shows.
        faults: under which it shows.
        breaks: the invariant.
        patch: puts it in.
        scenario: or the fields of the scenario that do.
        is_near: it shows within the first worlds of an exhaustive search, too.
    """

    graph: str
    faults: Faults
    breaks: Invariant
    patch: Patch = lambda _patch: None
    scenario: Mapping[str, Any] = field(default_factory=dict)
    is_near: bool = True


DUPLICATE = Faults(crashes=0, duplicates=1)
CRASH = Faults(crashes=1, duplicates=0)
BOTH = Faults(crashes=1, duplicates=1)
NONE = Faults(crashes=0, duplicates=0)


def join_whatever_is_there(patch: pytest.MonkeyPatch) -> None:
    branches = join._last_checkpoints

    def present(rt: Runtime, scope: Scope) -> Iterator[Checkpoint | None]:
        return (found for found in branches(rt, scope) if found is not None)

    patch.setattr(join, "_last_checkpoints", present)


def join_without_order(patch: pytest.MonkeyPatch) -> None:
    branches = join._last_checkpoints
    patch.setattr(join, "_last_checkpoints", lambda rt, scope: reversed(list(branches(rt, scope))))


def loser_stops(patch: pytest.MonkeyPatch) -> None:
    def lost(*_arguments: object) -> Checkpoint:
        raise RefusedDelivery("somebody else was faster")

    patch.setattr(commit, "parse_committed", lost)


def known_outcome_stops(patch: pytest.MonkeyPatch) -> None:
    look_up = ingress.look_up

    def ready_or_nothing(rt: Runtime, envelope: Envelope, task: Any, *, fresh: bool) -> Any:
        found = look_up(rt, envelope, task, fresh=fresh)
        if not isinstance(found, Value):
            raise RefusedDelivery("done already")
        return found

    patch.setattr(deliver, "look_up", ready_or_nothing)


def guard_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(deliver, "look_up", lambda rt, envelope, task, **_: ingress.look_up(rt, envelope, task, fresh=True))


def no_deadline(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(deliver, "admit", lambda rt, envelope: rt.workflow.states[envelope.state])


def deadline_without_end(patch: pytest.MonkeyPatch) -> None:
    last_s = Runtime.last_s
    patch.setattr(Runtime, "last_s", lambda rt, execution: last_s(rt, execution) + rt.retention_s)


def short_life(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Runtime, "expires_at_s", lambda rt: rt.clock.now_ms() // 1000 + HOUR_S)


def plan_from_own_outcome(patch: pytest.MonkeyPatch) -> None:
    def broken(rt: Runtime, effect: plan.Commit, delivery: DeliveryState) -> list[plan.Effect]:
        own = commit.draft(rt, effect)
        commit.commit(rt, effect, delivery)
        return [plan.plan(rt.workflow, own)]

    patch.setattr(deliver, "commit", broken)
    patch.setattr(perform, "commit", broken)


def invoke_before_commit(patch: pytest.MonkeyPatch) -> None:
    def work(rt: Runtime, envelope: Envelope, *, fresh: bool = False) -> None:
        task = ingress.admit(rt, envelope)
        effects = ingress.look_up(rt, envelope, task, fresh=fresh)
        if isinstance(effects, Value):
            entered = effects
            outcome: Any = run_task.run(rt, envelope, task, entered)
            perform.perform(rt, DeliveryState(envelope.routes), plan.plan(rt.workflow, commit.draft(rt, outcome)))
            delivery = DeliveryState(envelope.routes)
            delivery.event = DeliveredEvent(envelope, entered.entered_ms)
            effects = commit.commit(rt, outcome, delivery)
        perform.perform(rt, DeliveryState(envelope.routes), *effects)

    patch.setattr(simulated_deliveries, "step", work)
    patch.setattr(start, "step", work)


def complete_before_commit(patch: pytest.MonkeyPatch) -> None:
    def broken(rt: Runtime, effect: plan.Commit, delivery: DeliveryState) -> list[plan.Effect]:
        following = plan.plan(rt.workflow, commit.draft(rt, effect))
        if isinstance(following, plan.CompleteBranch):
            scope = Scope.around(following.execution, following.frames)
            completion.add_completed(rt, scope, following.frames[-1].index)
        return commit.commit(rt, effect, delivery)

    patch.setattr(deliver, "commit", broken)


def continue_before_commit(patch: pytest.MonkeyPatch) -> None:
    """A branch is completed, and the join's event sent, before its outcome is committed."""

    def broken(rt: Runtime, effect: plan.Commit, delivery: DeliveryState) -> list[plan.Effect]:
        following = plan.plan(rt.workflow, commit.draft(rt, effect))
        if isinstance(following, plan.CompleteBranch):
            perform.perform(rt, DeliveryState({}), following)
        return commit.commit(rt, effect, delivery)

    patch.setattr(deliver, "commit", broken)


def keys_without_frames(patch: pytest.MonkeyPatch) -> None:
    def key(workflow: str, name: Name) -> Key:
        frames = tuple(Frame(frame.state, frame.iteration, 0, 0, frame.size) for frame in name.frames)
        return naming.checkpoint_key(workflow, replace(name, frames=frames))

    for module in (commit, collect, ingress, packing, lanes):
        patch.setattr(module, "checkpoint_key", key)


def names_without_frames(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Name, "__str__", lambda name: f"{name.execution}#{name.step}")


def scopes_without_iteration(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(naming, "_scope_path", lambda workflow, scope: f"{workflow}/{scope.execution}/{scope.state}")


def outcome_of_any_size(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(commit, "MAX_OUTCOME_BYTES", 10**9)


def result_beside_outcome(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(plan, "_size", lambda _outcome: 0)


def idempotency_key_of_the_delivery(patch: pytest.MonkeyPatch) -> None:
    call = run_task.TaskTry._call
    patch.setattr(run_task.TaskTry, "_call", lambda *given: replace(call(*given), idempotency_key=str(uuid.uuid4())))


def time_of_the_delivery(patch: pytest.MonkeyPatch) -> None:
    join_results = join.join_results
    patch.setattr(ingress, "join_results", lambda rt, scope: replace(join_results(rt, scope), as_of_ms=None))


def collected_branch_ends_the_delivery(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(perform, "_perform_unless_refused", perform._perform_one)


def idempotency_key_of_the_attempt(patch: pytest.MonkeyPatch) -> None:
    def call(*given: Any) -> runtime.Call:
        made = made_by(*given)
        return replace(made, idempotency_key=f"{made.idempotency_key} {made.attempt}")

    made_by = run_task.TaskTry._call
    patch.setattr(run_task.TaskTry, "_call", call)


def retries_uncounted(patch: pytest.MonkeyPatch) -> None:
    again = run_task.TaskTry._again
    patch.setattr(
        run_task.TaskTry, "_again", lambda own, due_ms, _, *more: again(own, due_ms, own.envelope.retries, *more)
    )


def caught_before_retried(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(retry.recovery, "next_retry", lambda *_: None)


def caught_without_variables(patch: pytest.MonkeyPatch) -> None:
    def recovered(*given: Any, **named: Any) -> retry.Recovery:
        found = retry.recover(*given, **named)
        if not isinstance(found, retry.NotRetried):
            return found
        return replace(found, continuation=replace(found.continuation, variables={}))

    patch.setattr(run_task, "recover", recovered)


def joined_without_variables(patch: pytest.MonkeyPatch) -> None:
    join_results = join.join_results

    def forgetful(rt: Runtime, scope: Scope) -> plan.Commit:
        found = join_results(rt, scope)
        return replace(found, continuation=replace(found.continuation, variables={}))

    patch.setattr(join, "join_results", forgetful)
    patch.setattr(ingress, "join_results", forgetful)


def retry_without_commit(patch: pytest.MonkeyPatch) -> None:
    def broken(rt: Runtime, effect: plan.Commit, delivery: DeliveryState) -> list[plan.Effect]:
        if effect.phase is Phase.RETRIED:
            return [plan.plan(rt.workflow, commit.draft(rt, effect))]
        return commit.commit(rt, effect, delivery)

    patch.setattr(perform, "commit", broken)


def scopes_without_generation(patch: pytest.MonkeyPatch) -> None:
    path = naming._scope_path

    def same_path(workflow: str, scope: Scope) -> str:
        return path(workflow, replace(scope, iteration=0, generation=0))

    patch.setattr(naming, "_scope_path", same_path)


def sets_without_generation(patch: pytest.MonkeyPatch) -> None:
    def key(workflow: str, scope: Scope, shard: int) -> Key:
        return naming.completion_key(workflow, replace(scope, iteration=0, generation=0), shard)

    patch.setattr(completion, "completion_key", key)


def nothing_waits(patch: pytest.MonkeyPatch) -> None:
    invoke = plan._invoke
    patch.setattr(plan, "_invoke", lambda *given: replace(invoke(*given), due_ms=None))


def retry_of_a_scope_at_once(patch: pytest.MonkeyPatch) -> None:
    again = plan._retry_fan_out
    patch.setattr(plan, "_retry_fan_out", lambda *given: replace(again(*given), due_ms=None))


def old_events_refused(patch: pytest.MonkeyPatch) -> None:
    """Lambda keeps an event for 6 hours, and the record of its failure for 6 more."""

    def admit(rt: Runtime, envelope: Envelope) -> Any:
        if rt.clock.now_ms() // 1000 > envelope.sent_s + 8 * HOUR_S:
            raise RefusedDelivery("more than 8 hours old")
        return ingress.admit(rt, envelope)

    patch.setattr(deliver, "admit", admit)


def timeout_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(evaluation.EvaluationContext, "is_late_at", lambda _moment, _ms: False)


def tolerated_failures_counted_twice(patch: pytest.MonkeyPatch) -> None:
    too_many = join.too_many_failed
    patch.setattr(
        join, "too_many_failed", lambda state, value, failed, *around: too_many(state, value, 2 * failed, *around)
    )


def tolerated_failure_fails(patch: pytest.MonkeyPatch) -> None:
    def fail(rt: Runtime, effect: plan.BranchFailed, _delivery: DeliveryState) -> list[plan.Commit]:
        scope = Scope.around(effect.execution, effect.frames)
        return [join._fail_scope(rt, scope, effect.failure, join.read_origin(rt, scope))]

    patch.setattr(perform, "fail", fail)


def start_named_by_delivery(rt: Runtime, request_id: str, event: Json) -> None:
    start.start(rt, request_id if rt.delivery == "delivery 1" else str(uuid.uuid4()), event)


def count_invocations_in_the_sandbox(patch: pytest.MonkeyPatch) -> None:
    counted: dict[object, int] = {}

    def beyond(workflow: Workflow, _name: Name, _width: int | None) -> Failure | None:
        counted[workflow] = counted.get(workflow, 0) + 1
        most = workflow.invocation_budget
        return None if most is None or counted[workflow] <= most else Failure("Unum.InvocationBudgetExceeded", "")

    patch.setattr(plan, "beyond_budget", beyond)


MUTATIONS: dict[str, Mutation] = {
    "invocations counted in the sandbox": Mutation(
        graph="loop over a map beyond its budget",
        faults=DUPLICATE,
        breaks=Invariant.CONSISTENT,
        patch=count_invocations_in_the_sandbox,
    ),
    "counter instead of set": Mutation(
        graph="map", faults=DUPLICATE, breaks=Invariant.NO_LOST_WORK, scenario={"store": CountingStore}
    ),
    "size not asserted": Mutation(
        graph="map",
        faults=DUPLICATE,
        breaks=Invariant.SAME_VIEW,
        patch=join_whatever_is_there,
        scenario={"store": CountingStore},
    ),
    "join without order": Mutation(
        graph="map without join", faults=CRASH, breaks=Invariant.CONSISTENT, patch=join_without_order
    ),
    "loser stops": Mutation(graph="chain", faults=BOTH, breaks=Invariant.NO_LOST_WORK, patch=loser_stops),
    "known outcome stops": Mutation(
        graph="chain", faults=CRASH, breaks=Invariant.NO_LOST_WORK, patch=known_outcome_stops
    ),
    "fire only on transition": Mutation(
        graph="diamond", faults=CRASH, breaks=Invariant.NO_LOST_WORK, scenario={"store": TransitionStore}
    ),
    "create without condition": Mutation(
        graph="chain",
        faults=DUPLICATE,
        breaks=Invariant.CONSISTENT,
        scenario={"store": OverwritingStore, "by_client": True},
    ),
    "guard ignored": Mutation(graph="chain", faults=DUPLICATE, breaks=Invariant.NO_RERUN, patch=guard_ignored),
    "unprocessed keys taken for absent": Mutation(
        graph="loop in a map", faults=CRASH, breaks=Invariant.NO_RERUN, scenario={"store": HalfReadingStore}
    ),
    "no deadline": Mutation(
        graph="chain",
        faults=Faults(crashes=0, duplicates=1, jumps=1),
        breaks=Invariant.CONSISTENT,
        patch=no_deadline,
    ),
    "deadline without end": Mutation(
        graph="chain",
        faults=Faults(crashes=0, duplicates=1, jumps=1),
        breaks=Invariant.CONSISTENT,
        patch=deadline_without_end,
    ),
    "life shorter than that of events": Mutation(
        graph="chain", faults=CRASH, breaks=Invariant.NOTHING_LEAKS, patch=short_life
    ),
    "plan from own outcome": Mutation(
        graph="map", faults=DUPLICATE, breaks=Invariant.SAME_VIEW, patch=plan_from_own_outcome
    ),
    "invoke before commit": Mutation(
        graph="chain", faults=CRASH, breaks=Invariant.SAME_VIEW, patch=invoke_before_commit
    ),
    "complete before commit": Mutation(
        graph="diamond", faults=CRASH, breaks=Invariant.NO_LOST_WORK, patch=complete_before_commit
    ),
    "continue before commit": Mutation(
        graph="diamond", faults=CRASH, breaks=Invariant.NO_LOST_WORK, patch=continue_before_commit
    ),
    "keys without frames": Mutation(
        graph="map", faults=CRASH, breaks=Invariant.NO_LOST_WORK, patch=keys_without_frames
    ),
    "names without frames": Mutation(graph="map", faults=CRASH, breaks=Invariant.SAME_VIEW, patch=names_without_frames),
    "scopes without iteration": Mutation(
        graph="map in a loop", faults=CRASH, breaks=Invariant.CONSISTENT, patch=scopes_without_iteration
    ),
    "execution not named for the event": Mutation(
        graph="chain", faults=DUPLICATE, breaks=Invariant.ONE_RESULT, scenario={"entry": start_named_by_delivery}
    ),
    "outcome of any size": Mutation(
        graph="large result", faults=CRASH, breaks=Invariant.NO_LOST_WORK, patch=outcome_of_any_size
    ),
    "result beside outcome": Mutation(
        graph="growing results", faults=CRASH, breaks=Invariant.NO_LOST_WORK, patch=result_beside_outcome
    ),
    "idempotency key of the delivery": Mutation(
        graph="chain", faults=CRASH, breaks=Invariant.SAME_VIEW, patch=idempotency_key_of_the_delivery
    ),
    "time of the delivery": Mutation(
        graph="times", faults=CRASH, breaks=Invariant.SAME_VIEW, patch=time_of_the_delivery, scenario={"tick_ms": 1}
    ),
    "collected branch ends the delivery": Mutation(
        graph="nested maps in place",
        faults=Faults(crashes=1, duplicates=0, concurrency=1),
        breaks=Invariant.NO_LOST_WORK,
        patch=collected_branch_ends_the_delivery,
        scenario={"collection": Collection.EAGER},
        is_near=False,
    ),
    "no tombstone": Mutation(
        graph="chain",
        faults=DUPLICATE,
        breaks=Invariant.CONSISTENT,
        scenario={"store": DeletingStore, "collection": Collection.EAGER},
    ),
    "idempotency key of the attempt": Mutation(
        graph="retry of a task", faults=CRASH, breaks=Invariant.SAME_VIEW, patch=idempotency_key_of_the_attempt
    ),
    "retries uncounted": Mutation(
        graph="retry of a task", faults=CRASH, breaks=Invariant.CONSISTENT, patch=retries_uncounted
    ),
    "caught before retried": Mutation(
        graph="retry exhausted then catch", faults=CRASH, breaks=Invariant.CONSISTENT, patch=caught_before_retried
    ),
    "caught without variables": Mutation(
        graph="variables over failures", faults=CRASH, breaks=Invariant.CONSISTENT, patch=caught_without_variables
    ),
    "joined without variables": Mutation(
        graph="variables through a map", faults=CRASH, breaks=Invariant.CONSISTENT, patch=joined_without_variables
    ),
    "retry of a scope without a commit": Mutation(
        graph="two failures", faults=CRASH, breaks=Invariant.NO_LOST_WORK, patch=retry_without_commit
    ),
    "retry of a scope planned from own outcome": Mutation(
        graph="two failures", faults=CRASH, breaks=Invariant.SAME_VIEW, patch=plan_from_own_outcome, is_near=False
    ),
    "retried scope in the names of before": Mutation(
        graph="retry of a parallel", faults=CRASH, breaks=Invariant.CONSISTENT, patch=scopes_without_generation
    ),
    "late branch completes the next generation": Mutation(
        graph="retry of a parallel",
        faults=CRASH,
        breaks=Invariant.NO_LOST_WORK,
        patch=sets_without_generation,
        is_near=False,
    ),
    "retry of a scope at once": Mutation(
        graph="retry of a parallel", faults=CRASH, breaks=Invariant.CONSISTENT, patch=retry_of_a_scope_at_once
    ),
    "nothing waits": Mutation(
        graph="wait before a task", faults=CRASH, breaks=Invariant.SAME_VIEW, patch=nothing_waits
    ),
    "old events are refused": Mutation(
        graph="chain",
        faults=Faults(crashes=0, duplicates=0, jumps=1),
        breaks=Invariant.NO_LOST_WORK,
        patch=old_events_refused,
    ),
    "timeout ignored": Mutation(
        graph="timeout between retries of a scope", faults=CRASH, breaks=Invariant.SAME_VIEW, patch=timeout_ignored
    ),
    "tolerated failures counted twice": Mutation(
        graph="tolerated failures",
        faults=CRASH,
        breaks=Invariant.CONSISTENT,
        patch=tolerated_failures_counted_twice,
    ),
}
"""Every mistake by name."""
