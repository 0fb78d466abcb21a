"""Bucket for large values: existence, protection and rights."""

import json
from typing import Any

import pytest
from aws_cdk import App, Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from tests.synth.deployment import Deployment, flat, function
from tests.synth.machines import Machine, a_map, chain, machine
from tests.synth.test_cross_stack import Apart
from unum_constructs import ConstructError, ExecutionData, Limits, Payload, Store, UnumWorkflow

KEEP = ["s3:GetObject", "s3:PutObject"]
READER: dict[str, Any] = {
    "ItemReader": {
        "Resource": "arn:aws:states:::s3:getObject",
        "ReaderConfig": {"InputType": "JSON"},
        "Parameters": {"Bucket": "data", "Key": "items.json"},
    },
}
WRITER: dict[str, Any] = {
    "ResultWriter": {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "data", "Prefix": "out"}},
}


def distributed(**fields: Any) -> Machine:
    branch = {**chain("A"), "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}
    return machine(Each=a_map(branch, **fields))


def own_key(deployment: Deployment) -> kms.Key:
    return kms.Key(deployment.stack, "Key")


@pytest.mark.parametrize("payload", [Payload.S3, "s3"])
def test_a_workflow_that_asks_has_a_bucket_that_nobody_else_reads(payload: str) -> None:
    deployment = Deployment.of(chain("A"), "A", execution_data=ExecutionData(payload=payload))
    bucket = deployment.only("S3::Bucket")
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    (encryption,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    (statement,) = deployment.only("S3::BucketPolicy")["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Action"]) == ("Deny", "s3:*")
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert deployment.resource("Flow/Payloads")["DeletionPolicy"] == "Retain"


def test_objects_expire_later_than_anything_that_refers_to_them() -> None:
    data = ExecutionData(payload="s3", retention=Duration.days(30), history_retention=Duration.days(1))
    deployment = Deployment.of(chain("A"), "A", execution_data=data)
    (rule,) = deployment.only("S3::Bucket")["LifecycleConfiguration"]["Rules"]
    assert (rule["Status"], rule["ExpirationInDays"]) == ("Enabled", 31)


def test_functions_and_the_failure_handler_may_keep_only_own_objects() -> None:
    deployment = Deployment.of(chain("A"), "A", execution_data=ExecutionData(payload="s3"))
    objects = f"{deployment.logical_id('Flow/Payloads')}.Arn/Flow/*"
    for path in ("Flow/Permissions/A", "Flow/OnFailure/Permissions"):
        assert (KEEP, [objects]) in deployment.statements(path)
    name = deployment.logical_id("Flow/Payloads")
    for path in ("A", "Flow/OnFailure/Handler"):
        assert deployment.services(path)["Flow"]["payload_bucket"] == name
    assert json.loads(flat(deployment.template["Outputs"]["FlowWorkflow"]["Value"]))["PayloadBucket"] == name


@pytest.mark.parametrize("definition", [distributed(**READER), distributed(**WRITER)], ids=["reader", "writer"])
def test_a_data_set_needs_a_bucket(definition: Machine) -> None:
    assert len(Deployment.of(definition, "A").all("S3::Bucket")) == 1
    assert not Deployment.of(definition, "A", execution_data=ExecutionData(payload="inline")).all("S3::Bucket")


def test_a_limit_above_what_items_hold_needs_a_bucket() -> None:
    assert len(Deployment.of(chain("A"), "A", limits=Limits(payload_limit=400_000)).all("S3::Bucket")) == 1


@pytest.mark.parametrize("payload", ["auto", "inline"])
def test_other_workflows_have_none(payload: str) -> None:
    deployment = Deployment.of(machine(Each=a_map(chain("A"))), "A", execution_data=ExecutionData(payload=payload))
    assert not deployment.all("S3::Bucket")
    assert "s3:" not in json.dumps(deployment.template)
    assert "payload_bucket" not in deployment.services("A")["Flow"]


def test_the_users_own_bucket() -> None:
    deployment = Deployment.new()
    own = s3.Bucket(deployment.stack, "Own", encryption_key=own_key(deployment))
    flow = deployment.flow(
        chain("A"), {"A": function(deployment.stack, "A")}, execution_data=ExecutionData(payload_bucket=own)
    )
    assert flow.payload_bucket is own
    rule, markers = deployment.only("S3::Bucket")["LifecycleConfiguration"]["Rules"]
    assert (rule["Prefix"], rule["ExpirationInDays"]) == ("Flow/", 8)
    assert rule["NoncurrentVersionExpiration"] == {"NoncurrentDays": 1}
    assert (markers["Prefix"], markers["ExpiredObjectDeleteMarker"]) == ("Flow/", True)
    assert deployment.services("A")["Flow"]["payload_bucket"] == deployment.logical_id("Own")
    key = f"{deployment.logical_id('Key')}.Arn"
    documents = [policy["Properties"]["PolicyDocument"] for policy in deployment.all("IAM::Policy").values()]
    uses = [each for document in documents for each in document["Statement"] if "kms:Decrypt" in each["Action"]]
    assert [flat(each["Resource"]) for each in uses] == [key] * 3, (
        "those of the Task, of the failure handler and of the control function"
    )


def test_an_imported_bucket_is_used_and_its_expiry_asked_for() -> None:
    deployment = Deployment.new()
    own = s3.Bucket.from_bucket_name(deployment.stack, "Own", "mine")
    deployment.flow(
        chain("A"), {"A": function(deployment.stack, "A")}, execution_data=ExecutionData(payload_bucket=own)
    )
    assert deployment.services("A")["Flow"]["payload_bucket"] == "mine"
    (warning,) = deployment.warnings()
    assert "payload_bucket: Stack/Own is imported" in warning.text
    assert "below Flow/ expire after 8 days" in warning.text


def test_a_bucket_has_the_key_of_the_table() -> None:
    deployment = Deployment.new()
    store = Store.dynamodb(encryption_key=own_key(deployment))
    deployment.flow(
        chain("A"),
        {"A": function(deployment.stack, "A")},
        store=store,
        execution_data=ExecutionData(payload=Payload.S3),
    )
    (encryption,) = deployment.only("S3::Bucket")["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption["BucketKeyEnabled"] is True
    assert flat(encryption["ServerSideEncryptionByDefault"]["KMSMasterKeyID"]) == f"{deployment.logical_id('Key')}.Arn"


def test_clients_read_results_and_write_no_inputs() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(
        chain("A"), {"A": function(deployment.stack, "A")}, execution_data=ExecutionData(payload=Payload.S3)
    )
    role = iam.Role(deployment.stack, "Who", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
    objects = [f"{deployment.logical_id('Flow/Payloads')}.Arn/Flow/*"]
    flow.grant_start(role)
    flow.grant_read(iam.Role(deployment.stack, "Reader", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com")))
    assert (KEEP, objects) not in deployment.statements("Who/DefaultPolicy")
    assert (["s3:GetObject"], objects) in deployment.statements("Reader/DefaultPolicy")


def test_grants_on_an_imported_workflow() -> None:
    deployment = Deployment.new()
    flow = UnumWorkflow.from_workflow_attributes(
        deployment.stack,
        "Flow",
        workflow_name="Flow",
        table="state",
        start_alias_arn="arn:aws:lambda:eu-west-1:123456789012:function:f:start-Flow",
        payload_bucket="large",
    )
    flow.grant_read(iam.Role(deployment.stack, "Who", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com")))
    (arn,) = next(
        resources for actions, resources in deployment.statements("Who/DefaultPolicy") if "s3:GetObject" in actions
    )
    assert arn.endswith("large/Flow/*")


def test_functions_of_other_stacks_know_the_bucket_by_its_name() -> None:
    apart = Apart(execution_data=ExecutionData(payload="s3"))
    name = apart.deployments["Stack"].only("S3::Bucket")["BucketName"]
    assert flat(name).endswith("-AWS::AccountId-AWS::Region")
    for stack, key in (("One", "A"), ("Two", "B")):
        assert apart.deployments[stack].services(key)["Flow"]["payload_bucket"] == flat(name)


def test_a_bucket_without_a_name_cannot_be_known_to_other_stacks() -> None:
    home = Deployment.new()
    own = s3.Bucket(home.stack, "Own")
    other = function(Stack(App.of(home.stack), "Other"), "A")
    with pytest.raises(ConstructError, match=r"execution_data\.payload_bucket: expected a bucket with a name"):
        home.flow(chain("A"), {"A": other}, execution_data=ExecutionData(payload_bucket=own))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"execution_data": ExecutionData(payload="disk")},
            r"execution_data.payload: expected one of \['auto', 's3', 'inline'\], got 'disk'",
        ),
        (
            {"execution_data": ExecutionData(payload="inline"), "limits": Limits(payload_limit=400_000)},
            "limits.payload_limit: expected 1 to 380000 bytes.*; got 400000",
        ),
        ({"limits": Limits(payload_limit=0)}, "limits.payload_limit: expected at least 1 byte, got 0"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConstructError, match=f"^Stack/Flow: {message}"):
        Deployment.of(chain("A"), "A", **options)


def test_no_bucket_is_given_in_vain() -> None:
    deployment = Deployment.new()
    own = s3.Bucket(deployment.stack, "Own")
    with pytest.raises(ConstructError, match='"inline" uses no bucket, got `payload_bucket` as well'):
        deployment.flow(
            chain("A"),
            {"A": function(deployment.stack, "A")},
            execution_data=ExecutionData(payload="inline", payload_bucket=own),
        )
