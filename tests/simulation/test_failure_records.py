"""Lambda gives up events, and the failure handler's own code continues from its records."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.simulation.definitions import Graph, machine, map_, task, varying
from tests.simulation.recovery_scenarios import catch, retry
from tests.simulation.scenarios import HOUR_S, scenario
from unum_runtime.errors import RefusedDelivery
from unum_runtime.functions.operations import failure_function
from unum_runtime.functions.operations.failure_function import GivenUp
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Collection
from unum_runtime.model.states import State
from unum_runtime.protocol.control import platform_failure
from unum_runtime.protocol.delivery import ingress
from unum_runtime.protocol.runtime import Runtime
from unum_simulator import Faults, Invariant, Scenario, Violation, explore, search
from unum_simulator.exploration import random_run

ONE = Faults(crashes=0, duplicates=0, give_ups=1)
TWO = Faults(crashes=0, duplicates=0, give_ups=2)
RACING = Faults(crashes=0, duplicates=1, give_ups=1)
LOST_TOO = Faults(crashes=1, duplicates=0, give_ups=1)
THROTTLED = Faults(crashes=0, duplicates=0, throttles=2, give_ups=1)
DAYS = Faults(
    crashes=3,
    duplicates=2,
    throttles=2,
    repeats=1,
    give_ups=3,
    jumps=3,
    jump_s=(200, 5 * HOUR_S, 7 * HOUR_S),
    concurrency=3,
)
"""A whole day: events wait for up to 6 hours, their records for as long again; then they are dead letters."""

AGAIN = Graph(
    machine(A=task("a", "B"), B=task("b", "C", Retry=retry("States.ALL")), C=task("c")), dict.fromkeys("abc", varying)
)
CAUGHT = Graph(
    machine(M=map_(machine(A=task("a", Catch=catch("B")), B=task("b")), ItemsPath="$.items")),
    dict.fromkeys("ab", varying),
    {"items": [1, 2]},
)


def of(graph: Graph, faults: Faults, **fields: Any) -> Scenario:
    return Scenario(workflow=graph.workflow(), functions=graph.functions, input=graph.input, faults=faults, **fields)


@pytest.mark.parametrize(
    "graph",
    [
        "chain",
        "diamond",
        "limited map",
        "retry of a task",
        "retry of one branch",
        "catch of a task",
        "leased chain",
        "job",
    ],
)
@pytest.mark.parametrize("faults", [ONE, TWO], ids=["one", "two"])
def test_every_way_with_given_up_events(graph: str, faults: Faults) -> None:
    assert explore(scenario(graph, faults=faults)).is_complete


@pytest.mark.parametrize("graph", ["chain", "wait before a task", "catch of a task"])
@pytest.mark.parametrize("faults", [RACING, LOST_TOO, THROTTLED], ids=["racing", "killed", "throttled"])
@pytest.mark.parametrize("collection", Collection)
def test_every_way_of_the_failure_handler_itself(graph: str, faults: Faults, collection: Collection) -> None:
    assert explore(scenario(graph, faults=faults, collection=collection), max_states=1_000).states


@pytest.mark.parametrize("graph", [AGAIN, CAUGHT], ids=["again", "caught"])
def test_every_way_of_what_follows_a_failure(graph: Graph) -> None:
    assert explore(of(graph, ONE)).is_complete


@pytest.mark.parametrize(
    "graph", ["chain", "map", "leased map", "retry of a parallel", "jobs of branches", "unguarded map"]
)
@pytest.mark.parametrize("by_client", [False, True])
def test_a_whole_day(graph: str, *, by_client: bool) -> None:
    assert search(scenario(graph, faults=DAYS, tick_ms=1, by_client=by_client), range(4)).ends == 4


def test_what_was_given_up_for_ever_fails_and_what_is_retried_succeeds() -> None:
    endings = {random_run(of(AGAIN, TWO), seed).ending.status for seed in range(40)}
    assert endings == {Status.SUCCEEDED, Status.FAILED}


def does_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(failure_function, "recover", lambda *_: None)


def fails_what_has_an_outcome(patch: pytest.MonkeyPatch) -> None:
    """The failure handler does not read what is committed."""

    def unread(rt: Runtime, envelope: Envelope, _state: State, *, fresh: bool) -> Any:  # noqa: ARG001 - the mistake
        return ingress._read_input(rt, envelope)

    patch.setattr(platform_failure, "look_up", unread)


def ignores_what_has_an_outcome(patch: pytest.MonkeyPatch) -> None:
    """The failure handler trusts the delivery that committed to have done the rest."""

    def read(*arguments: Any, **named: Any) -> Any:
        effect = ingress.look_up(*arguments, **named)
        if not hasattr(effect, "given"):
            raise RefusedDelivery("has an outcome")
        return effect

    patch.setattr(platform_failure, "look_up", read)


def takes_a_throttled_store_for_a_failure(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(failure_function, "TRANSIENT", frozenset())


def leaves_starts_alone(patch: pytest.MonkeyPatch) -> None:
    def only_envelopes(rt: Runtime, given_up: GivenUp) -> None:
        if not given_up.is_start:
            recover(rt, given_up)

    recover = failure_function.recover
    patch.setattr(failure_function, "recover", only_envelopes)


@pytest.mark.parametrize(
    ("mistake", "faults", "breaks"),
    [
        (does_nothing, ONE, Invariant.NO_LOST_WORK),
        (leaves_starts_alone, ONE, Invariant.NO_LOST_WORK),
        (fails_what_has_an_outcome, LOST_TOO, Invariant.NO_RERUN),
        (ignores_what_has_an_outcome, LOST_TOO, Invariant.NO_LOST_WORK),
        (takes_a_throttled_store_for_a_failure, THROTTLED, Invariant.CONSISTENT),
    ],
)
def test_a_mistake_is_found(
    mistake: Callable[[pytest.MonkeyPatch], Any], faults: Faults, breaks: Invariant, monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    with pytest.raises(Violation) as found:
        explore(of(AGAIN, faults))
    assert found.value.invariant is breaks
