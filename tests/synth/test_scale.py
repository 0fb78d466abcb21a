"""A workflow of 200 nodes in one stack: within CloudFormation's limits, and few calls from Python to the CDK."""

import json
from collections import Counter

import pytest

from tests.synth.deployment import Deployment, as_list, flat, function
from tests.synth.jsii_calls import counted
from tests.synth.machines import chain
from unum_constructs.testing import assert_workflow

NODES = 200
FUNCTIONS = 50
MOST_RESOURCES = 500
"""Source: AWS CloudFormation User Guide, "Understand CloudFormation quotas"."""
MOST_TEMPLATE_BYTES = 1_000_000
MOST_POLICY_CHARACTERS = 10_240
"""Of all inline policies of a role. Source: IAM User Guide, "IAM and AWS STS quotas"."""
MOST_CALLS_EACH = 40
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


def test_policies(chain_of_200: Deployment) -> None:
    """The failure handler's are the largest: it stands in for every function."""
    arn = f"arn:aws:lambda:ap-southeast-1:123456789012:function:{NAME}:*"
    sizes: Counter[str] = Counter()
    for policy in chain_of_200.all("IAM::Policy").values():
        document = policy["Properties"]["PolicyDocument"]
        bare = {**document, "Statement": [{**one, "Resource": ""} for one in document["Statement"]]}
        resources = sum(len(as_list(one["Resource"])) for one in document["Statement"])
        for role in policy["Properties"]["Roles"]:
            sizes[flat(role)] += len(json.dumps(bare, separators=(",", ":"))) + resources * (len(arn) + 3)
    assert max(sizes.values()) <= MOST_POLICY_CHARACTERS


def test_functions_know_their_successors_alone(chain_of_200: Deployment) -> None:
    edges = assert_workflow(chain_of_200.template).edges
    assert {len(targets) for targets in edges.values()} == {1, 2}
    assert len(chain_of_200.routes("Function00")) == 1
    assert chain_of_200.services("Function00")["Flow"]["carried"] == []
