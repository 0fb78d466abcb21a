"""What definitions become."""

from typing import Any

import pytest

from unum_constructs.compiler import compile_workflow
from unum_runtime.errors import DefinitionError
from unum_runtime.model.ir import Form, Map, Parallel, Task, Workflow

INVOKE = "arn:aws:states:::lambda:invoke"
ARN = "arn:aws:lambda:eu-west-1:111111111111:function"


def compiled(definition: dict[str, Any]) -> Workflow:
    return compile_workflow(definition, name="w", functions=None)


def one_task(**fields: Any) -> Task:
    state = {"Type": "Task", "Resource": "f", "End": True, **fields}
    return compiled({"StartAt": "A", "States": {"A": state}}).task("A")


def invoked(parameters: dict[str, Any], **fields: Any) -> Any:
    task = one_task(Resource=INVOKE, Parameters={"FunctionName": "f", **parameters}, **fields)
    assert (task.function, task.form) == ("f", Form.INVOKE)
    return task.data


def chain(*states: dict[str, Any]) -> dict[str, Any]:
    """States A, B, C, ..., each of which leads to the next."""
    names = "ABCDEFG"[: len(states)]
    linked = [{**state, "Next": after} for state, after in zip(states, names[1:], strict=False)]
    return {"StartAt": "A", "States": dict(zip(names, [*linked, {**states[-1], "End": True}], strict=True))}


def fan_out(inner: str, **state: Any) -> dict[str, Any]:
    return {"Type": "Map", "ItemProcessor": {"StartAt": inner, "States": {inner: {**state, "End": True}}}}


TASK = {"Type": "Task", "Resource": "f"}
PASS = {"Type": "Pass"}


@pytest.mark.parametrize(
    ("resource", "function"),
    [
        ("Resize", "Resize"),
        ("${Resize}", "Resize"),
        ("${Resize.Arn}", "Resize"),
        ("${Resize}:prod", "Resize"),
        (f"{ARN}:Resize", "Resize"),
        (f"{ARN}:Resize:$LATEST", "Resize"),
        (f"{ARN}:${{Resize}}:7", "Resize"),
        ("arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:Resize", "Resize"),
        ("arn:${Token[AWS.Partition.2]}:lambda:${Token[AWS.Region.3]}:1:function:Resize", "Resize"),
    ],
)
def test_functions_are_named_in_several_ways(resource: str, function: str) -> None:
    assert one_task(Resource=resource).function == function
    assert one_task(Resource=INVOKE, Parameters={"FunctionName": resource}).function == function


def test_the_partition_of_invoke_may_be_a_token() -> None:
    resource = "arn:${Token[AWS.Partition.2]}:states:::lambda:invoke"
    assert one_task(Resource=resource, Parameters={"FunctionName": "f"}).form is Form.INVOKE


def test_payload_is_the_effective_input() -> None:
    assert invoked({"Payload": {"a.$": "$.b"}}) == {"Parameters": {"a.$": "$.b"}}
    assert invoked({"Payload": "$.text"}) == {"Parameters": "$.text"}
    assert invoked({}) == {"Parameters": {}}


def test_payload_path_follows_the_input_path() -> None:
    assert invoked({"Payload.$": "$"}) == {"InputPath": "$"}
    assert invoked({"Payload.$": "$.b"}) == {"InputPath": "$.b"}
    assert invoked({"Payload.$": "$.b[0]"}, InputPath="$.a") == {"InputPath": "$.a.b[0]"}
    assert invoked({"Payload.$": "$"}, InputPath=None) == {"InputPath": None}
    assert invoked({"Payload.$": "$"}, InputPath="$.a[*]") == {"InputPath": "$.a[*]"}
    assert invoked({"Payload.$": "$$.Execution.Name"}, InputPath=None) == {"InputPath": "$$.Execution.Name"}


def test_payload_path_that_cannot_follow_the_input_path_is_refused() -> None:
    with pytest.raises(DefinitionError, match="cannot select in what"):
        invoked({"Payload.$": "$.b"}, InputPath="$.a[*]")
    with pytest.raises(DefinitionError, match="cannot select in what"):
        invoked({"Payload.$": "$.b"}, InputPath=None)


def test_older_names_of_a_map_become_the_newer() -> None:
    old = {
        "Type": "Map",
        "Iterator": fan_out("B", **TASK)["ItemProcessor"],
        "Parameters": {"a": 1},
        "MaxConcurrency": 2,
    }
    new = {**fan_out("B", **TASK), "ItemSelector": {"a": 1}, "MaxConcurrency": 2}
    assert compiled(chain(old)).to_json() == compiled(chain(new)).to_json()


def test_rules_keep_what_is_not_their_target() -> None:
    rule = {"Variable": "$.a", "IsPresent": True}
    choice = {"Type": "Choice", "Choices": [{**rule, "Comment": "why", "Next": "B"}], "Default": "B"}
    workflow = compiled({"StartAt": "A", "States": {"A": choice, "B": {**TASK, "End": True}}})
    assert workflow.states["A"].rules == ((rule, "B"),)
    assert workflow.states["A"].next is None


def test_states_know_what_is_around_them() -> None:
    branches = [chain({**TASK}), fan_out("C", **PASS)["ItemProcessor"]]
    branches[0] = {"StartAt": "B", "States": {"B": {**TASK, "End": True}}}
    workflow = compiled(chain({"Type": "Parallel", "Branches": branches}))
    assert workflow.states["A"] == Parallel(
        name="A", scope=None, data={}, next=None, pure=False, join=None, branches=("B", "C")
    )
    assert [state.scope for state in workflow.states.values()] == [None, "A", "A"]


def test_fan_out_without_task_is_pure_at_any_depth() -> None:
    nested = {"Type": "Map", "ItemProcessor": {"StartAt": "Y", "States": {"Y": {**fan_out("Z", **PASS), "End": True}}}}
    assert compiled(chain(nested)).fan_out("A").pure
    nested = {"Type": "Map", "ItemProcessor": {"StartAt": "Y", "States": {"Y": {**fan_out("Z", **TASK), "End": True}}}}
    assert not compiled(chain(nested)).fan_out("A").pure


@pytest.mark.parametrize(
    ("after", "join"),
    [
        ([], None),
        ([TASK], "B"),
        ([PASS, PASS, TASK], "D"),
        ([PASS], None),
        ([fan_out("X", **TASK), TASK], None),
        ([PASS, fan_out("X", **PASS), TASK], None),
    ],
)
def test_join_is_the_task_that_follows_for_certain(after: list[dict[str, Any]], join: str | None) -> None:
    fan = compiled(chain(fan_out("Z", **TASK), *after)).fan_out("A")
    assert isinstance(fan, Map)
    assert fan.join == join


def test_a_circle_of_pass_states_has_no_join() -> None:
    states = {
        "A": {**fan_out("Z", **TASK), "Next": "B"},
        "B": {"Type": "Pass", "Next": "C"},
        "C": {"Type": "Choice", "Choices": [{"Variable": "$", "IsNull": True, "Next": "A"}], "Default": "D"},
        "D": {"Type": "Succeed"},
    }
    assert compiled({"StartAt": "A", "States": states}).fan_out("A").join is None
