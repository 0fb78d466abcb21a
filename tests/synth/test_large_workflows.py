"""A workflow of 200 nodes in one stack: within CloudFormation's limits, and few calls from Python to the CDK."""

import json
from collections import Counter
from typing import Any

import pytest
from aws_cdk import CfnWaitConditionHandle, NestedStack

from tests.synth.cdk_calls import counted
from tests.synth.deployment import Deployment, as_list, flat, function
from tests.synth.machines import chain
from unum_constructs.assembly.wired_program import MANY_FUNCTIONS, MOST_RESOURCES
from unum_constructs.testing import assert_workflow

NODES = 200
FUNCTIONS = 50
MOST_TEMPLATE_BYTES = 1_000_000
MOST_POLICY_CHARACTERS = 10_240
"""Of all inline policies of a role. Source: IAM User Guide, "IAM and AWS STS quotas"."""
MOST_MANAGED_CHARACTERS = 6_144
"""Of one managed policy. Source: the same."""
MOST_PARAMETERS = 200
"""And outputs. Source: AWS CloudFormation User Guide, "Understand CloudFormation quotas"."""
MOST_CALLS_EACH = 19
"""3,600 of all alone, and some more after other tests of the process."""
NAME = "x" * 64
"""As long as a function's may be."""


@pytest.fixture(scope="module")
def chain_of_200() -> Deployment:
    """Four Tasks of a chain in each function, made with few calls for each Task."""
    deployment = Deployment.new()
    keys = [f"Node{index:03}" for index in range(NODES)]
    with counted() as calls:
        hosts = [function(deployment.stack, f"Function{index:02}") for index in range(FUNCTIONS)]
        deployment.flow(chain(*keys), {key: hosts[index * FUNCTIONS // NODES] for index, key in enumerate(keys)})
        assert deployment.template["Resources"]
    assert calls.count <= MOST_CALLS_EACH * NODES
    return deployment


def test_resources_and_template(chain_of_200: Deployment) -> None:
    assert len(chain_of_200.template["Resources"]) <= MOST_RESOURCES
    assert len(json.dumps(chain_of_200.template)) <= MOST_TEMPLATE_BYTES


def inline_sizes(deployment: Deployment) -> Counter[str]:
    """Characters of the inline policies of each role."""
    sizes: Counter[str] = Counter()
    for policy in deployment.all("IAM::Policy").values():
        for role in policy["Properties"]["Roles"]:
            sizes[flat(role)] += size(policy["Properties"]["PolicyDocument"])
    return sizes


def size(document: Any) -> int:
    """Characters of a policy document whose resources are versions of functions with names as long as may be."""
    arn = f"arn:aws:lambda:ap-southeast-1:123456789012:function:{NAME}:*"
    bare = {**document, "Statement": [{**one, "Resource": ""} for one in document["Statement"]]}
    resources = sum(len(as_list(one["Resource"])) for one in document["Statement"])
    return len(json.dumps(bare, separators=(",", ":"))) + resources * (len(arn) + 3)


def test_policies(chain_of_200: Deployment) -> None:
    """The failure handler's are the largest: it stands in for every function."""
    assert max(inline_sizes(chain_of_200).values()) <= MOST_POLICY_CHARACTERS


def test_functions_know_their_successors_alone(chain_of_200: Deployment) -> None:
    edges = assert_workflow(chain_of_200.template).edges
    assert {len(targets) for targets in edges.values()} == {1, 2}
    assert len(chain_of_200.routes("Function00")) == 1
    assert chain_of_200.services("Function00")["Flow"]["carried"] == []


@pytest.fixture(scope="module")
def nested_200() -> list[Deployment]:
    """200 Tasks of a chain with a function each, 50 in each of four nested stacks; the stack around them is first."""
    around = Deployment.new()
    keys = [f"Node{index:03}" for index in range(NODES)]
    nested = [NestedStack(around.stack, f"Part{index}") for index in range(NODES // FUNCTIONS)]
    functions = {key: function(nested[index // FUNCTIONS], key) for index, key in enumerate(keys)}
    definition = chain(*keys)
    for each in definition["States"].values():
        each["Retry"] = [{"ErrorEquals": ["Again"]}]
    around.flow(definition, functions)
    return [around, *map(Deployment, nested)]


def test_nested_stacks_are_within_the_limits(nested_200: list[Deployment]) -> None:
    around = nested_200[0].template
    for deployment in nested_200:
        assert len(deployment.template["Resources"]) <= MOST_RESOURCES
        assert len(json.dumps(deployment.template)) <= MOST_TEMPLATE_BYTES
        assert len(deployment.template.get("Parameters", {})) <= MOST_PARAMETERS
        assert len(deployment.template.get("Outputs", {})) <= MOST_PARAMETERS
    assert len([each for each in around["Resources"].values() if each["Type"] == "AWS::CloudFormation::Stack"]) == 4


def test_policies_for_functions_of_nested_stacks(nested_200: list[Deployment]) -> None:
    around = nested_200[0]
    assert max(inline_sizes(around).values()) <= MOST_POLICY_CHARACTERS
    managed = around.all("IAM::ManagedPolicy").values()
    assert len(managed) == 3 * 4, "of failure handler, control function and timer, beyond what is inline"
    assert max(size(each["Properties"]["PolicyDocument"]) for each in managed) <= MOST_MANAGED_CHARACTERS
    allowed = [
        flat(arn)
        for each in [*managed, *around.all("IAM::Policy").values()]
        for statement in each["Properties"]["PolicyDocument"]["Statement"]
        if "lambda:GetFunctionConfiguration" in as_list(statement["Action"])
        for arn in as_list(statement["Resource"])
    ]
    assert {*Counter(allowed).values()} == {2}, "once for the failure handler, once for the control function"
    assert len({*allowed}) == NODES + 1, "and the entry"


def test_functions_of_nested_stacks_know_their_successors(nested_200: list[Deployment]) -> None:
    """In their own stack directly; those of the next stack travel with the events, from the entry."""
    around, first, second, *_ = nested_200
    entry = around.services("Flow/Entry")["Flow"]
    assert entry["carried"] == ["Node050", "Node100", "Node150"]
    assert entry["routes"].keys() == {"Node000", "Node050", "Node100", "Node150"}
    output = f"{second.version('Node050')}Arn"
    assert entry["routes"]["Node050"].endswith(f"Outputs.{output}")
    assert second.template["Outputs"][output]["Value"] == {"Ref": second.version("Node050")}
    assert first.routes("Node000") == {"Node001": first.version("Node001")}
    assert first.routes("Node049") == {}


def test_a_stack_that_is_too_large_is_told_what_to_do() -> None:
    deployment = Deployment.new()
    keys = [f"Node{index:03}" for index in range(MANY_FUNCTIONS + 1)]
    deployment.flow(chain(*keys), {key: function(deployment.stack, key) for key in keys})
    for index in range(MOST_RESOURCES - 6 * len(keys)):
        CfnWaitConditionHandle(deployment.stack, f"Other{index}")
    with pytest.raises(RuntimeError, match=r"'Stack' has 5\d\d resources, of 56 functions .* make functions in nested"):
        assert deployment.template
