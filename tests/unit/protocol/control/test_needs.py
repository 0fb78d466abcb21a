"""Parts that executions may still need: all deployed for them at first, later those that follow."""

from typing import Any

from hypothesis import HealthCheck, given, settings

from tests.unit.compiler.machines import FUNCTIONS, machines
from unum_compiler import compile_workflow
from unum_compiler.analysis.edges import ENTRY, function_edges, successors, uses_timer
from unum_compiler.analysis.event_bounds import longest_wait_s
from unum_compiler.parsing.task_resources import activities
from unum_runtime.protocol.control.deletions import removal
from unum_runtime.protocol.control.deletions.removal import needs_from

LOADED = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


@given(machines())
@LOADED
def test_an_execution_that_begins_needs_what_the_constructs_deploy(machine: dict[str, Any]) -> None:
    workflow = compile_workflow(machine, name="w", functions=FUNCTIONS)
    found = needs_from(workflow, workflow.start_at)
    assert found.functions == function_edges(workflow).keys() - {ENTRY}
    assert found.activities == {*activities(workflow)}
    assert (found.delay_s is not None) is uses_timer(workflow)
    assert (found.delay_s or 0) == longest_wait_s(workflow)


@given(machines())
@LOADED
def test_what_may_follow_a_state_of_the_top_level_is_needed(machine: dict[str, Any]) -> None:
    workflow = compile_workflow(machine, name="w", functions=FUNCTIONS)
    for task in workflow.tasks:
        if task.scope is None:
            following = {workflow.task(name).function for name in successors(workflow, task.name)}
            assert following | {task.function} <= needs_from(workflow, task.name).functions


def test_a_state_that_the_definition_lacks_counts_as_the_first() -> None:
    machine = {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "A", "End": True}}}
    assert needs_from(compile_workflow(machine, name="w", functions={"A"}), "B").functions == {"A"}


def test_choice_without_default_needs_what_its_rules_lead_to() -> None:
    rule = {"Variable": "$.x", "IsPresent": True, "Next": "B"}
    states = {
        "A": {"Type": "Task", "Resource": "A", "Next": "C"},
        "C": {"Type": "Choice", "Choices": [rule]},
        "B": {"Type": "Task", "Resource": "B", "End": True},
    }
    workflow = compile_workflow({"StartAt": "A", "States": states}, name="w", functions={"A", "B"})
    assert needs_from(workflow, "A").functions == {"A", "B"}


def test_each_state_of_a_loop_is_looked_at_once() -> None:
    rule = {"Variable": "$.x", "IsPresent": True, "Next": "A"}
    states = {
        "A": {"Type": "Task", "Resource": "A", "Next": "C"},
        "C": {"Type": "Choice", "Choices": [rule], "Default": "B"},
        "B": {"Type": "Task", "Resource": "B", "End": True},
    }
    workflow = compile_workflow({"StartAt": "A", "States": states}, name="w", functions={"A", "B"})
    assert [state.name for state in removal._reachable(workflow, "A")] == ["A", "C", "B"]
