"""Tables: their options, sharing, and what cannot be."""

from typing import Any

import pytest
from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from tests.synth.deployment import Deployment, function
from tests.synth.machines import chain
from unum_constructs import ConstructError, Store

CRYPT = {"kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey"}


@pytest.fixture(scope="module")
def kept() -> Deployment:
    """Synthesize a table with all options, and return its policies."""
    deployment = Deployment.new()
    store = Store.dynamodb(
        billing=dynamodb.BillingMode.PROVISIONED,
        read_capacity=3,
        write_capacity=4,
        encryption_key=kms.Key(deployment.stack, "Key"),
        point_in_time_recovery=True,
        contributor_insights=True,
        deletion_protection=True,
        removal_policy=RemovalPolicy.RETAIN,
    )
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, store=store)
    for name, grant in (
        ("Starter", flow.grant_start),
        ("Reader", flow.grant_read),
        ("Other", flow.grant_task_response),
    ):
        grant(iam.Role(deployment.stack, name, assumed_by=iam.ServicePrincipal("ec2.amazonaws.com")))
    return deployment


def test_options(kept: Deployment) -> None:
    table = kept.resource("Flow/Table")
    assert table["DeletionPolicy"] == "Retain"
    properties = table["Properties"]
    assert properties["ProvisionedThroughput"] == {"ReadCapacityUnits": 3, "WriteCapacityUnits": 4}
    assert properties["SSESpecification"]["SSEType"] == "KMS"
    assert properties["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert properties["ContributorInsightsSpecification"] == {"Enabled": True}
    assert properties["DeletionProtectionEnabled"] is True
    assert properties["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}


def actions(deployment: Deployment, policy: str) -> set[str]:
    return {action for found, _ in deployment.statements(policy) for action in found}


def test_whoever_uses_the_table_may_use_its_key(kept: Deployment) -> None:
    for policy in ("Flow/Permissions/A", "Flow/OnFailure/Permissions"):
        assert actions(kept, policy) >= CRYPT
    assert "kms:Decrypt" in actions(kept, "Reader/DefaultPolicy")
    assert "kms:Encrypt" not in actions(kept, "Reader/DefaultPolicy")
    for policy in ("Starter/DefaultPolicy", "Other/DefaultPolicy"):
        assert actions(kept, policy) == {"lambda:InvokeFunction"}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            {"read_capacity": 1},
            r"\['read_capacity'\] require a provisioned table, this one is on demand; give `billing=",
        ),
        (
            {"billing": dynamodb.BillingMode.PAY_PER_REQUEST, "write_capacity": 1},
            r"\['write_capacity'\] require a provisioned table",
        ),
    ],
)
def test_options_that_cannot_be_had_together(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConstructError, match=f"^Stack/Flow: store: {reason}"):
        Deployment.of(chain("A"), "A", store=Store.dynamodb(**options))


def test_a_table_of_your_own_has_its_own_options() -> None:
    deployment = Deployment.new()
    table = dynamodb.Table.from_table_name(deployment.stack, "Imported", "elsewhere")
    store = Store.dynamodb(table=table, removal_policy=RemovalPolicy.RETAIN)
    with pytest.raises(ConstructError, match=r"store: expected `table` alone, got \['removal_policy'\] as well"):
        deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, store=store)


def test_workflows_can_share_a_table_under_different_names() -> None:
    deployment = Deployment.new()
    first = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, "One")
    second = deployment.flow(
        chain("B"), {"B": function(deployment.stack, "B")}, "Two", store=Store.dynamodb(table=first.table)
    )
    assert second.table is first.table
    with pytest.raises(ConstructError, match=r"^Stack/Three: store: another workflow called 'One' uses the table"):
        deployment.flow(
            chain("C"),
            {"C": function(deployment.stack, "C")},
            "Three",
            workflow_name="One",
            store=Store.dynamodb(table=first.table),
        )
    assert len(deployment.all("DynamoDB::Table")) == 1


def test_one_store_without_a_table_is_a_table_for_each() -> None:
    deployment = Deployment.new()
    store = Store.dynamodb(deletion_protection=True)
    for key in "AB":
        deployment.flow(chain(key), {key: function(deployment.stack, key)}, f"Flow{key}", store=store)
    assert len(deployment.all("DynamoDB::Table")) == 2


def test_a_table_that_lists_executions() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(
        chain("A"), {"A": function(deployment.stack, "A")}, store=Store.dynamodb(list_executions=True)
    )
    flow.grant_read(iam.Role(deployment.stack, "Reader", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com")))
    properties = deployment.resource("Flow/Table")["Properties"]
    (index,) = properties["GlobalSecondaryIndexes"]
    assert index == {
        "IndexName": "executions",
        "KeySchema": [{"AttributeName": "list", "KeyType": "HASH"}, {"AttributeName": "list_at", "KeyType": "RANGE"}],
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["at", "ttl"]},
    }
    index_arn = f"{deployment.logical_id('Flow/Table')}.Arn/index/executions"
    assert (["dynamodb:Query"], [index_arn]) in deployment.statements("Reader/DefaultPolicy")


def test_the_index_of_a_provisioned_table_is_provisioned() -> None:
    deployment = Deployment.of(
        chain("A"),
        "A",
        store=Store.dynamodb(list_executions=True, billing=dynamodb.BillingMode.PROVISIONED, write_capacity=7),
    )
    (index,) = deployment.resource("Flow/Table")["Properties"]["GlobalSecondaryIndexes"]
    assert index["ProvisionedThroughput"] == {"ReadCapacityUnits": 5, "WriteCapacityUnits": 7}
