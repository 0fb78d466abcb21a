"""``unum run``: executions in this process."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

DEFINITION = {
    "StartAt": "Each",
    "States": {
        "Each": {
            "Type": "Map",
            "ItemProcessor": {
                "StartAt": "Double",
                "States": {"Double": {"Type": "Task", "Resource": "double", "End": True}},
            },
            "Next": "Add",
        },
        "Add": {"Type": "Task", "Resource": "add-up", "End": True},
    },
}
FUNCTIONS = """
import neighbour

def double(event, context):
    print("doubling", event)
    return neighbour.twice(event)

def add(event, context):
    if context.unum.state != "Add":
        raise KeyError(context.unum.state)
    return {"sum": sum(event)}

FUNCTIONS = {"double": double, "add-up": add}
"""


@pytest.fixture(autouse=True)
def folder(unum: Any, file: Callable[..., Path], tmp_path: Path) -> Iterator[None]:  # noqa: ARG001 - unum goes there
    before, path = set(sys.modules), list(sys.path)
    file("sums.json", DEFINITION)
    file("sums_code.py", FUNCTIONS)
    file("neighbour.py", "def twice(x): return 2 * x\n")
    yield
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def run(unum: Any, *arguments: str, given: str = "[1, 2, 3]", functions: str = "sums_code.py") -> Any:
    return unum("run", "sums.json", "--functions", functions, "--input", given, *arguments)


@pytest.mark.parametrize("functions", ["sums_code.py", "./sums_code.py", "sums_code"])
def test_the_output_alone_is_printed(unum: Any, functions: str) -> None:
    ran = run(unum, functions=functions)
    assert (ran.code, json.loads(ran.out)) == (0, {"sum": 12})
    assert ran.err.splitlines() == ["doubling 1", "doubling 2", "doubling 3"]


def test_input_from_a_file_and_from_standard_input(
    unum: Any, file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    file("input.json", [5])
    assert json.loads(run(unum, given="@input.json").out) == {"sum": 10}
    with Path("input.json").open(encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert json.loads(run(unum, given="-").out) == {"sum": 10}


def test_attributes_are_found_where_there_is_no_table(unum: Any, file: Callable[..., Path]) -> None:
    file("one.json", {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "double", "End": True}}})
    file("plain.py", "def double(event, context): return event + event\n")
    assert json.loads(unum("run", "one.json", "--functions", "plain.py", "--input", '"ab"').out) == "abab"


def test_steps_and_picture_can_be_had(unum: Any) -> None:
    ran = run(unum, "--steps", "--graph", "sums.svg")
    rows = [line.split()[:2] for line in ran.err.splitlines() if "SUCCEEDED" in line]
    assert sorted(rows) == [["Add", "-"], ["Double", "0"], ["Double", "1"], ["Double", "2"]]
    assert "3 done" in Path("sums.svg").read_text(encoding="utf-8")


def test_a_failed_execution_is_shown_with_error_cause_and_place(unum: Any) -> None:
    ran = run(unum, "--steps", "--graph", "sums.svg", given='[1, "a", null]')
    assert (ran.code, ran.out) == (1, "")
    assert "failed: TypeError: unsupported operand" in ran.err
    assert "FAILED TypeError" in ran.err
    assert 'neighbour.py", line 1, in twice' in ran.err
    assert "failed" in Path("sums.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("[1, 2", "--input: line 1, column 6: expected JSON: "),
        ("x", "quote JSON for the shell, or write @FILE to read a file"),
        ("@nowhere.json", "--input: nowhere.json: cannot be read: No such file or directory"),
        ("@sums_code.py", "--input: sums_code.py:2:1: expected JSON: "),
        ("[NaN]", "NaN is no JSON number"),
        ('{"a": 1, "a": 2}', 'the key "a" occurs twice'),
        (
            "[" * 100_000,
            "--input: $: nested too deeply to be read; at most 500 levels of arrays and objects are allowed",
        ),
        (json.dumps("x" * 380_001), "--input: 380003 bytes of JSON, but at most 380000 are stored"),
    ],
)
def test_what_is_no_input_is_refused_before_anything_runs(unum: Any, given: str, said: str) -> None:
    ran = run(unum, given=given)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert "doubling" not in ran.err


@pytest.mark.parametrize(
    ("module", "content", "said"),
    [
        ("nowhere", "", "--functions nowhere: cannot be imported: ModuleNotFoundError: No module named 'nowhere'"),
        ("nowhere.py", "", "--functions nowhere.py: cannot be imported: FileNotFoundError"),
        ("broken.py", "\n1 / 0\n", "ZeroDivisionError: division by zero"),
        (
            "broken.py",
            "def double(event, context): pass\n",
            "the module has no function 'add-up', which the definition",
        ),
        ("broken.py", "FUNCTIONS = {'double': 3}\n", "FUNCTIONS has no function 'add-up', 'double', which"),
        ("broken.py", "FUNCTIONS = []\n", "expected a dict FUNCTIONS, got list"),
        ("broken.py", "import sys\n\nsys.exit(4)\n", "cannot be imported: SystemExit: 4"),
    ],
)
def test_functions_that_cannot_be_used(
    unum: Any, file: Callable[..., Path], module: str, content: str, said: str
) -> None:
    if content:
        file(module, content)
    ran = run(unum, functions=module)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_an_import_that_fails_says_where(unum: Any, file: Callable[..., Path]) -> None:
    file("broken.py", "import neighbour\n\nneighbour.nothing()\n")
    assert "broken.py:3)" in run(unum, functions="broken.py").err


def test_a_definition_with_problems_does_not_run(unum: Any, file: Callable[..., Path]) -> None:
    file("sums.json", {**DEFINITION, "StartAt": "Nowhere"})
    ran = run(unum)
    assert ran.code == 1
    assert ran.err.startswith("sums.json:1: $.StartAt: ")


def test_a_handler_that_ends_the_process_fails_the_command(unum: Any, file: Callable[..., Path]) -> None:
    file("leaving.py", "import sys\n\nFUNCTIONS = dict.fromkeys(['double', 'add-up'], lambda *_: sys.exit(4))\n")
    ran = run(unum, functions="leaving.py")
    assert (ran.code, ran.out) == (1, "")
    assert "a handler ended the process with 4; in Lambda its Task fails with Runtime.ExitError" in ran.err


CALLS = {
    "StartAt": "Store",
    "States": {
        "Store": {
            "Type": "Task",
            "Resource": "arn:aws:states:::sqs:sendMessage",
            "Parameters": {"QueueUrl": "https://q", "MessageBody.$": "$"},
            "ResultPath": "$.sent",
            "Next": "Twice",
        },
        "Twice": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke",
            "Parameters": {"FunctionName": "twice", "Qualifier": "live", "Payload.$": "$.n"},
            "ResultPath": "$.twice",
            "End": True,
        },
    },
}


def test_handlers_stand_in_for_services_by_task_and_for_functions_by_key(unum: Any, file: Any) -> None:
    file("calls.json", CALLS)
    code = (
        "FUNCTIONS = {'Store': lambda event, context: event['MessageBody']['n'], 'twice': lambda n, context: 2 * n}\n"
    )
    file("calls_code.py", code)
    ran = unum("run", "calls.json", "--functions", "calls_code.py", "--input", '{"n": 3}')
    twice = {"ExecutedVersion": "live", "Payload": 6, "StatusCode": 200}
    assert json.loads(ran.out) == {"n": 3, "sent": 3, "twice": twice}
    file("calls_code.py", "FUNCTIONS = {}\n")
    missing = unum("run", "calls.json", "--functions", "./calls_code.py", "--input", "{}")
    assert "no function 'Store', 'twice'" in missing.err


MOCKS = {
    "StateMachines": {"calls": {"TestCases": {"happy": {"Store": "stored"}}}},
    "MockedResponses": {"stored": {"0": {"Return": {"MessageId": "m-1"}}}},
}


def test_a_mock_file_goes_before_handlers_and_handlers_before_samples(unum: Any, file: Any) -> None:
    file("calls.json", CALLS)
    file("mocks.json", MOCKS)
    file("both.py", "FUNCTIONS = {'Store': lambda *_: 'handler', 'twice': lambda n, context: 2 * n}\n")
    ran = unum("run", "calls.json", "--mock", "mocks.json", "--functions", "both.py", "--input", '{"n": 3}')
    assert json.loads(ran.out)["sent"] == {"MessageId": "m-1"}
    assert json.loads(ran.out)["twice"]["Payload"] == 6
    sampled = unum("run", "calls.json", "--auto-mock", "--functions", "both.py", "--input", '{"n": 3}')
    assert json.loads(sampled.out)["sent"] == "handler"
    alone = unum("run", "calls.json", "--auto-mock")
    assert json.loads(alone.out)["sent"]["MessageId"] == "MessageId"
    assert json.loads(alone.out)["n"] == "n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing answers for 'Store', 'twice'; add --functions, --mock or --auto-mock"),
        (("--mock", "mocks.json"), "nothing answers for 'twice'"),
        (("--mock", "mocks.json", "--test-case", "sad"), "there is no test case 'sad'; there are: happy"),
        (("--mock", "nowhere.json"), "--mock: nowhere.json: cannot be read"),
        (("--test-case", "happy", "--auto-mock"), "--test-case: expected --mock with the file"),
    ],
)
def test_what_does_not_answer_is_refused_before_anything_runs(
    unum: Any, file: Any, arguments: tuple[str, ...], said: str
) -> None:
    file("calls.json", CALLS)
    file("mocks.json", MOCKS)
    ran = unum("run", "calls.json", "--input", '{"n": 3}', *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_only_samples_make_an_input(unum: Any) -> None:
    ran = unum("run", "sums.json", "--functions", "sums_code.py")
    assert (ran.code, ran.out) == (2, "")
    assert "--input: expected the execution's input; only --auto-mock makes one" in ran.err


def test_samples_and_handlers_answer_for_every_kind_of_tested_state(unum: Any, file: Any) -> None:
    ask = {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
        "Parameters": {"FunctionName": "ask", "Payload": {"t.$": "$$.Task.Token"}},
        "End": True,
    }
    job = {
        "Type": "Task",
        "Resource": "arn:aws:states:::glue:startJobRun.sync",
        "Parameters": {"JobName": "j"},
        "Next": "Ask",
    }
    file("all.json", {"StartAt": "Job", "States": {"Job": job, "Ask": ask}})
    file("asks.py", "FUNCTIONS = {'Ask': lambda event, context: context.function_name}\n")
    tested = unum("test-state", "all.json", "--state-name", "Job", "--auto-mock")
    assert json.loads(tested.out)["output"]["JobRunState"] == "SUCCEEDED"
    answered = unum("test-state", "all.json", "--state-name", "Ask", "--functions", "asks.py")
    assert json.loads(answered.out) == {"status": "SUCCEEDED", "output": "ask"}


@pytest.mark.parametrize("command", ["run", "cost"])
def test_a_loop_that_no_sample_ends_fails_soon(unum: Any, file: Any, command: str) -> None:
    ask = {"Type": "Task", "Resource": "ask", "Next": "Done?"}
    done = {"Type": "Choice", "Choices": [{"Condition": "{% $contains($states.input.a, 'no') %}", "Next": "End"}]}
    states = {"Ask": ask, "Done?": {**done, "Default": "Ask"}, "End": {"Type": "Succeed"}}
    file("loop.json", {"QueryLanguage": "JSONata", "StartAt": "Ask", "States": states})
    ran = unum(command, "loop.json", "--auto-mock")
    assert ran.code == 1
    assert "more than 1000 steps; does a loop never end?" in ran.err


def test_the_cost_of_an_execution_that_mocks_and_samples_answer_for(unum: Any, file: Any) -> None:
    file("calls.json", CALLS)
    file("mocks.json", MOCKS)
    priced = unum("cost", "calls.json", "--mock", "mocks.json", "--auto-mock", "--json")
    assert (priced.code, json.loads(priced.out)["execution"]["tasks"]) == (0, 2)
    refused = unum("cost", "calls.json", "--auto-mock", "--items", "3")
    assert (refused.code, refused.err.startswith("--items: with --functions, the handlers decide that")) == (2, True)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("1e999", 2),
        ('{"amount": -1e999}', 2),
        ("NaN", 2),
        ("9" * 400, 2),
        ('"\\ud800"', 2),
        ("[" * 600 + "]" * 600, 2),
        ("[" * 100_000, 2),
        ("1e308", 0),
        ('"\\ud83c\\udf4f"', 0),
    ],
)
def test_output_is_json_or_the_input_is_refused(
    unum: Any, file: Callable[..., Path], given: str, expected: int
) -> None:
    file("same.json", {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
    ran = unum("run", "same.json", "--input", given)
    assert ran.code == expected
    assert "Traceback" not in ran.err
    if expected == 0:
        assert json.loads(ran.out) == json.loads(given)
    else:
        assert ran.out == ""


def test_message_with_half_a_character_is_printed_as_its_escape(unum: Any, file: Callable[..., Path]) -> None:
    file("fails.json", {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "bad", "End": True}}})
    file("bad_code.py", "def bad(event, context):\n    raise ValueError('half \\ud800')\n\nFUNCTIONS = {'bad': bad}\n")
    ran = unum("run", "fails.json", "--functions", "bad_code.py", "--input", "1")
    assert ran.code == 1
    assert "half \\ud800" in ran.err
    assert "Traceback (most recent call last)" not in ran.err.partition("half")[0]
