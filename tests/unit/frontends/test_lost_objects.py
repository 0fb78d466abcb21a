"""Objects in chains that the CDK resolves at synthesis: texts, as a `StateMachine` has them."""

from typing import Any

import pytest
from aws_cdk import App, CfnCondition, Fn, Stack, Token
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_stepfunctions as sfn

from tests.unit.frontends.test_resolvables import deployed
from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError
from unum_runtime.model.checkpoint import Success
from unum_runtime.simulator.local import LocalWorkflow

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


def test_a_reference_to_another_stack_is_refused_at_its_place(stack: Stack) -> None:
    bucket = s3.CfnBucket(Stack(App.of(stack), "Other"), "There")
    for given in ({"Ref": bucket.logical_id}, {"Fn::Sub": ["${a}", {"a": {"Fn::GetAtt": "There.Arn"}}]}):
        with pytest.raises(DefinitionError, match=r"\$\.States\.P\.Result\.late: .* not in its stack; .*as_string"):
            late(stack, given)
        stack.node.try_remove_child("P")


def test_an_object_beside_an_array_that_is_known_later_is_refused(stack: Stack) -> None:
    objects = {"late": Token.as_any(REGION), "array": Fn.split(",", Fn.ref("List"))}
    with pytest.raises(DefinitionError, match=r"\$\.States\.P\.Result\.late: .* beside an array .*as_string"):
        Definition.from_chainable(sfn.Pass(stack, "P", result=sfn.Result.from_object(objects)))
    assert [each for each in stack.node.find_all() if "Stringify" in each.node.path] == []


def late(stack: Stack, given: Any) -> Definition:
    return Definition.from_chainable(sfn.Pass(stack, "P", result=sfn.Result.from_object({"late": Token.as_any(given)})))
