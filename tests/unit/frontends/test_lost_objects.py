"""Objects in chains that the CDK resolves at synthesis: texts, as a `StateMachine` has them."""

from typing import Any

import pytest
from aws_cdk import App, CfnCondition, CfnOutput, Fn, Stack, Token, assertions
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_stepfunctions as sfn

from tests.unit.frontends.test_resolvables import deployed, later
from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError
from unum_runtime.model.checkpoint import Success
from unum_simulator.local import LocalWorkflow

REGION = {"Ref": "AWS::Region"}


@pytest.fixture
def stack() -> Stack:
    stack = Stack(App(), "Stack")
    CfnCondition(stack, "C", expression=Fn.condition_equals("a", "a"))
    return stack


def test_they_become_texts_wherever_they_are(stack: Stack) -> None:
    objects = {"a": Token.as_any(REGION), "b": [1, {"c": Fn.condition_if("C", "x", "y")}], "d": f"in {stack.region}"}
    chain = sfn.Pass(stack, "P", result=sfn.Result.from_object(objects), result_path="$.p")
    last = sfn.CustomState(stack, "Q", state_json={"Type": "Pass", "Parameters": {"p.$": "$.p", "q": objects}})
    definition = Definition.from_chainable(chain.next(last))
    expected = {"a": "eu-west-1", "b": [1, {"c": "x"}], "d": "in eu-west-1"}
    outcome = LocalWorkflow(deployed(definition, stack), {}).run("e", {}).outcome
    assert outcome == Success({"p": expected, "q": expected})


def test_a_reference_inside_the_stack_stays_one(stack: Stack) -> None:
    bucket = s3.CfnBucket(stack, "Bucket")
    (value,) = late(stack, {"Fn::GetAtt": [bucket.logical_id, "Arn"]}).values.values()
    assert stack.resolve(value) == {"Fn::GetAtt": ["Bucket", "Arn"]}


def test_a_reference_to_another_stack_is_exported_there(stack: Stack) -> None:
    other = Stack(App.of(stack), "Other")
    bucket = s3.CfnBucket(other, "There")
    nested = Fn.condition_if("C", bucket.get_att("Arn"), "none")
    objects = {"late": bucket.get_att("Arn"), "nested": [nested]}
    definition = Definition.from_chainable(sfn.Pass(stack, "P", result=sfn.Result.from_object(objects)))
    for name, value in definition.values.items():
        CfnOutput(stack, name, value=value)
    found = str(assertions.Template.from_stack(stack).find_outputs("*"))
    assert found.count("Fn::ImportValue") == 2
    assert "ThereArn" in str(assertions.Template.from_stack(other).find_outputs("*"))


def test_a_name_in_another_stack_is_refused_at_its_place(stack: Stack) -> None:
    bucket = s3.CfnBucket(Stack(App.of(stack), "Other"), "There")
    for given in ({"Ref": bucket.logical_id}, {"Fn::Sub": ["${a}", {"a": {"Fn::GetAtt": "There.Arn"}}]}):
        with pytest.raises(DefinitionError, match=r"\$\.States\.P\.Result\.late: expected a reference, got .* 'There'"):
            late(stack, given)
        stack.node.try_remove_child("P")


def test_an_object_may_stand_beside_an_array_that_is_known_later(stack: Stack) -> None:
    objects = {"late": Token.as_any(REGION), "array": Fn.split(",", Fn.ref("List"))}
    definition = Definition.from_chainable(sfn.Pass(stack, "P", result=sfn.Result.from_object(objects)))
    assert [each for each in stack.node.find_all() if "Stringify" in each.node.path] == []
    assert {name[:5] for name in definition.values} == {"Value", "Array"}


def test_objects_that_are_no_texts_are_json(stack: Stack) -> None:
    objects = {"list": later([1, {"c": 2.5}]), "number": Token.as_any(5), "object": later({"in": f"{stack.region}"})}
    definition = Definition.from_chainable(sfn.Pass(stack, "P", result=sfn.Result.from_object(objects)))
    outcome = LocalWorkflow(deployed(definition, stack), {}).run("e", {}).outcome
    assert outcome == Success({"list": [1, {"c": 2.5}], "number": 5, "object": {"in": "eu-west-1"}})


def late(stack: Stack, given: Any) -> Definition:
    return Definition.from_chainable(sfn.Pass(stack, "P", result=sfn.Result.from_object({"late": Token.as_any(given)})))
