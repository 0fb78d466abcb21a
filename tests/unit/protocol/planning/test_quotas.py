"""Quotas of Step Functions in executions of strict workflows; other executions have none of them."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from unum_compiler.compatibility import HOP_BUDGET, PAYLOAD_LIMIT, Compatibility
from unum_compiler.definition import Definition
from unum_runtime.model.checkpoint import Ending, Failure, Success, start_record
from unum_runtime.model.naming import Execution
from unum_runtime.model.states import Json, Map, Parallel
from unum_runtime.protocol import planning
from unum_runtime.protocol.planning import quotas
from unum_runtime.protocol.planning.advance import AtFanOut, advance
from unum_runtime.protocol.planning.evaluation import EvaluationContext
from unum_runtime.protocol.planning.plan import Commit, plan
from unum_runtime.protocol.planning.quotas import DISTRIBUTED_BRANCHES, INLINE_BRANCHES, branches_at_once
from unum_simulator.faults import Faults
from unum_simulator.local import LocalWorkflow
from unum_simulator.simulation import simulate

LARGE = "x" * (PAYLOAD_LIMIT - 2)
"""The largest text, with its quotes."""

TASK: dict[str, Any] = {"Type": "Task", "Resource": "f"}
ECHO: Callable[[Json, Any], Json] = lambda event, _context: event  # noqa: E731 - a table of handlers has it in one line


def run(states: dict[str, Any], value: Json, mode: Compatibility = Compatibility.STRICT, **functions: Any) -> Ending:
    definition = replace(
        Definition.from_asl({"StartAt": next(iter(states)), "States": states}), compatibility=mode
    ).compile("w", None)
    return LocalWorkflow(definition, {"f": ECHO, **functions}).run("e", value)


def error(ending: Ending) -> str | None:
    return ending.outcome.error if isinstance(ending.outcome, Failure) else None


ENDS = {"End": True}
TOO_LARGE: dict[str, tuple[dict[str, Any], Json]] = {
    "the input of the execution": ({"A": {**TASK, **ENDS, "Parameters": {}}}, f"{LARGE}x"),
    "the input of a Pass": ({"A": {"Type": "Pass", "Parameters": {}, **ENDS}}, f"{LARGE}x"),
    "arguments": ({"A": {**TASK, **ENDS, "Parameters": {"a.$": "$", "b": 1}, "ResultPath": None}}, LARGE),
    "output of a Task": ({"A": {**TASK, **ENDS, "ResultSelector": {"a.$": "$", "b": 1}}}, LARGE),
    "output between Pass states": (
        {
            "A": {"Type": "Pass", "Parameters": {"a.$": "$"}, "Next": "B"},
            "B": {"Type": "Pass", "Parameters": {}, **ENDS},
        },
        LARGE,
    ),
    "result of a Map before a Task": (
        {
            "A": {
                "Type": "Map",
                "ItemProcessor": {"StartAt": "I", "States": {"I": {**TASK, **ENDS}}},
                "ItemSelector": {"v.$": "$"},
                "Next": "B",
            },
            "B": {**TASK, **ENDS, "Parameters": {}},
        },
        ["x" * 150_000, 1],
    ),
}


@pytest.mark.parametrize("what", TOO_LARGE)
def test_a_value_over_the_quota_fails_where_step_functions_fails(what: str) -> None:
    states, value = TOO_LARGE[what]
    assert error(run(states, value)) == "States.DataLimitExceeded"
    assert error(run(states, value, Compatibility.GENEROUS)) is None


def test_a_failure_before_the_first_commit_names_its_state() -> None:
    states = {"A": {**TASK, **ENDS}}
    workflow = replace(
        Definition.from_asl({"StartAt": "A", "States": states}), compatibility=Compatibility.STRICT
    ).compile("w", None)
    effect = plan(workflow, start_record(Execution("e", 0), f"{LARGE}x"))
    assert isinstance(effect, Commit)
    assert (effect.state, isinstance(effect.outcome, Failure)) == ("A", True)


def test_a_fail_state_keeps_its_error() -> None:
    assert error(run({"A": {"Type": "Fail", "Error": "Boom"}}, 1)) == "Boom"


def test_values_of_the_quota_pass() -> None:
    states = {"A": {"Type": "Pass", "Next": "B"}, "B": {**TASK, **ENDS}}
    assert run(states, LARGE).outcome == Success(LARGE)


def test_a_strict_workflow_without_a_size_takes_every_value() -> None:
    definition = Definition.from_asl({"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "B"}, "B": TASK | ENDS}})
    workflow = replace(replace(definition, compatibility=Compatibility.STRICT).compile("w", None), payload_limit=None)
    assert LocalWorkflow(workflow, {"f": ECHO}).run("e", f"{LARGE}x").outcome == Success(f"{LARGE}x")


def test_a_workflow_that_is_not_strict_does_not_import_quotas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(planning, "quotas")
    monkeypatch.setitem(sys.modules, quotas.__name__, None)  # an import of it fails
    states = {"A": {"Type": "Pass", "Next": "B"}, "B": TASK | ENDS | {"Parameters": {"a": 1}}}
    assert run(states, 1, Compatibility.GENEROUS).outcome == Success({"a": 1})
    with pytest.raises(ImportError):
        run(states, 1)


def test_a_catcher_of_a_fan_out_catches_its_oversized_result() -> None:
    states = {
        "A": {
            "Type": "Parallel",
            "Branches": [{"StartAt": name, "States": {name: {"Type": "Pass", **ENDS}}} for name in "IJ"],
            "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "C"}],
            **ENDS,
        },
        "C": {"Type": "Pass", "Parameters": {"e.$": "$.Error"}, **ENDS},
    }
    assert run(states, "x" * 200_000).outcome == Success({"e": "States.DataLimitExceeded"})


def most_at_once(size: int, mode: Compatibility, **fields: Json) -> int:
    """Return the number of branches that a Map over `size` items starts at once."""
    inner = {"StartAt": "I", "States": {"I": {**TASK, **ENDS}}}
    states = {"A": {"Type": "Map", "ItemProcessor": inner, "ItemsPath": "$.items", **fields, **ENDS}}
    value = {"items": [*range(size)], "n": 100}
    assert run(states, value, mode).outcome == Success([*range(size)])
    definition = Definition.from_asl({"StartAt": "A", "States": states})
    workflow = replace(definition, compatibility=mode).compile("w", None)
    arrival = advance("A", Success(value), EvaluationContext(workflow, Execution("e", 0), 0, ""))
    assert isinstance(arrival, AtFanOut)
    return arrival.width


@pytest.mark.parametrize(
    ("fields", "at_once"),
    [
        ({}, INLINE_BRANCHES),
        ({"MaxConcurrency": 0}, INLINE_BRANCHES),
        ({"MaxConcurrency": 7}, 7),
        ({"MaxConcurrencyPath": "$.n"}, INLINE_BRANCHES),
    ],
)
def test_an_inline_map_runs_40_branches_at_once(fields: dict[str, Json], at_once: int) -> None:
    assert most_at_once(60, Compatibility.STRICT, **fields) == at_once


class _Branches:
    """Counts the branches that have begun and not ended, each once, however often its events are delivered."""

    def __init__(self) -> None:
        self.begun: set[str] = set()
        self.ended: set[str] = set()
        self.most = 0

    def begin(self, event: Json, _context: Any) -> Json:
        self.begun.add(event)
        self.most = max(self.most, len(self.begun - self.ended))
        return event

    def end(self, event: Json, _context: Any) -> Json:
        self.ended.add(event)
        return event


@pytest.mark.parametrize(("mode", "at_once"), [(Compatibility.STRICT, INLINE_BRANCHES), (Compatibility.GENEROUS, 45)])
def test_as_many_branches_are_at_work_at_once(mode: Compatibility, at_once: int) -> None:
    # The clock moves when nothing else can: all branches that may begin do so before the first one ends.
    inner = {
        "I": {**TASK, "Resource": "begin", "Next": "W"},
        "W": {"Type": "Wait", "Seconds": 60, "Next": "J"},
        "J": {**TASK, "Resource": "end", **ENDS},
    }
    some = {"Type": "Map", "ItemProcessor": {"StartAt": "I", "States": inner}, **ENDS}
    definition = {"StartAt": "A", "States": {"A": some}}
    workflow = replace(Definition.from_asl(definition), compatibility=mode).compile("w", None)
    branches = _Branches()
    functions = {"begin": branches.begin, "end": branches.end}
    ending = simulate(workflow, functions, [*range(45)], faults=Faults(), runs=1).ending
    assert (ending.outcome, branches.most) == (Success([*range(45)]), at_once)


def test_other_maps_run_all_branches_at_once() -> None:
    assert most_at_once(60, Compatibility.GENEROUS) == 60


def test_branches_at_once() -> None:
    some = Map(name="M", scope=None, data={}, next=None, pure=False, join=None, start="I")
    far = replace(some, distributed=True)
    assert [branches_at_once(some, limit) for limit in (None, 0, 39, 41)] == [INLINE_BRANCHES] * 2 + [
        39,
        INLINE_BRANCHES,
    ]
    assert [branches_at_once(far, limit) for limit in (None, 41, 20_000)] == [
        DISTRIBUTED_BRANCHES,
        41,
        DISTRIBUTED_BRANCHES,
    ]
    parallel = Parallel(name="P", scope=None, data={}, next=None, pure=False, join=None, branches=())
    assert branches_at_once(parallel, None) is None


def test_an_endless_loop_ends_with_the_budget_of_an_execution() -> None:
    runs = 0

    def count(event: Json, _context: Any) -> Json:
        nonlocal runs
        runs += 1
        return event

    states = {
        "T": {**TASK, "Next": "C"},
        "C": {"Type": "Choice", "Choices": [{"Variable": "$", "IsNull": True, "Next": "S"}], "Default": "T"},
        "S": {"Type": "Succeed"},
    }
    assert error(run(states, 0, f=count)) == "Unum.HopBudgetExceeded"
    assert runs == HOP_BUDGET


def test_quotas_survive_the_text_of_the_ir() -> None:
    definition = replace(
        Definition.from_asl({"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}), compatibility=Compatibility.STRICT
    )
    text = definition.compile("w", None).to_json()
    assert json.loads(text)["strict"] is True


def test_a_value_over_the_quota_is_named_with_both_sizes() -> None:
    said = f"has {PAYLOAD_LIMIT + 1} bytes; at most {PAYLOAD_LIMIT} are allowed: pass large data by reference"
    large = f"{LARGE}x"
    named = {
        "input": ({"A": {**TASK, **ENDS}}, large),
        "input after the arguments": ({"A": {**TASK, **ENDS, "Parameters": {"a.$": "$"}}}, large[6:]),
        "output": ({"A": {"Type": "Pass", **ENDS, "Parameters": {"a.$": "$"}}}, large[6:]),
    }
    for what, (states, value) in named.items():
        where = "" if what == "input" else "state 'A': "
        assert run(states, value).outcome == Failure("States.DataLimitExceeded", f"{where}the {what} {said}"), what


def test_a_quota_s_error_names_the_value_and_its_size() -> None:
    wide = {"A": {"Type": "Pass", "Parameters": {"a.$": "$", "b": 1}, **ENDS}}
    for states, value, what in ((wide, LARGE, "output"), (wide, f"{LARGE}x", "input")):
        outcome = run(states, value).outcome
        assert isinstance(outcome, Failure)
        assert outcome.error == "States.DataLimitExceeded"
        assert outcome.cause is not None
        assert f"the {what} has " in outcome.cause
        assert f" at most {PAYLOAD_LIMIT} are allowed: pass large data by reference" in outcome.cause
