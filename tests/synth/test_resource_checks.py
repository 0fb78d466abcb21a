"""Tables and keys of users: wrong types, regions and accounts."""

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms

from tests.synth.deployment import Deployment, function
from tests.synth.machines import chain
from unum_constructs import ConstructError, Store

HERE = Environment(account="111111111111", region="eu-west-1")
KEYS: dict[str, Any] = {
    "partition_key": dynamodb.Attribute(name="pk", type=dynamodb.AttributeType.STRING),
    "sort_key": dynamodb.Attribute(name="sk", type=dynamodb.AttributeType.STRING),
    "time_to_live_attribute": "ttl",
}


def by_arn(region: str, account: str) -> Callable[[Stack], dict[str, Any]]:
    arn = f"arn:aws:dynamodb:{region}:{account}:table/t"
    return lambda stack: {"store": Store.dynamodb(table=dynamodb.Table.from_table_arn(stack, "T", arn))}


def of_another_stack(stack: Stack) -> dict[str, Any]:
    other = Stack(stack.node.root, "Other", env=Environment(account=HERE.account, region="us-east-1"))  # type: ignore[arg-type]
    return {"store": Store.dynamodb(table=dynamodb.Table(other, "T", table_name="t", **KEYS))}


def key(region: str, kind: str = "key") -> Callable[[Stack], dict[str, Any]]:
    arn = f"arn:aws:kms:{region}:222222222222:{kind}/k"
    return lambda stack: {"encryption_key": kms.Key.from_key_arn(stack, "K", arn)}


def alias_by_name(stack: Stack) -> dict[str, Any]:
    return {"encryption_key": kms.Alias.from_alias_name(stack, "K", "alias/k")}


def alias_of_a_key(stack: Stack) -> dict[str, Any]:
    return {"encryption_key": kms.Key(stack, "Key").add_alias("k")}


def table_with_an_alias(stack: Stack) -> dict[str, Any]:
    alias = kms.Alias.from_alias_name(stack, "K", "alias/k")
    return {"store": Store.dynamodb(table=dynamodb.Table(stack, "T", encryption_key=alias, **KEYS))}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            by_arn("us-east-1", "111111111111"),
            "store: expected a table of the workflow's region, eu-west-1, got Stack",
        ),
        (
            by_arn("eu-west-1", "222222222222"),
            "store: expected a table of the workflow's account, 111111111111, got",
        ),
        (of_another_stack, "store: expected a table of the workflow's region, eu-west-1, got Other/T of us-east-1"),
        (key("us-east-1"), "encryption_key: expected a key of the region eu-west-1, got Stack/K of us-east-1"),
        (
            key("eu-west-1", "alias"),
            "encryption_key: expected a key, got the alias Stack/K: permissions",
        ),
        (alias_by_name, "encryption_key: expected a key, got the alias Stack/K: permissions"),
        (alias_of_a_key, "encryption_key: expected a key, got the alias Stack/Key/Alias.*: permissions"),
        (table_with_an_alias, "store: the table's key: expected a key, got the alias Stack/K: permissions"),
    ],
)
def test_what_functions_could_not_use(given: Callable[[Stack], dict[str, Any]], said: str) -> None:
    deployment = Deployment(Stack(App(), "Stack", env=HERE))
    with pytest.raises(ConstructError, match=f"^Stack/Flow: {said}"):
        deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, **given(deployment.stack))


@pytest.mark.parametrize("env", [HERE, None])
@pytest.mark.parametrize("given", [by_arn("eu-west-1", "111111111111"), key("eu-west-1")])
def test_what_they_can(given: Callable[[Stack], dict[str, Any]], env: Environment | None) -> None:
    deployment = Deployment(Stack(App(), "Stack", env=env))
    deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, **given(deployment.stack))
    assert deployment.template


def test_keys_of_functions() -> None:
    stack = Stack(App(), "Stack", env=HERE)
    with pytest.raises(ConstructError, match=r"^Stack/A: encryption_key: expected a key, got the alias Stack/K"):
        function(stack, "A", **alias_by_name(stack))


@pytest.mark.parametrize("threshold", [0, -1, True, "1"])
def test_alarms_that_would_always_go_off(threshold: Any) -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")})
    with pytest.raises(ConstructError, match=r"^Stack/Flow/Alarms/Failed: expected a number above 0, or None"):
        flow.add_alarms(failed=threshold)
