"""One delivery goes on with Tasks of its own function, and what becomes of it when that goes wrong."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.simulation.definitions import Graph, choice, machine, map_, pass_, task, varying
from tests.simulation.scenarios import BOTH, CRASH, fused, scenario
from tests.simulation.stage import PLENTY, Stage
from unum_runtime.model.checkpoint import Ending, Failure, Success
from unum_runtime.model.states import Json
from unum_runtime.protocol.delivery import fusion, perform
from unum_simulator import Scenario, explore
from unum_simulator.faults import Fault
from unum_simulator.invariants import Broken
from unum_simulator.recorded_calls import Primitive
from unum_simulator.scenario import Context

MAX_STATES = 2_500
TIMEOUT_S = 60
CHAIN = machine(A=task("a", "B"), B=task("b", "C"), C=task("c"))


def of(definition: Json, handler: Any = varying, value: Json = 1, **fields: Any) -> Stage:
    workflow = Graph(definition, {}).workflow()
    functions = dict.fromkeys((each.function for each in workflow.tasks), handler)
    return Stage(fused(Scenario(workflow=workflow, functions=functions, input=value, faults=PLENTY, **fields)))


def taking(seconds: int) -> Any:
    def handler(event: Json, context: Context) -> Json:
        context.clock.sleep(seconds)
        return event

    return handler


def runs(play: Stage) -> list[int]:
    return [count for state in "ABC" for count in play.runs_of(state)]


def sent(play: Stage) -> Iterator[str]:
    """The states of the events that were accepted."""
    return (line.split()[-1] for line in play.log if ": invoke " in line and "not accepted" not in line)


def test_a_chain_in_one_function_is_one_delivery() -> None:
    play = of(CHAIN)
    play.run()
    assert (play.world.delivered, runs(play), [*sent(play)]) == (1, [1, 1, 1], [])


def test_a_chain_of_several_functions_takes_a_delivery_for_each() -> None:
    play = Stage(scenario("chain", faults=PLENTY))
    play.run()
    assert (play.world.delivered, [*sent(play)]) == (3, ["B", "C"])


def test_switched_off_each_task_has_its_own_delivery() -> None:
    play = of(CHAIN, fusion=False)
    play.run()
    assert (play.world.delivered, [*sent(play)]) == (3, ["B", "C"])


def test_a_loop_goes_on_in_one_delivery() -> None:
    again = choice(({"Variable": "$.n", "NumericLessThan": 5}, "A"), default="Done")
    play = of(
        machine(A=task("a", "Again"), Again=again, Done={"Type": "Succeed"}),
        lambda event, _context: {"n": event["n"] + 1},
        {"n": 0},
    )
    assert play.result() == {"n": 5}
    assert play.world.delivered == 1


def test_branches_have_their_own_deliveries_and_the_last_runs_the_join() -> None:
    play = of(machine(M=map_(machine(A=task("a", "B"), B=task("b")), "C"), C=task("c")), value=[1, 2])
    play.run()
    assert [*sent(play)] == ["A", "A"]


def test_a_map_of_one_goes_on_where_it_began() -> None:
    play = of(machine(A=task("a", "M"), M=map_(machine(B=task("b")), "C"), C=task("c")), lambda _event, _context: [1])
    play.run()
    assert play.world.delivered == 1


def test_a_lane_goes_on_from_branch_to_branch() -> None:
    several = machine(M=map_(machine(A=task("a", "B"), B=task("b")), "C", MaxConcurrency=2), C=task("c"))
    play = of(several, value=[1, 2, 3, 4, 5])
    play.run()
    assert runs(play) == [1] * 11
    assert [*sent(play)] == ["A", "A"]


def test_a_lane_in_a_lane_is_one_delivery_after_the_start() -> None:
    inner = machine(N=map_(machine(A=task("a")), MaxConcurrency=1))
    play = of(machine(M=map_(inner, "B", MaxConcurrency=1), B=task("b")), value=[[1, 2], [3, 4, 5]])
    play.run()
    assert (play.world.delivered, runs(play)) == (2, [1] * 6)


def test_each_branch_of_a_lane_has_an_event_of_its_own() -> None:
    """The items are a value that branches would share: what user code changes in one, the others do not see."""

    def changing(event: dict[str, Json], _context: Context) -> Json:
        event["shared"].append(0)
        return len(event["shared"])

    selecting = map_(machine(A=task("a")), ItemSelector={"shared.$": "$"}, MaxConcurrency=1)
    assert of(machine(M=selecting), changing, [1, 2, 3]).result() == [4, 4, 4]


def test_what_follows_does_not_see_what_user_code_makes_of_its_event() -> None:
    def changing(event: dict[str, Json], context: Context) -> Json:
        event[context.unum.state] = True
        return event if context.unum.state == "A" else len(event)

    keeping = task("b", "C", ResultPath="$.b")
    assert of(machine(A=task("a", "B"), B=keeping, C=task("c")), changing, {}).result() == 3


def shares_with_variables() -> Json:
    """Return a variable that a Task assigns from a value changed by the next Task."""

    def changing(event: dict[str, Json], context: Context) -> Json:
        if context.unum.state == "B":
            event["list"].append(2)
        return event

    assigning = task("a", "B", Assign={"x.$": "$.list"})
    showing = task("c", Parameters={"x.$": "$x"})
    play = of(machine(A=assigning, B=task("b", "C"), C=showing), changing, {"list": [1]})
    return play.result()


def test_what_follows_has_an_event_of_its_own() -> None:
    assert shares_with_variables() == {"x": [1]}


def test_without_one_it_would_change_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perform, "own_event", lambda event: event)
    with pytest.raises(Broken, match="expected the variables"):
        shares_with_variables()


@pytest.mark.parametrize("fusion", [True, False])
def test_what_is_too_large_for_an_event_fails_whether_one_is_sent_or_not(*, fusion: bool) -> None:
    outcome = repeated(6, fusion=fusion).outcome
    assert isinstance(outcome, Failure)
    assert outcome.error == "States.DataLimitExceeded"


def test_unless_nobody_looks_at_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perform, "fits", lambda *_: True)
    assert isinstance(repeated(6, fusion=True).outcome, Success)


def repeated(times: int, *, fusion: bool) -> Ending:
    """Return the end of a chain whose second Task gets 200 KB this many times."""
    several = pass_("B", Parameters={f"text{number}.$": "$" for number in range(times)})
    definition = machine(A=task("a", "Several"), Several=several, B=task("b"))
    return of(definition, lambda event, _: event if isinstance(event, str) else 0, "x" * 200_000, fusion=fusion).run()


def test_what_died_in_a_later_task_gets_deliveries_of_its_own() -> None:
    """Neither the platform's tries nor the failure handler's word are those of the Task that the event was for."""
    play = of(CHAIN)
    play.deliver("start")
    while not runs(play)[2:]:
        play.proceed_to(Primitive.CREATE)
        play._proceed(Fault.NONE, 0)
    play.fail(Fault.CRASH_BEFORE)
    play.run()
    assert [*sent(play)] == ["B", "C"]
    assert runs(play) == [1, 1, 2]


@pytest.mark.parametrize(("seconds", "deliveries"), [(1, 1), (10, 2), (20, 3), (50, 3)])
def test_it_goes_on_as_long_as_three_quarters_of_the_time_remain(seconds: int, deliveries: int) -> None:
    play = of(CHAIN, taking(seconds), timeout_s=TIMEOUT_S)
    play.run()
    assert (play.world.delivered, runs(play)) == (deliveries, [1, 1, 1])


def test_without_that_limit_user_code_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion, "SHARE", 0)
    play = of(CHAIN, taking(50), timeout_s=TIMEOUT_S)
    play.run()
    assert max(runs(play)) > 1


def test_a_task_that_says_how_long_it_takes_needs_no_more_than_that() -> None:
    quick = {"TimeoutSeconds": 5}
    play = of(machine(A=task("a", "B"), B=task("b", "C", **quick), C=task("c")), taking(4), timeout_s=8)
    play.run()
    assert (play.world.delivered, [*sent(play)]) == (3, ["B", "C"])
    play = of(machine(A=task("a", "B"), B=task("b", "C", **quick), C=task("c")), taking(4), timeout_s=10)
    play.run()
    assert (play.world.delivered, [*sent(play)]) == (2, ["C"])


@pytest.mark.parametrize(
    ("graph", "faults"),
    [
        ("chain", BOTH),
        ("map", CRASH),
        ("uncommitted tasks", BOTH),
        ("leased chain", BOTH),
        ("leased task before another", BOTH),
        ("retry of a task", BOTH),
    ],
)
def test_in_every_way(graph: str, faults: Any) -> None:
    assert explore(scenario(graph, faults=faults, in_one_function=True), max_states=MAX_STATES).states
