"""Task tokens that are answered, failed, kept alive, answered twice, too late, or never."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.definitions import Graph, machine, map_, task
from tests.simulation.executions import stamped
from tests.simulation.recovery_scenarios import Flaky, catch, polled, retry
from unum_runtime.errors import TaskTimedOut
from unum_runtime.features.task_tokens import given_tokens
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.ir import Collection
from unum_runtime.model.states import Json
from unum_runtime.protocol.requests import respond
from unum_runtime.protocol.runtime import CallbackPending
from unum_runtime.protocol.waiting import callback
from unum_simulator import Context, Faults, Invariant, Scenario, Violation, explore, search

ONE = Faults(crashes=0, duplicates=0, answers=1)
TWO = Faults(crashes=0, duplicates=0, answers=2)
NEVER = Faults(crashes=0, duplicates=0)
CRASH = Faults(crashes=1, duplicates=0, answers=1)
DUPLICATE = Faults(crashes=0, duplicates=1, answers=1)
CRASH_OR_DUPLICATE = Faults(crashes=1, duplicates=1)
REPEATED = Faults(crashes=0, duplicates=0, repeats=1, answers=1)
BEATS = Faults(crashes=0, duplicates=0, answers=1, heartbeats=1)
WIDE = Faults(
    crashes=2, duplicates=2, throttles=2, stops=1, nudges=1, redrives=1, skews=1, repeats=1, splits=1, give_ups=1,
    answers=4, heartbeats=2, concurrency=3,
)  # fmt: skip


def asks(following: str | None = None, **fields: Json) -> Json:
    """A Task that waits for an answer."""
    parameters = {"FunctionName": "a", "Payload": {"token.$": "$$.Task.Token"}}
    return task("arn:aws:states:::lambda:invoke.waitForTaskToken", following, Parameters=parameters, **fields)


def job_with_token(following: str | None = None, **fields: Json) -> Json:
    """A Task that waits for a job, whose arguments name the task token."""
    parameters = {"TaskDefinition.$": "$$.Task.Token"}
    return task("arn:aws:states:::ecs:runTask.sync", following, Parameters=parameters, **fields)


def asked(_event: Json, _context: Context) -> Any:
    return CallbackPending()


def asked_in_vain(_event: Json, context: Context) -> Any:
    """Fails after it has passed the token on, in the first attempt."""
    if context.unum.attempt == 0:
        raise Flaky("after it has asked")
    return CallbackPending()


FUNCTIONS = {"a": asked, "b": stamped}
GRAPHS = {
    "for ever": Graph(machine(A=asks("B"), B=task("b")), FUNCTIONS),
    "timeout": Graph(machine(A=asks("B", TimeoutSeconds=60), B=task("b")), FUNCTIONS),
    "heartbeat": Graph(machine(A=asks("B", TimeoutSeconds=60, HeartbeatSeconds=20), B=task("b")), FUNCTIONS),
    "retry": Graph(
        machine(A=asks("B", TimeoutSeconds=60, Retry=retry("States.ALL"), Catch=catch("B")), B=task("b")), FUNCTIONS
    ),
    "failing": Graph(machine(A=asks("B", Retry=retry("Flaky")), B=task("b")), {"a": asked_in_vain, "b": stamped}),
    "branches": Graph(
        machine(M=map_(machine(A=asks(TimeoutSeconds=60)), "B", ItemsPath="$.items"), B=task("b")),
        FUNCTIONS,
        {"items": [1, 2]},
    ),
    "job": Graph(
        machine(A=job_with_token("B", Retry=retry("States.ALL"), Catch=catch("B")), B=task("b")),
        {"A": polled, "b": stamped},
    ),
}


def of(graph: str, faults: Faults, **fields: Any) -> Scenario:
    found = GRAPHS[graph]
    return Scenario(workflow=found.workflow(), functions=found.functions, input=found.input, faults=faults, **fields)


@pytest.mark.parametrize("graph", ["for ever", "timeout", "heartbeat", "retry", "failing", "job"])
@pytest.mark.parametrize("faults", [NEVER, ONE, TWO, REPEATED], ids=["never", "once", "twice", "repeated"])
def test_every_way_of_answers(graph: str, faults: Faults) -> None:
    assert explore(of(graph, faults)).is_complete


@pytest.mark.parametrize("graph", ["for ever", "timeout", "failing", "job"])
@pytest.mark.parametrize("faults", [CRASH, DUPLICATE], ids=["crash", "duplicate"])
@pytest.mark.parametrize("collection", Collection)
def test_every_way_of_an_answer_and_a_fault(graph: str, faults: Faults, collection: Collection) -> None:
    assert explore(of(graph, faults, collection=collection), max_states=800).states


def test_every_way_of_heartbeats() -> None:
    assert explore(of("heartbeat", BEATS)).is_complete


@pytest.mark.parametrize("graph", GRAPHS)
def test_by_chance(graph: str) -> None:
    assert search(of(graph, WIDE, tick_ms=1), range(8)).ends == 8


def answered(_event: Json, context: Context) -> Any:
    """Stands in for the asked party too, as handlers under a Task's name do."""
    return {"answer": context.unum.attempt}


