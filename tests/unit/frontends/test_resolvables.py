"""Objects that the CDK resolves at synthesis: placeholders for JSON."""

import json
from typing import Any

import jsii
import pytest
from aws_cdk import CfnCondition, Fn, IStableAnyProducer, Lazy, Stack, Token

from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.ir import Workflow
from unum_runtime.model.placeholders import fill
from unum_simulator.local import LocalWorkflow


@jsii.implements(IStableAnyProducer)
class _Produces:
    def __init__(self, value: Any) -> None:
        self.value = value

    def produce(self) -> Any:
        return self.value


def later(value: Any) -> Any:
    return Lazy.any(_Produces(value))


@pytest.fixture
def stack() -> Stack:
    return Stack()


def deployed(definition: Definition, stack: Stack) -> Workflow:
    """The workflow as functions load it after a deployment in eu-west-1 with the condition C."""
    values = {name: _joined(stack.resolve(token)) for name, token in definition.values.items()}
    return Workflow.from_json(fill(definition.compile("w", None).to_json(), values))


def _joined(value: Any) -> str:
    match value:
        case {"Fn::Join": ["", list() as parts]}:
            return "".join(map(_joined, parts))
        case {"Ref": "AWS::Region"}:
            return "eu-west-1"
        case {"Fn::If": ["C", text, _]}:
            return str(text)
    return str(value)


def machine(**states: Any) -> Any:
    return {"StartAt": next(iter(states)), "States": states}


def test_objects_become_what_a_state_machine_would_have(stack: Stack) -> None:
    CfnCondition(stack, "C", expression=Fn.condition_equals("a", "a"))
    values = {
        "list": later([1, {"c": 2.5}]),
        "text": Token.as_any({"Ref": "AWS::Region"}),
        "if": Fn.condition_if("C", "x", "y"),
        "in": [later(5), 2],
        "with a token": later([f"s3://{stack.region}"]),
    }
    expected = {
        "list": [1, {"c": 2.5}],
        "text": "eu-west-1",
        "if": "x",
        "in": [5, 2],
        "with a token": ["s3://eu-west-1"],
    }
    definition = Definition.from_asl(
        machine(
            A={"Type": "Pass", "Result": values, "ResultPath": "$.a", "Next": "B"},
            B={"Type": "Pass", "Parameters": {"a.$": "$.a", "b": values}, "Next": "C"},
            C={
                "Type": "Pass",
                "QueryLanguage": "JSONata",
                "Output": {"a": "{% $states.input.a %}", "b": "{% $states.input.b %}", "c": values},
                "End": True,
            },
        )
    )
    assert len(definition.values) == len(values)  # each object once
    outcome = LocalWorkflow(deployed(definition, stack), {}).run("e", {}).outcome
    assert isinstance(outcome, Success)
    assert outcome.value == dict.fromkeys("abc", expected)


def test_an_object_may_be_a_path_a_number_or_a_compared_value(stack: Stack) -> None:
    rule = {"Variable": "$.n", "NumericEquals": later(7), "Next": "C"}
    definition = Definition.from_asl(
        machine(
            A={"Type": "Wait", "Seconds": later(3), "Next": "B"},
            B={"Type": "Choice", "Choices": [rule]},
            C={"Type": "Pass", "Parameters": {"x.$": later("$.n")}, "End": True},
        )
    )
    assert LocalWorkflow(deployed(definition, stack), {}).run("e", {"n": 7}).outcome == Success({"x": 7})


def test_objects_stand_beside_substitutions_and_names_of_the_definition(stack: Stack) -> None:
    result: dict[str, Any] = {"a": "${Name}", "b": "${Json1}", "c": later([1])}
    given = machine(A={"Type": "Pass", "Result": result, "End": True})
    definition = Definition.from_asl(given, substitutions={"Name": "n", "Json1": "j"})
    outcome = LocalWorkflow(deployed(definition, stack), {}).run("e", {}).outcome
    assert outcome == Success({"a": "n", "b": "j", "c": [1]})


@pytest.mark.parametrize("given", ["", "{", "[1, 2", "eu-west-1"])
def test_only_json_takes_the_place_of_an_object(given: str) -> None:
    with pytest.raises(DefinitionError, match=r"\$\{Json1\}: expected JSON from the deployment, got"):
        fill('{"n": "${Json1}"}', {"Json1": given})


def test_json_is_written_anew() -> None:
    assert json.loads(fill('{"n": "${Json1}"}', {"Json1": ' {"a": "\\u00e4"} '})) == {"n": {"a": "ä"}}


def test_control_flow_refuses_an_object() -> None:
    with pytest.raises(DefinitionError, match=r"States.A.Next"):
        Definition.from_asl(machine(A={"Type": "Pass", "Next": later("B")})).compile("w", None)


def test_what_is_neither_json_nor_of_the_cdk_is_refused(stack: Stack) -> None:
    for other in (object(), stack):
        with pytest.raises(DefinitionError, match=r"Result: expected a JSON value, got a Python (object|Stack)"):
            Definition.from_asl(machine(A={"Type": "Pass", "Result": other, "End": True}))
