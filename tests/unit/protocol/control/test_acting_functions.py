"""Receiver of the control function's events for a Wait or a fan-out."""

from typing import Any

import pytest

from unum_compiler import compile_workflow
from unum_compiler import graph as g
from unum_compiler.analysis.edges import entering, leaving
from unum_compiler.definition import Definition
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import FanOut, Wait
from unum_runtime.protocol.control.versions import senders


def task(following: str | None = None, **more: Any) -> Any:
    return {"Type": "Task", "Resource": more.pop("resource", "A"), **to(following), **more}


def wait(following: str | None = None) -> Any:
    return {"Type": "Wait", "Seconds": 1, **to(following)}


def to(following: str | None) -> Any:
    return {"Next": following} if following else {"End": True}


def compiled(start: str, **states: Any) -> Workflow:
    return compile_workflow({"StartAt": start, "States": states}, name="w", functions=None)


CAUGHT = {"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Sorry"}]}
EVERYTHING = compiled(
    "Early",
    Early=wait("A"),
    A=task("C", **CAUGHT),
    C={"Type": "Choice", "Choices": [{"Variable": "$.x", "IsPresent": True, "Next": "W"}], "Default": "M"},
    W=wait("P"),
    P={"Type": "Pass", "Next": "M"},
    M={
        "Type": "Map",
        "ItemProcessor": {
            "StartAt": "Inner",
            "States": {"Inner": wait("B"), "B": task("After", resource="B"), "After": wait()},
        },
        "Retry": [{"ErrorEquals": ["States.ALL"]}],
        "Next": "Late",
        **CAUGHT,
    },
    Late=wait("End"),
    End=task(resource="D"),
    Sorry=wait(),
)


def test_it_is_the_function_before() -> None:
    found = senders(EVERYTHING)
    names = ("Early", "W", "M", "Inner", "After", "Late", "Sorry")
    assert [found[name] for name in names] == [None, "A", "A", "A", "B", "B", "A"]


def test_a_loop_without_a_task_has_an_end() -> None:
    states = {
        "W": wait("C"),
        "C": {"Type": "Choice", "Choices": [{"Variable": "$.x", "IsPresent": True, "Next": "W"}], "Default": "A"},
    }
    assert senders(compiled("W", **states, A=task())) == {"W": None, "C": None}


def test_a_state_after_nested_fan_outs_follows_the_task_in_the_innermost() -> None:
    inner = {"Type": "Map", "ItemProcessor": {"StartAt": "B", "States": {"B": task(resource="B")}}, "End": True}
    outer = {"Type": "Map", "ItemProcessor": {"StartAt": "Inner", "States": {"Inner": inner}}, "Next": "Late"}
    assert senders(compiled("A", A=task("Outer"), Outer=outer, Late=wait())) == {
        "Outer": "A",
        "Inner": "A",
        "Late": "B",
    }


def test_a_choice_without_a_default_leads_to_its_rules_alone() -> None:
    choice = {"Type": "Choice", "Choices": [{"Variable": "$.x", "IsPresent": True, "Next": "W"}]}
    assert senders(compiled("A", A=task("C"), C=choice, W=wait())) == {"C": "A", "W": "A"}
    assert senders(compiled("A", A=task("C"), C={**choice, "Default": "V"}, W=wait(), V=wait()))["V"] == "A"


@pytest.mark.parametrize("state", [each.name for each in EVERYTHING.states.values() if isinstance(each, Wait | FanOut)])
def test_it_may_do_what_follows(state: str) -> None:
    """The function's permissions by the compiler's analysis include the state's."""
    sender = senders(EVERYTHING)[state]
    reaches = [leaving(EVERYTHING, each.name) for each in EVERYTHING.tasks if each.function == sender]
    allowed = {name for reach in reaches or [entering(EVERYTHING, EVERYTHING.start_at)] for name in reach.tasks}
    assert {*entering(EVERYTHING, state).tasks} <= allowed


def test_it_is_the_function_of_the_node_before_in_a_region() -> None:
    nodes = {
        "a": g.task("a"),
        "b": g.task("b"),
        "one": (g.wait(1, name="After a") >> g.task("c")).after("a"),
        "other": (g.wait(1, name="After b") >> g.task("d")).after("b"),
    }
    workflow = Definition.from_graph(g.dag(nodes) >> g.wait(1, name="Late")).compile("w", None)
    found = senders(workflow)
    assert [found[name] for name in ("dag", "After a", "After b")] == [None, "a", "b"]
    assert found["Late"] in ("a", "b", "c", "d")


def test_first_state_of_a_branch_follows_the_function_before_its_parallel() -> None:
    branches = [{"StartAt": name, "States": {name: wait()}} for name in ("One", "Two")]
    both = {"Type": "Parallel", "Branches": branches, "End": True}
    assert senders(compiled("A", A=task("Both"), Both=both)) == {"Both": "A", "One": "A", "Two": "A"}
