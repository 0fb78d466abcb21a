"""Asynchronous handlers where workflows run in one process: `run_workflow`, its faults, and commands."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from unum_compiler.testing import Faults, run_workflow

CHAIN = {
    "StartAt": "A",
    "States": {
        "A": {"Type": "Task", "Resource": "a", "Next": "B"},
        "B": {
            "Type": "Task",
            "Resource": "b",
            "Retry": [{"ErrorEquals": ["OSError"], "IntervalSeconds": 1, "MaxAttempts": 2}],
            "Catch": [{"ErrorEquals": ["ValueError"], "Next": "C"}],
            "End": True,
        },
        "C": {"Type": "Task", "Resource": "c", "End": True},
    },
}


async def increment(event: Any, _context: Any) -> Any:
    await asyncio.sleep(0)
    return event + 1


def flaky(event: Any, context: Any) -> Any:
    async def later() -> Any:
        if context.unum.attempt == 0:
            raise OSError("once")
        return event * 2

    return later()


async def fail(_event: Any, _context: Any) -> Any:
    raise ValueError("own")


async def caught(event: Any, _context: Any) -> Any:
    return event["Error"]


def test_workflow_runs_async_handlers() -> None:
    run = run_workflow(CHAIN, {"a": increment, "b": flaky, "c": caught}, 1)
    assert run.output == 4
    assert [(each.state, each.result, each.error) for each in run.tasks] == [
        ("A", 2, None),
        ("B", None, "OSError"),
        ("B", 4, None),
    ]


def test_failure_of_an_async_handler_is_caught() -> None:
    assert run_workflow(CHAIN, {"a": increment, "b": fail, "c": caught}, 1).output == "ValueError"


def test_async_handlers_run_under_faults() -> None:
    run = run_workflow(CHAIN, {"a": increment, "b": flaky, "c": caught}, 1, faults=Faults(crashes=1), runs=5)
    assert run.output == 4


def test_async_handlers_run_in_a_running_loop() -> None:
    async def test_of_a_user() -> Any:
        return run_workflow(CHAIN, {"a": increment, "b": flaky, "c": caught}, 1).output

    assert asyncio.run(test_of_a_user()) == 4


def test_called_function_may_be_async() -> None:
    invoke = {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Parameters": {"FunctionName": "other", "Payload.$": "$"},
        "OutputPath": "$.Payload",
        "End": True,
    }
    assert run_workflow({"StartAt": "A", "States": {"A": invoke}}, {"other": increment}, 1).output == 2


@pytest.mark.parametrize("command", ["run", "test-state"])
def test_commands_run_async_handlers(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from unum_cli.main import main  # noqa: PLC0415 - the command needs more than the other tests

    one = {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "a", "End": True}}}
    (tmp_path / "one.json").write_text(json.dumps(one), encoding="utf-8")
    (tmp_path / "async_code.py").write_text("async def a(event, context): return event + 1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    state = ["--state-name", "A"] if command == "test-state" else []
    main([command, "one.json", *state, "--functions", "async_code.py", "--input", "1"])
    printed = json.loads(capsys.readouterr().out)
    assert printed == (2 if command == "run" else {"status": "SUCCEEDED", "output": 2})
