"""Deliberate mistakes with calls, each with faults under which it shows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.simulation.call_scenarios import CRASH, EXPIRED, FORGOTTEN, HOUR_S, LOST, ONE, STOPPED, TWO
from unum_runtime.features.memo import calling, memo
from unum_runtime.protocol.history import start_records
from unum_simulator import Faults, Invariant


def compares_all_arguments(patch: pytest.MonkeyPatch) -> None:
    """Equal calls with other arguments are refused, as starts by name are."""
    patch.setattr(start_records, "create_start", start_records.record_start)


def begins_a_run_for_each_call(patch: pytest.MonkeyPatch) -> None:
    newest = calling._newest
    patch.setattr(calling, "_newest", lambda rt, name: (newest(rt, name)[0], None))


def begins_its_own_run(patch: pytest.MonkeyPatch) -> None:
    """A caller whose number is taken begins the run that it has drawn, though nobody else finds it."""
    begin = calling._begin

    def own(rt: Any, _run: str, value: Any) -> Any:
        return begin(rt, f"{calling._run_prefix('A')}{calling.sha256(rt.new_secret().encode())[:32]}", value)

    patch.setattr(calling, "_begin", own)


def looks_for_the_result_first(patch: pytest.MonkeyPatch) -> None:
    """A run that ends between the look for its result and the look for the run is followed by another."""
    newest, find = calling._newest, calling.find_stored
    found: list[Any] = [None]

    def early(rt: Any, name: str) -> Any:
        task = rt.workflow.tasks[0]
        found[0] = find(rt, memo.memo_key(rt.workflow.name, task, name), None)
        return newest(rt, name)

    patch.setattr(calling, "_newest", early)
    patch.setattr(calling, "find_stored", lambda *_: found[0])


def forgets_results(patch: pytest.MonkeyPatch) -> None:
    """Each call after the end begins another run."""
    patch.setattr(calling, "find_stored", lambda *_: None)


def believes_forgotten_results(patch: pytest.MonkeyPatch) -> None:
    """A sandbox remembers results itself."""
    find = calling.find_stored
    known: dict[Any, Any] = {}

    def cached(rt: Any, key: Any, by: Any) -> Any:
        found = find(rt, key, by)
        known[key] = found or known.get(key)
        return known[key]

    patch.setattr(calling, "find_stored", cached)


def tells_the_run_as_result(patch: pytest.MonkeyPatch) -> None:
    """A call is answered by the run that ended, also after its result was forgotten or has expired."""
    status = calling._status

    def ended(rt: Any, asked: Any) -> Any:
        _, run = calling._newest(rt, calling.result_key(rt, rt.workflow.task("A"), asked.arguments)[0].sort)
        reply = status(rt, run, "A") if run else None
        return reply if reply is not None and "Output" in reply else call(rt, asked)

    call = calling.call
    patch.setattr(calling, "call", ended)


def never_sends_again(patch: pytest.MonkeyPatch) -> None:
    """The event of a run was lost with its caller."""
    patch.setattr(calling, "LEASE_MS", 10**12)


def shares_failures(patch: pytest.MonkeyPatch) -> None:
    """A stopped run counts as underway for ever."""
    newest = calling._status

    def running(rt: Any, run: str, state: str) -> Any:
        reply = newest(rt, run, state)
        return {"Status": "RUNNING", "Run": run} if reply is not None and "Error" in reply else reply

    patch.setattr(calling, "_status", running)


def names_results_by_another_member(patch: pytest.MonkeyPatch) -> None:
    """Identify results by an argument that differs between equal calls."""
    find = memo._find_in
    patch.setattr(memo, "_find_in", lambda event, _place: find(event, ("x",)))


def names_results_by_all_arguments(patch: pytest.MonkeyPatch) -> None:
    """Calls differ by arguments that the key leaves out."""
    own = memo._own_names

    def whole(rt: Any, task: Any, event: Any) -> Any:
        return [*own(rt, task, event)[:-1], {"event": event}]

    patch.setattr(memo, "_own_names", whole)


def run_does_not_look(patch: pytest.MonkeyPatch) -> None:
    """A run computes what is remembered."""
    patch.setattr(memo, "compute_once", lambda _rt, _envelope, _task, _event, compute: compute())


@dataclass(frozen=True)
class CallMutation:
    """A mistake, and where it shows."""

    patch: Callable[[pytest.MonkeyPatch], None]
    faults: Faults
    breaks: frozenset[Invariant]
    lifetime_s: int | None = None


def one(*found: Invariant) -> frozenset[Invariant]:
    return frozenset(found)


LOST_WORK, SHARED, CONSISTENT, RESULT = (
    Invariant.NO_LOST_WORK,
    Invariant.SHARED,
    Invariant.CONSISTENT,
    Invariant.ONE_RESULT,
)
DIFFERENT = one(SHARED, RESULT, Invariant.NO_RERUN)
"""Calls that should be equal have several runs, and several results."""

CALL_MUTATIONS = {
    "compares all arguments": CallMutation(compares_all_arguments, TWO, one(LOST_WORK)),
    "begins a run for each call": CallMutation(begins_a_run_for_each_call, TWO, one(SHARED, LOST_WORK)),
    "begins its own run": CallMutation(begins_its_own_run, TWO, one(SHARED)),
    "looks for the result first": CallMutation(looks_for_the_result_first, TWO, one(LOST_WORK, RESULT, SHARED)),
    "forgets results": CallMutation(forgets_results, ONE, one(LOST_WORK, RESULT)),
    "believes forgotten results": CallMutation(believes_forgotten_results, FORGOTTEN, one(CONSISTENT)),
    "believes expired results": CallMutation(believes_forgotten_results, EXPIRED, one(CONSISTENT), HOUR_S),
    "tells the run as result": CallMutation(tells_the_run_as_result, FORGOTTEN, one(CONSISTENT)),
    "never sends again": CallMutation(never_sends_again, CRASH, one(LOST_WORK)),
    "never sends again what was lost": CallMutation(never_sends_again, LOST, one(LOST_WORK)),
    "shares failures": CallMutation(shares_failures, STOPPED, one(LOST_WORK, RESULT)),
    "names results by another member": CallMutation(names_results_by_another_member, TWO, DIFFERENT),
    "names results by all arguments": CallMutation(names_results_by_all_arguments, TWO, DIFFERENT),
    "run does not look": CallMutation(run_does_not_look, TWO, one(Invariant.NO_RERUN, LOST_WORK, RESULT)),
}
