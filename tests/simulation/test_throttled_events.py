"""Lambda gives up events for lack of concurrency, and the failure handler's own code sends them again."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.simulation.definitions import Graph, machine, parallel, task, varying
from tests.simulation.recovery_scenarios import catch, fails, retry
from tests.simulation.scenarios import HOUR_S, scenario
from unum_runtime.cold_start.records import replace
from unum_runtime.functions.operations import failure_function
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Collection
from unum_runtime.protocol.delivery import ingress
from unum_runtime.protocol.runtime import Runtime
from unum_simulator import Faults, Invariant, Scenario, Violation, explore, search
from unum_simulator import moves as simulator_moves
from unum_simulator.exploration import random_run
from unum_simulator.world import Event

ONE = Faults(crashes=0, duplicates=0, give_ups=1)
MANY = Faults(crashes=0, duplicates=0, give_ups=6)
RACING = Faults(crashes=1, duplicates=1, give_ups=2)
DAYS = Faults(crashes=2, duplicates=2, throttles=2, give_ups=4, jumps=3, jump_s=(900, 7 * HOUR_S), concurrency=3)
CHAIN = Graph(machine(A=task("a", "B"), B=task("b")), dict.fromkeys("ab", varying))
ONCE = Graph(
    machine(A=task("a", "B", Retry=retry("States.ALL")), B=task("b", Catch=catch("C")), C=task("c")),
    dict.fromkeys("abc", varying),
)
"""Rules for failures, which no throttled event may use."""

FAILING = Graph(
    machine(P=parallel(machine(A=task("a")), machine(B=task("b")), following="C", Catch=catch("C")), C=task("c")),
    {"a": fails(lambda *_: True), "b": varying, "c": varying},
)
"""One branch fails the fan-out, while the event of the other waits."""


def of(graph: Graph, faults: Faults, **fields: Any) -> Scenario:
    return Scenario(workflow=graph.workflow(), functions=graph.functions, input=graph.input, faults=faults, **fields)


@pytest.fixture(autouse=True)
def only_throttled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Lambda give up events for lack of concurrency alone."""

    def errors(event: Event) -> Iterator[str]:
        yield event.error

    monkeypatch.setattr(simulator_moves, "errors", errors)


@pytest.mark.parametrize(
    "graph",
    [
        "chain",
        "diamond",
        "limited map",
        "retry of a task",
        "catch of a task",
        "leased chain",
        "job",
        "wait before a task",
    ],
)
@pytest.mark.parametrize("collection", Collection)
def test_executions_end_in_every_order_of_given_up_events(graph: str, collection: Collection) -> None:
    assert explore(scenario(graph, faults=ONE, collection=collection)).is_complete


@pytest.mark.parametrize("graph", ["chain", "catch of a task", "wait before a task"])
def test_failure_handler_may_die_or_run_twice(graph: str) -> None:
    assert explore(scenario(graph, faults=RACING), max_states=1_500).states


@pytest.mark.parametrize(
    "graph", ["chain", "map", "leased map", "retry of a parallel", "jobs of branches", "unguarded map"]
)
@pytest.mark.parametrize("by_client", [False, True])
def test_executions_end_after_days_without_concurrency(graph: str, *, by_client: bool) -> None:
    assert search(scenario(graph, faults=DAYS, tick_ms=1, by_client=by_client), range(4)).ends == 4


@pytest.mark.parametrize("graph", [CHAIN, ONCE], ids=["chain", "rules"])
def test_throttled_events_use_no_rule_for_failures(graph: Graph) -> None:
    """The execution succeeds however often each event is given up, and never by a retry or catcher."""
    for seed in range(40):
        run = random_run(of(graph, MANY), seed)
        assert run.ending.status is Status.SUCCEEDED
        assert run.ending == random_run(of(graph, Faults(crashes=0, duplicates=0)), 0).ending


def commits_a_failure(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(failure_function, "is_throttled", lambda *_: False)
    patch.setattr(failure_function, "UNKNOWN", failure_function.THROTTLED)


def loses_the_event(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(failure_function, "send_again", lambda *_: True)


def counts_an_attempt(patch: pytest.MonkeyPatch) -> None:
    def counted(rt: Runtime, planned: Envelope, *rest: Any) -> bool:
        return send_again(rt, replace(planned, retries=(1,)), *rest)

    send_again = failure_function.send_again
    patch.setattr(failure_function, "send_again", counted)


def sends_what_nothing_depends_on(patch: pytest.MonkeyPatch) -> None:
    """The failure handler does not look at the outcomes of the fan-outs around an event."""

    def alone(rt: Runtime, name: Any, state: str) -> Any:
        return read_outcome(rt, name, state)[0], []

    read_outcome = ingress.read_outcome
    patch.setattr(ingress, "read_outcome", alone)


def sends_an_event_with_an_outcome(patch: pytest.MonkeyPatch) -> None:
    """The failure handler sends a throttled event again without a look at the store."""

    def blind(rt: Runtime, envelope: Envelope, failure: Any, again: Any = None) -> None:
        if again is None or not again():
            fail_invocation(rt, envelope, failure)

    fail_invocation = failure_function.fail_invocation
    patch.setattr(failure_function, "fail_invocation", blind)


@pytest.mark.parametrize(
    ("mistake", "graph", "faults", "breaks"),
    [
        (commits_a_failure, CHAIN, ONE, Invariant.CONSISTENT),
        (loses_the_event, CHAIN, ONE, Invariant.NO_LOST_WORK),
        (counts_an_attempt, ONCE, ONE, Invariant.CONSISTENT),
        (sends_what_nothing_depends_on, FAILING, ONE, Invariant.NO_RERUN),
        (sends_an_event_with_an_outcome, CHAIN, RACING, Invariant.NO_RERUN),
    ],
)
def test_mistake_is_found(
    mistake: Callable[[pytest.MonkeyPatch], Any],
    graph: Graph,
    faults: Faults,
    breaks: Invariant,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert explore(of(graph, faults), max_states=3_000).states
    mistake(monkeypatch)
    with pytest.raises(Violation) as found:
        explore(of(graph, faults))
    assert found.value.invariant is breaks
