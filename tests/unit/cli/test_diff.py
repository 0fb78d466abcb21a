"""``unum diff``: what a deployment means for executions that run."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from unum_compiler import compile_workflow
from unum_compiler.analysis.changes import Effect, changes
from unum_compiler.options import FunctionOptions
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.states import Guard


def machine(**states: Any) -> dict[str, Any]:
    return {"StartAt": next(iter(states)), "States": states}


def task(function: str, **fields: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": function, **(fields or {"End": True})}


CHAIN = machine(A=task("a", Next="B"), B=task("b", Next="C"), C=task("c"))
SHORT = machine(A=task("a", Next="C"), C=task("c"))
SPREAD = {"Type": "Map", "ItemProcessor": machine(Each=task("a")), "End": True}


def workflow(definition: dict[str, Any]) -> Workflow:
    return compile_workflow(definition, name="w", functions=None)


def reply(effect: Effect, old: dict[str, Any], new: dict[str, Any]) -> dict[str, str]:
    found = changes(workflow(old), workflow(new))
    messages: dict[str, str] = {}
    for change in found:
        if change.effect is effect:
            messages[change.subject] = "; ".join(filter(None, (messages.get(change.subject), change.message)))
    return messages


def test_nothing_changes_between_equal_workflows() -> None:
    assert {change.effect for change in changes(workflow(CHAIN), workflow(CHAIN))} == {Effect.UNCHANGED}


def test_a_function_that_goes_breaks_what_runs() -> None:
    broken = reply(Effect.BREAKS, CHAIN, SHORT)
    assert "cannot continue" in broken["function b"]
    assert broken["function a"] == "loses the permission to invoke function b"
    assert reply(Effect.TAKEN_OVER, CHAIN, SHORT) == {}
    assert reply(Effect.REMOVED, CHAIN, SHORT) == {"state B": "was a Task"}


def test_an_edge_that_goes_is_taken_over() -> None:
    longer = machine(A=task("a", Next="D"), D=task("d", Next="B"), B=task("b", Next="C"), C=task("c"))
    assert reply(Effect.BREAKS, CHAIN, longer) == {}
    assert reply(Effect.TAKEN_OVER, CHAIN, longer) == {"function a": "loses the permission to invoke function b"}


def test_an_edge_of_a_task_without_a_checkpoint_breaks_what_runs() -> None:
    longer = machine(A=task("a", Next="D"), D=task("d", Next="B"), B=task("b", Next="C"), C=task("c"))
    options = {"a": FunctionOptions(checkpoint=False)}
    old = compile_workflow(CHAIN, name="w", functions=None, options=options)
    (broken,) = (change for change in changes(old, workflow(longer)) if change.effect is Effect.BREAKS)
    assert broken.message == "loses the permission to invoke function b"


def test_an_activity_that_goes_takes_its_queue_along() -> None:
    waiting = machine(A=task("a", Next="B"), B=task("arn:aws:states:::activity:resize"))
    broken = reply(Effect.BREAKS, waiting, machine(A=task("a")))
    assert broken["activity resize"].startswith("is removed with its queue")
    assert "cannot continue" in broken["the function that calls services"]
    assert reply(Effect.BREAKS, machine(A=task("a")), waiting) == {}
    assert reply(Effect.BREAKS, waiting, waiting) == {}


def test_what_is_added_breaks_nothing() -> None:
    new = machine(A=task("a", Next="B"), B=task("b", Next="C"), C=task("c", Next="D"), D=task("d"))
    assert reply(Effect.BREAKS, CHAIN, new) == {}
    assert reply(Effect.ADDED, CHAIN, new) == {"function d": "is new", "state D": "a Task"}
    assert reply(Effect.CHANGED, CHAIN, new) == {"state C": "next none → D"}


def test_removed_state_breaks_nothing_if_its_function_stays_reachable() -> None:
    old = machine(A=task("a", Next="Tidy"), Tidy={"Type": "Pass", "Next": "B"}, B=task("b"))
    assert reply(Effect.BREAKS, old, machine(A=task("a", Next="B"), B=task("b"))) == {}


def test_a_fan_out_that_goes_takes_what_its_branches_may_do_in_the_store() -> None:
    assert 'to "add" in the store' in reply(Effect.TAKEN_OVER, machine(M=SPREAD), machine(A=task("a")))["function a"]


def test_the_timer_goes_with_the_last_wait() -> None:
    waiting = machine(A=task("a", Next="W"), W={"Type": "Wait", "Seconds": 3, "Next": "B"}, B=task("b"))
    broken = reply(Effect.BREAKS, waiting, machine(A=task("a", Next="B"), B=task("b")))
    assert broken.keys() == {"timer", "function a"}


def test_schedules_go_with_the_last_long_wait() -> None:
    def waiting(seconds: int) -> dict[str, Any]:
        return machine(A=task("a", Next="W"), W={"Type": "Wait", "Seconds": seconds, "Next": "B"}, B=task("b"))

    assert reply(Effect.BREAKS, waiting(86_400), waiting(60)).keys() == {"schedules"}
    assert reply(Effect.BREAKS, waiting(60), waiting(86_400)) == {}


def test_a_service_that_is_not_called_any_more_is_not_allowed_any_more() -> None:
    call = {
        "Type": "Task",
        "Resource": "arn:aws:states:::sns:publish",
        "Parameters": {"TopicArn": "arn:aws:sns:us-east-1:1:t", "Message": "m"},
    }
    other = {**call, "Resource": "arn:aws:states:::aws-sdk:sns:listTopics", "Parameters": {}}
    broken = reply(Effect.BREAKS, machine(A={**call, "End": True}), machine(A={**other, "End": True}))
    assert broken.keys() == {"services"}
    assert "sns:Publish" in broken["services"]


def test_settings_hold_for_executions_that_start_afterwards() -> None:
    old = workflow(CHAIN)
    careless = replace(old.task("A"), guard=Guard.COMMIT)
    new = replace(old, hop_budget=5, timeout_s=60, collection=Collection.EAGER, states={**old.states, "A": careless})
    found = {change.subject: change.message for change in changes(old, new) if change.effect is Effect.CHANGED}
    assert found == {
        "hop budget": "100000 → 5",
        "collection": "ttl → eager",
        "timeout": "none → 60",
        "state A": "guard read → commit",
    }


def test_another_kind_of_state_is_named() -> None:
    old, new = machine(A={"Type": "Pass", "End": True}), machine(A={"Type": "Succeed"})
    assert reply(Effect.CHANGED, old, new) == {"state A": "Pass → Succeed"}


@pytest.mark.parametrize(("new", "code"), [(SHORT, 1), (CHAIN, 0)])
def test_the_exit_code_says_whether_something_breaks(
    unum: Any, file: Callable[..., Path], new: dict[str, Any], code: int
) -> None:
    file("old.json", CHAIN)
    file("new.json", new)
    as_text, as_json = unum("diff", "old.json", "new.json"), unum("diff", "old.json", "new.json", "--format", "json")
    assert (as_text.code, as_json.code) == (code, code)
    assert ("remove in two deployments" in as_text.err) == (code == 1)
    assert [line.split()[0] for line in as_text.out.splitlines()] == [
        found["effect"] for found in json.loads(as_json.out)
    ]
