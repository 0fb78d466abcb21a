"""Refusals of unsupported language features, by name and place."""

from typing import Any

import pytest

from unum_compiler import compile_workflow
from unum_compiler.parsing.task_resources import SERVICES
from unum_compiler.services.service_permissions import iam_statements
from unum_runtime.errors import DefinitionError
from unum_runtime.model.states import Form, Pattern

INVOKE = "arn:aws:states:::lambda:invoke"


def task(**fields: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": "f", "End": True, **fields}


def machine(state: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"StartAt": "A", "States": {"A": state}, **fields}


def problems(definition: Any) -> list[tuple[str, str | None]]:
    with pytest.raises(DefinitionError) as caught:
        compile_workflow(definition, name="w", functions=None)
    return [(problem.path, problem.feature) for problem in caught.value.problems]


RESOURCES = {
    "arn:aws:states:::dynamodb:query": "service integration dynamodb:query",
    "arn:aws:states:::sqs:sendMessage.sync": "service integration sqs:sendMessage",
    "arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}:aws-sdk:s3:getObjekt": (
        "service integration aws-sdk:s3:getObjekt"
    ),
    "https://example.com/worker": "resource https://example.com/worker",
    "arn:aws:swf:eu-west-1:111111111111:task:t": "resource arn:aws:swf:eu-west-1:111111111111:task:t",
}


@pytest.mark.parametrize("name", RESOURCES)
def test_resource_is_refused_by_its_name(name: str) -> None:
    assert problems(machine(task(Resource=name))) == [("$.States.A.Resource", RESOURCES[name])]


@pytest.mark.parametrize(
    ("option", "value"), [("InvocationType", "RequestResponse"), ("LogType", "None"), ("Qualifier", "$LATEST")]
)
def test_options_of_invoke_with_their_default_are_accepted(option: str, value: str) -> None:
    definition = machine(task(Resource=INVOKE, Parameters={"FunctionName": "f", option: value}))
    assert compile_workflow(definition, name="w", functions={"f"}).task("A").form is Form.INVOKE


@pytest.mark.parametrize(
    ("option", "value"),
    [("InvocationType", "Event"), ("Qualifier.$", "$.q"), ("LogType", "Tail"), ("ClientContext", "e30=")],
)
def test_options_of_invoke_belong_to_functions_outside(option: str, value: str) -> None:
    function = "arn:aws:lambda:eu-west-1:111111111111:function:other"
    definition = machine(task(Resource=INVOKE, Parameters={"FunctionName": function, option: value}))
    called = compile_workflow(definition, name="w", functions=()).task("A")
    assert (called.function, called.resource) == (SERVICES, "lambda:invoke")
    assert called.data["Parameters"] == {"FunctionName": function, option: value}


def test_arguments_of_invoke_may_be_computed_as_a_whole() -> None:
    state = task(Resource=INVOKE, QueryLanguage="JSONata", Arguments="{% $states.input %}")
    called = compile_workflow(machine(state), name="w", functions=()).task("A")
    assert (called.function, called.resource) == (SERVICES, "lambda:invoke")
    (statement,) = iam_statements("lambda:invoke", Pattern.RESPONSE, called.data["Arguments"])
    assert (statement.actions, statement.resources) == (("lambda:InvokeFunction",), ("*",))
