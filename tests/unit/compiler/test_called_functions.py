"""Tasks of functions that cannot have the runtime, or that a Task calls with options."""

from dataclasses import replace
from typing import Any

import pytest

from unum_compiler import compile_workflow, to_compiled
from unum_compiler import graph as g
from unum_compiler.compatibility import Compatibility
from unum_compiler.definition import Definition
from unum_compiler.parsing.task_resources import SERVICES
from unum_compiler.services.started_workflows import arguments_of
from unum_compiler.services.task_permissions import task_statements
from unum_runtime.errors import DefinitionError
from unum_runtime.model.called_functions import CALLED, called_key
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Form, Json, Pattern, Task
from unum_simulator.local import LocalWorkflow

INVOKE = "arn:aws:states:::lambda:invoke"
ARN = "arn:aws:lambda:eu-west-1:111111111111:function:f"
ROLE = "arn:aws:iam::222222222222:role/caller"
JSONATA = {"QueryLanguage": "JSONata"}


def machine(*tasks: Json) -> dict[str, Any]:
    names = [chr(ord("A") + number) for number in range(len(tasks))]
    following = [{"Next": name} for name in names[1:]] + [{"End": True}]
    states = ({"Type": "Task", "Resource": "f", **task, **then} for task, then in zip(tasks, following, strict=True))
    return {"StartAt": "A", "States": dict(zip(names, states, strict=True))}


def compiled(*tasks: Json, functions: tuple[str, ...] | None = ("f",), called: tuple[str, ...] = ()) -> Workflow:
    return compile_workflow(machine(*tasks), name="w", functions=functions, called=called)


def allowed(task: Task) -> list[str]:
    return [arn for each in task_statements(task, arguments_of(task)) for arn in each.resources]


def invoke(**parameters: Json) -> dict[str, Any]:
    return {"Resource": INVOKE, "Parameters": {"FunctionName": "f", **parameters}}


OPTIONS: dict[str, Json] = {
    "InvocationType": "Event",
    "InvocationType.$": "$.t",
    "Qualifier": "1",
    "LogType": "Tail",
    "ClientContext": "e30=",
}


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("functions", [("f",), None])
def test_a_task_with_options_calls_its_function(option: str, functions: tuple[str, ...] | None) -> None:
    task = compiled(invoke(**{option: OPTIONS[option], "Payload": 1}), functions=functions).task("A")
    assert (task.function, task.form, task.resource) == (SERVICES, Form.SERVICE, "lambda:invoke")
    assert arguments_of(task) == {"FunctionName": f"{CALLED}f", option: OPTIONS[option], "Payload": 1}


def test_a_function_that_one_task_calls_is_called_by_all() -> None:
    workflow = compiled({}, invoke(), invoke(Qualifier="live"), {"Resource": "g"}, functions=("f", "g"))
    assert [task.function for task in workflow.tasks] == [SERVICES, SERVICES, SERVICES, "g"]
    assert [called_key(task) for task in workflow.tasks] == ["f", "f", "f", None]


@pytest.mark.parametrize(
    ("fields", "arguments"),
    [
        ({}, {"Parameters.$": "$"}),
        (JSONATA, {"Parameters": "{% $states.input %}"}),
        ({"Parameters": {"n": 1}}, {"Parameters": {"n": 1}}),
        (invoke(Payload=1), {"Parameters": {"FunctionName": f"{CALLED}f", "Payload": 1}}),
    ],
)
def test_a_function_is_called_with_a_role(fields: Json, arguments: Json) -> None:
    task = compiled({"Credentials": {"RoleArn": ROLE}, **fields}).task("A")
    assert arguments_of(task) == {"Credentials": {"RoleArn": ROLE}, **arguments}
    assert (task.assumes_role, called_key(task), allowed(task)) == (True, "f", [ROLE])


@pytest.mark.parametrize(
    ("task", "resource", "arguments"),
    [
        ({}, f"{CALLED}f", None),
        ({"Parameters": {"n.$": "$.n"}}, f"{CALLED}f", {"n.$": "$.n"}),
        (invoke(), "lambda:invoke", {"FunctionName": f"{CALLED}f"}),
        (invoke(**{"Payload.$": "$"}), "lambda:invoke", {"FunctionName": f"{CALLED}f", "Payload.$": "$"}),
        (
            {**JSONATA, "Resource": INVOKE, "Arguments": {"FunctionName": "f", "Payload": "{% 1 %}"}},
            "lambda:invoke",
            {"FunctionName": f"{CALLED}f", "Payload": "{% 1 %}"},
        ),
    ],
)
def test_a_function_that_cannot_have_the_runtime(task: Json, resource: str, arguments: Json) -> None:
    found = compiled(task, called=("f",)).task("A")
    assert (found.function, found.resource, arguments_of(found)) == (SERVICES, resource, arguments)


