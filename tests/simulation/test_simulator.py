"""The simulator itself: what users call, and that a violation can be seen again."""

import re
from importlib.metadata import entry_points

import pytest

from tests.simulation.graphs import GRAPHS
from tests.simulation.mutations import MUTATIONS
from tests.simulation.scenarios import DUPLICATE, HARSH, scenario
from unum_runtime.model.checkpoint import Ending, Status, Success
from unum_simulator import Context, Faults, Scenario, Violation, explore, replay, search, simulate
from unum_simulator.exploration import random_run

pytest_plugins = ["pytester"]

CHAIN = GRAPHS["chain"].workflow()
PLUGIN = "unum_simulator.pytest_plugin"


def count_up(event: int, _context: Context) -> int:
    return event + 1


def test_all_executions_of_a_deterministic_workflow_have_one_result() -> None:
    simulation = simulate(CHAIN, dict.fromkeys("abc", count_up), 1, faults=HARSH, runs=20)
    assert simulation.assert_one_result() == Ending(Status.SUCCEEDED, Success(4))
    assert simulation.ending == Ending(Status.SUCCEEDED, Success(4))


def test_results_that_depend_on_faults_are_told_with_their_seeds() -> None:
    functions = {**dict.fromkeys("ab", count_up), "c": lambda _event, context: context.run}
    simulation = simulate(CHAIN, functions, 1, faults=Faults(crashes=3), runs=40)
    with pytest.raises(AssertionError, match=r"40 executions had \d different endings:\nseed 0: .*\nseed \d+: "):
        simulation.assert_one_result()


def test_a_mock_for_a_task_precedes_the_one_for_its_function() -> None:
    functions = {**dict.fromkeys("abc", count_up), "B": lambda _event, _context: 10}
    assert simulate(CHAIN, functions, 1, runs=1).ending.outcome == Success(11)


def test_mocks_may_let_time_pass() -> None:
    def slow(event: int, context: Context) -> int:
        context.clock.sleep(30)
        return event

    faults = Faults(crashes=0, duplicates=0)
    simulation = simulate(CHAIN, dict.fromkeys("abc", slow), 1, faults=faults, runs=1)
    assert "90.0" in simulation.trace.lines[-1]
    assert simulation.clock.now_ms() - 1_800_000_000_000 >= 90_000


def test_a_task_without_a_handler_is_named() -> None:
    with pytest.raises(KeyError, match=r"no handler for the Tasks \['C'\]"):
        simulate(CHAIN, dict.fromkeys("ab", count_up))


def test_without_runs_nothing_is_simulated() -> None:
    with pytest.raises(ValueError, match="runs: expected at least 1, got 0"):
        simulate(CHAIN, dict.fromkeys("abc", count_up), runs=0)


def test_faults_are_checked() -> None:
    with pytest.raises(ValueError, match=r"Faults\.crashes: expected at least 0, got -1"):
        Faults(crashes=-1)


def test_the_same_seed_does_the_same() -> None:
    one, other = (random_run(scenario("map", faults=HARSH), seed=5, is_logged=True).trace for _ in range(2))
    assert one.lines == other.lines
    assert random_run(scenario("map", faults=HARSH), seed=6).trace.moves != one.moves


def test_figures_tell_what_was_left_out() -> None:
    assert not explore(scenario("map", faults=DUPLICATE), max_states=100).is_complete
    assert not search(scenario("map", faults=DUPLICATE), range(10), seconds=0).is_complete


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Scenario:
    mutation = MUTATIONS["guard ignored"]
    mutation.patch(monkeypatch)
    return scenario(mutation.graph, faults=mutation.faults)


def test_a_violation_prints_invariant_seed_and_trace(broken: Scenario) -> None:
    with pytest.raises(Violation) as caught:
        search(broken, range(100))
    text = str(caught.value)
    assert text.startswith("invariant 4 (no re-run after commit) is broken: delivery ")
    assert f"trace of seed {caught.value.trace.seed}, " in text
    assert re.search(r"\n +0\.000 s  delivery 1 of start: starts\n", text)


def test_a_violation_is_seen_again(broken: Scenario) -> None:
    with pytest.raises(Violation) as caught:
        explore(broken)
    with pytest.raises(Violation) as again:
        replay(caught.value.trace)
    assert str(again.value) == str(caught.value)


def test_a_repaired_protocol_passes_the_old_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        MUTATIONS["known outcome stops"].patch(patch)
        with pytest.raises(Violation) as caught:
            explore(scenario("chain", faults=Faults(crashes=1, duplicates=0)))
    replay(caught.value.trace)


USERS_TEST = """
    from unum_compiler import compile_workflow

    definition = {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "a", "End": True}}}

    def test_it(simulate):
        workflow = compile_workflow(definition, name="w", functions=["a"])
        ending = simulate(workflow, {"a": lambda event, context: event + 1}, 1, runs=3).assert_one_result()
        assert ending.outcome.value == EXPECTED
"""


def run_users_test(pytester: pytest.Pytester, expected: int, *options: str) -> pytest.RunResult:
    pytester.makepyfile(USERS_TEST.replace("EXPECTED", str(expected)))
    installed = any(entry.value == PLUGIN for entry in entry_points(group="pytest11"))
    return pytester.runpytest_inprocess(*([] if installed else ["-p", PLUGIN]), *options)


def test_the_plugin_gives_users_the_fixture(pytester: pytest.Pytester) -> None:
    run_users_test(pytester, 2).assert_outcomes(passed=1)


def test_the_plugin_reports_the_seed_of_a_failure(pytester: pytest.Pytester) -> None:
    result = run_users_test(pytester, 3, "--unum-seed=70")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*unum simulation*", "seeds 70 to 72; reproduce with --unum-seed=70"])
