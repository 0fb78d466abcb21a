"""Mistakes in what commits tell of attempts; nothing is planned from that, so nothing else would find them."""

from typing import Any

import pytest

from tests.simulation.mutations import NONE, Mutation
from unum_runtime.cold_start.records import replace
from unum_runtime.model.envelope import Envelope
from unum_runtime.protocol.delivery import commit, delivery_state, run_task
from unum_runtime.protocol.planning.plan import Commit
from unum_simulator import Invariant


def tries_lost_on_the_way(patch: pytest.MonkeyPatch) -> None:
    to_json = Envelope._without_input
    patch.setattr(Envelope, "_without_input", lambda own: to_json(replace(own, tries=())))


def tries_lost_at_the_commit(patch: pytest.MonkeyPatch) -> None:
    pack = delivery_state.pack
    patch.setattr(delivery_state, "pack", lambda *given, **named: pack(*given, **named | {"tries": ()}))


def only_the_last_try(patch: pytest.MonkeyPatch) -> None:
    with_try = run_task.with_try
    patch.setattr(run_task, "with_try", lambda _, *given: with_try((), *given))


def cause_in_place_of_the_error(patch: pytest.MonkeyPatch) -> None:
    with_try = run_task.with_try
    patch.setattr(run_task, "with_try", lambda tries, _error, *given: with_try(tries, "States.TaskFailed", *given))


def attempts_uncounted(patch: pytest.MonkeyPatch) -> None:
    draft = commit.draft

    def broken(rt: Any, effect: Commit, **more: Any) -> Any:
        return draft(rt, replace(effect, attempt=0), **more)

    patch.setattr(commit, "draft", broken)


def no_record(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(delivery_state.DeliveredEvent, "record", lambda *_given, **_named: "")


ATTEMPT_MUTATIONS = {
    "tries lost on the way": Mutation(
        graph="retry of a task", faults=NONE, breaks=Invariant.CONSISTENT, patch=tries_lost_on_the_way
    ),
    "tries lost at the commit": Mutation(
        graph="retry of a task", faults=NONE, breaks=Invariant.CONSISTENT, patch=tries_lost_at_the_commit
    ),
    "only the last try": Mutation(
        graph="two retriers", faults=NONE, breaks=Invariant.CONSISTENT, patch=only_the_last_try
    ),
    "cause in place of the error": Mutation(
        graph="retry of a task", faults=NONE, breaks=Invariant.CONSISTENT, patch=cause_in_place_of_the_error
    ),
    "attempts uncounted": Mutation(
        graph="retry of a task", faults=NONE, breaks=Invariant.CONSISTENT, patch=attempts_uncounted
    ),
    "no record": Mutation(graph="chain", faults=NONE, breaks=Invariant.CONSISTENT, patch=no_record),
}
"""Every mistake by name."""