def test_a_called_function_may_pass_a_task_token_on() -> None:
    task = {**invoke(Payload={"t.$": "$$.Task.Token"}), "Resource": f"{INVOKE}.waitForTaskToken"}
    found = compiled(task, called=("f",)).task("A")
    assert (found.resource, found.pattern) == ("lambda:invoke", Pattern.CALLBACK)


def test_functions_of_ir_and_of_graphs_are_called_too() -> None:
    graph = Definition.from_graph(g.task("A", "f"))
    ir = Definition.from_ir(to_compiled(graph.compile("w", ("f",))))
    for definition in (graph, ir):
        assert called_key(definition.compile("w", ("f",), called=("f",)).task("A")) == "f"


@pytest.mark.parametrize(
    "fields", [{"Resource": ARN}, {"Resource": INVOKE, "Parameters": {"FunctionName": ARN}}], ids=["direct", "invoke"]
)
def test_a_function_that_is_named_by_its_arn_alone(fields: Json) -> None:
    task = compiled(fields, functions=("g",)).task("A")
    assert (task.function, called_key(task), allowed(task)) == (SERVICES, None, [ARN])
    for functions in (("f",), None):
        assert compiled(fields, functions=functions).task("A").function == "f"


def test_an_arn_with_unknown_parts_names_a_function_of_the_workflow() -> None:
    arn = "arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:h"
    with pytest.raises(DefinitionError, match='there is no function "h"'):
        compiled({"Resource": arn}, functions=("g",))


@pytest.mark.parametrize(
    ("parameters", "arns"),
    [
        ({}, [ARN]),
        ({"Qualifier": "live"}, [f"{ARN}:live"]),
        ({"Qualifier.$": "$.q"}, [ARN, f"{ARN}:*"]),
        ({"FunctionName": f"{ARN}:3", "Qualifier": "3"}, [f"{ARN}:3"]),
        (
            {"FunctionName": "arn:${Value1}:lambda:${Value2}:1:function:f"},
            ["arn:${Value1}:lambda:${Value2}:1:function:f"],
        ),
    ],
)
def test_exactly_the_function_may_be_called(parameters: Json, arns: list[str]) -> None:
    task = {"Resource": INVOKE, "Parameters": {"FunctionName": ARN, **parameters}}
    assert allowed(compiled(task, functions=("g",)).task("A")) == arns


def test_the_metadata_of_a_called_function_are_those_of_step_functions() -> None:
    reads = {**invoke(), "ResultSelector": {"id.$": "$.SdkResponseMetadata.RequestId"}}
    definition = replace(Definition.from_asl(machine(reads)), compatibility=Compatibility.STRICT)
    assert definition.compile("w", ("f",), called=("f",)).task("A").form is Form.SERVICE
    with pytest.raises(DefinitionError, match="SdkResponseMetadata"):
        definition.compile("w", ("f",))


RUNS: dict[str, tuple[Json, Json]] = {
    "direct": ({}, {"n": 2}),
    "invoke": (invoke(**{"Payload.$": "$"}), {"ExecutedVersion": "$LATEST", "Payload": {"n": 2}, "StatusCode": 200}),
    "qualifier": (
        invoke(**{"Payload.$": "$", "Qualifier": "3", "LogType": "Tail"}),
        {"ExecutedVersion": "3", "Payload": {"n": 2}, "StatusCode": 200, "LogResult": ""},
    ),
    "asynchronous": (invoke(InvocationType="Event", Payload={}), {"Payload": "", "StatusCode": 202}),
    "dry": (
        invoke(InvocationType="DryRun", Payload={}),
        {"ExecutedVersion": "$LATEST", "Payload": "", "StatusCode": 204},
    ),
    "role": ({"Credentials": {"RoleArn": ROLE}}, {"n": 2}),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_handler_under_the_key_answers_in_local_runs(name: str) -> None:
    task, result = RUNS[name]
    workflow = compiled(task, called=("f",))
    ending = LocalWorkflow(workflow, {"f": lambda event, _context: {"n": event["n"] + 1}}).run("e", {"n": 1})
    assert ending.outcome == Success(result)


def test_a_handler_under_the_name_of_the_task_gives_the_whole_result() -> None:
    workflow = compiled(invoke(Qualifier="1"))
    ending = LocalWorkflow(workflow, {"f": None, "A": lambda event, _context: event}).run("e", {})  # type: ignore[dict-item]
    assert ending.outcome == Success({"FunctionName": f"{CALLED}f", "Qualifier": "1"})