@pytest.mark.parametrize("graph", GRAPHS)
def test_a_stand_in_that_answers_itself_breaks_no_guarantee(graph: str) -> None:
    found = of(graph, CRASH_OR_DUPLICATE)
    assert search(replace(found, functions={"a": answered, "A": answered, "b": stamped}, tick_ms=1), range(5)).ends == 5


def accepts_twice(patch: pytest.MonkeyPatch) -> None:
    """Every answer is accepted, though only the first one counts."""

    def accept(*arguments: Any) -> None:
        try:
            send_result(*arguments)
        except TaskTimedOut:
            return

    send_result = respond.send_result
    patch.setattr(respond, "send_result", accept)


def forgets_who_answered(patch: pytest.MonkeyPatch) -> None:
    """An answer does not know its own write when its sender, or the AWS client, repeats it."""
    send_result = respond.send_result
    patch.setattr(respond, "send_result", lambda rt, token, result, _request: send_result(rt, token, result, ""))


def stores_without_continuing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(respond, "nudge", lambda *_: None)


def times_out_what_is_answered(patch: pytest.MonkeyPatch) -> None:
    """A time limit counts more than an answer that was there before."""
    store_result = callback.store_result

    def own(rt: Any, envelope: Any, failure: Any, by: callback.By) -> Any:
        store_result(rt, envelope, failure, by)
        return callback.result_item(failure, by)

    patch.setattr(given_tokens, "store_result", own)


def takes_any_result(patch: pytest.MonkeyPatch) -> None:
    """Continue an answer's event with another result than the stored one."""
    parse_result = callback.parse_result

    def other(item: Any) -> Any:
        found = parse_result(item)
        return Success(1) if isinstance(found, Success) else found

    patch.setattr(callback, "parse_result", other)


@pytest.mark.parametrize(
    ("mistake", "graph", "faults", "breaks"),
    [
        (accepts_twice, "for ever", TWO, {Invariant.ONE_RESULT}),
        (forgets_who_answered, "for ever", REPEATED, {Invariant.ONE_RESULT}),
        (forgets_who_answered, "for ever", CRASH, {Invariant.ONE_RESULT}),
        (stores_without_continuing, "for ever", ONE, {Invariant.NO_LOST_WORK}),
        (takes_any_result, "for ever", ONE, {Invariant.CONSISTENT}),
        (times_out_what_is_answered, "timeout", ONE, {Invariant.CONSISTENT}),
    ],
)
def test_a_mistake_is_found(
    mistake: Callable[[pytest.MonkeyPatch], Any],
    graph: str,
    faults: Faults,
    breaks: set[Invariant],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mistake(monkeypatch)
    with pytest.raises(Violation) as found:
        explore(of(graph, faults))
    assert found.value.invariant in breaks
