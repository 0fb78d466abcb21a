"""`run_workflow`, its records, and the pytest plugin for users' tests."""

import json
import re
from importlib.metadata import entry_points
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from unum_compiler.definition import Definition
from unum_compiler.testing import Faults, run_workflow
from unum_runtime.errors import DefinitionError
from unum_simulator.stand_ins.task_answers import NothingAnswers

pytest_plugins = ["pytester"]
PLUGIN = "unum_compiler.testing.plugin"
ONE = {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "a", "End": True}}}


def echo(event: Any, _context: Any) -> Any:
    return event


def definition(**state: Any) -> dict[str, Any]:
    return {"StartAt": "A", "States": {"A": {"End": True, **state}}}


@pytest.mark.parametrize("kind", ["objects", "Definition", "compiled", "text file", "path"])
def test_a_workflow_is_given_in_any_form(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "one.asl.json"
    file.write_text(json.dumps(ONE), encoding="utf-8")
    given: Any = {
        "objects": ONE,
        "Definition": Definition.from_asl(ONE),
        "compiled": Definition.from_asl(ONE).compile("one", None),
        "text file": str(file),
        "path": file,
    }[kind]
    assert run_workflow(given, {"a": lambda event, _context: event + 1}, 1).output == 2


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"functions": [len]}, TypeError, 'functions: expected handlers by key, as {"Price": price}, got '),
        ({"functions": {"a": "len"}}, TypeError, "functions['a']: expected a handler (event, context), got 'len'"),
        ({"faults": 3}, TypeError, "faults: expected Faults, as Faults(crashes=2), got 3"),
        ({"runs": 0, "faults": Faults()}, ValueError, "runs: expected at least 1, got 0"),
    ],
)
def test_arguments_of_a_wrong_kind_are_refused(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        run_workflow(ONE, **{"functions": {"a": echo}, **given})


@pytest.mark.parametrize("auto_mock", [False, True])
def test_a_handler_that_stands_for_no_task_is_refused(*, auto_mock: bool) -> None:
    with pytest.raises(ValueError, match=r"^functions\['b'\]: expected the name of a Task or the key .*: 'A', 'a'$"):
        run_workflow(ONE, {"a": echo, "b": echo}, auto_mock=auto_mock)
    nothing = definition(Type="Pass")
    with pytest.raises(ValueError, match=r"^functions\['a'\]: .*: none, for the workflow has no Task$"):
        run_workflow(nothing, {"a": echo})


def test_a_handler_that_returns_no_json_fails_as_in_lambda() -> None:
    coroutine: Any = (each for each in "ab")
    assert run_workflow(ONE, {"a": lambda *_: coroutine}).failure[0] == "Runtime.MarshalError"


def test_what_is_no_workflow_is_refused() -> None:
    with pytest.raises(TypeError, match="workflow: expected a file, a definition or a compiled workflow, got 3"):
        run_workflow(3)  # type: ignore[arg-type]
    with pytest.raises(DefinitionError):
        run_workflow({"StartAt": "A"})


def test_a_task_without_an_answer_is_named() -> None:
    with pytest.raises(NothingAnswers, match=r"nothing answers for the Tasks \['A'\]"):
        run_workflow(ONE)


def test_an_output_of_a_failure_and_a_failure_of_an_output_fail_the_test() -> None:
    failed = run_workflow(definition(Type="Fail") | {"States": {"A": {"Type": "Fail", "Error": "No", "Cause": "way"}}})
    assert (failed.status, failed.failure) == ("FAILED", ("No", "way"))
    with pytest.raises(AssertionError, match="the execution failed: No: way"):
        _ = failed.output
    with pytest.raises(AssertionError, match="the execution succeeded with 1"):
        _ = run_workflow(ONE, {"a": lambda *_: 1}).failure


def test_attempts_inputs_and_errors_are_recorded_as_they_were() -> None:
    tries = count()

    def flaky(event: Any, _context: Any) -> Any:
        event["seen"] = True  # what is recorded is what came
        if next(tries) == 0:
            raise ConnectionError("once")
        return event

    retried = definition(Type="Task", Resource="a", Retry=[{"ErrorEquals": ["ConnectionError"], "IntervalSeconds": 5}])
    done = run_workflow(retried, {"a": flaky}, {"n": 1})
    assert [(task.attempt, task.input, task.error) for task in done.tasks] == [
        (0, {"n": 1}, "ConnectionError"),
        (1, {"n": 1}, None),
    ]
    assert (done.path, done.waited_s) == (["A"], 5)
    assert done.of("A")[1].result == {"n": 1, "seen": True}


def test_times_are_virtual_and_always_the_same() -> None:
    wait = {
        "StartAt": "W",
        "States": {
            "W": {"Type": "Wait", "Seconds": 3600, "Next": "A"},
            "A": {"Type": "Pass", "Parameters": {"at.$": "$$.State.EnteredTime"}, "End": True},
        },
    }
    first, second = run_workflow(wait), run_workflow(wait)
    assert first.output == second.output
    assert first.waited_s == 3600


def test_deliveries_under_faults_are_counted_and_the_result_stays() -> None:
    done = run_workflow(ONE, {"a": lambda *_: 1}, faults=Faults(crashes=2, duplicates=2), runs=30)
    everything = [done, *done.others]
    assert [run.seed for run in everything] == list(range(30))
    assert {run.output for run in everything} == {1}
    assert max(task.deliveries for run in everything for task in run.tasks) > 1
    assert {task.attempt for run in everything for task in run.tasks} == {0}


def test_a_result_that_depends_on_deliveries_is_found() -> None:
    """A handler that counts its own runs: the committed result stays one, but executions differ."""
    tries = count()
    with pytest.raises(AssertionError, match=r"executions had \d+ different endings:\nseed 0: "):
        run_workflow(ONE, {"a": lambda *_: next(tries)}, faults=Faults(), runs=5)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (
            {
                "Type": "Task",
                "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
                "Parameters": {"FunctionName": "a", "Payload": {"t.$": "$$.Task.Token"}},
            },
            "'A' waits for a task token",
        ),
        (
            {
                "Type": "Map",
                "ItemReader": {"Resource": "arn:aws:states:::s3:listObjectsV2", "Parameters": {"Bucket": "b"}},
                "ItemProcessor": {
                    "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
                    "StartAt": "P",
                    "States": {"P": {"Type": "Pass", "End": True}},
                },
            },
            r"'A \(ItemReader\)' waits for a data set",
        ),
    ],
)
def test_what_is_not_simulated_under_faults_is_refused_and_runs_without(state: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        run_workflow(definition(**state), auto_mock=True, faults=Faults())
    assert run_workflow(definition(**state), auto_mock=True).status == "SUCCEEDED"


def test_a_mock_file_names_its_case(tmp_path: Path) -> None:
    file = tmp_path / "mocks.json"
    cases = {"good": {"A": "one"}, "bad": {"A": "none"}}
    responses = {"one": {"0": {"Return": {"Payload": 1}}}, "none": {"0": {"Throw": {"Error": "No"}}}}
    document = {"StateMachines": {"x": {"TestCases": cases}}, "MockedResponses": responses}
    file.write_text(json.dumps(document), encoding="utf-8")
    assert run_workflow(ONE, mocks=file, test_case="good").output == 1
    assert run_workflow(ONE, mocks=document, test_case="bad").failure[0] == "No"
    assert run_workflow(ONE, mocks=document, test_case="good", faults=Faults(), runs=10).output == 1
    with pytest.raises(ValueError, match="name one of several"):
        run_workflow(ONE, mocks=file)


def test_the_cost_is_that_of_the_estimate_and_mocks_count_anew() -> None:
    responses = {"one": {"0": {"Return": {"Payload": 1}}}}
    mocks = {"StateMachines": {"x": {"TestCases": {"c": {"A": "one"}}}}, "MockedResponses": responses}
    done = run_workflow(ONE, mocks=mocks)
    assert (done.receipt.tasks, done.receipt.usage.invocations) == (1, 1)
    assert 1 < done.usd_per_million < 5


def test_a_snapshot_has_neither_times_nor_ids() -> None:
    done = run_workflow(ONE, {"a": lambda *_: {"é": 1}}, [1])
    assert json.loads(done.snapshot()) == {
        "status": "SUCCEEDED",
        "output": {"é": 1},
        "tasks": [{"state": "A", "attempt": 0, "input": [1], "result": {"é": 1}}],
    }


def test_the_plugin_is_installed_with_the_distribution() -> None:
    assert PLUGIN in {entry.value for entry in entry_points(group="pytest11")}


@pytest.mark.slow("pytest runs as a process of its own, which imports the compiler")
def test_the_fixture_takes_the_seed_of_the_command_line(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from unum_compiler.testing import Faults
        ONE = {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "a", "End": True}}}

        def test_it(run_workflow):
            done = run_workflow(ONE, {"a": lambda *_: 1}, faults=Faults(), runs=3)
            assert [done.seed, *(run.seed for run in done.others)] == []
        """
    )
    ran = pytester.runpytest_subprocess("--unum-seed=40", "-p", "no:cacheprovider")
    ran.assert_outcomes(failed=1)
    ran.stdout.fnmatch_lines(["*[[]40, 41, 42[]] == [[][]]*", "*seeds 40 to 42; reproduce with --unum-seed=40*"])
