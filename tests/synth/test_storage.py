"""State in a bucket: resources, rights, and features that need a table."""

from typing import Any

import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from tests.synth.deployment import Deployment, as_list, function
from tests.synth.machines import a_map, chain, machine, task
from unum_compiler import compile_workflow
from unum_compiler.analysis.edges import Operation
from unum_constructs import ConstructError, Store, UnumWorkflow
from unum_constructs.cdk.storage import _OBJECT_ACTIONS, TableStorage
from unum_constructs.layer.content import layer_content, runtime_folder
from unum_constructs.layer.features import LayerFacts

MAP = machine(A=a_map(chain("B"), "C"), C=task("C"))


def of_bucket(**options: Any) -> Deployment:
    deployment = Deployment.new()
    functions = {key: function(deployment.stack, key) for key in "BC"}
    flow = deployment.flow(MAP, functions, workflow_name="w", **{"store": Store.s3(), **options})
    flow.grant_read(iam.Role(deployment.stack, "Reader", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com")))
    return deployment


def objects(*prefixes: str, bucket: str) -> list[str]:
    return sorted(f"{bucket}.Arn/{prefix}*" for prefix in prefixes)


def test_one_bucket_has_all_state_and_no_table_is_made() -> None:
    deployment = of_bucket()
    assert not deployment.all("DynamoDB::Table")
    (bucket,) = deployment.all("S3::Bucket").values()
    rules = bucket["Properties"]["LifecycleConfiguration"]["Rules"]
    days = {rule["Prefix"]: rule["ExpirationInDays"] for rule in rules if "ExpirationInDays" in rule}
    own = ["w/", "state:start:w/", "state:w/", "state:memo:w/", "state:token:w/", "state:memo:/", "listed:w/"]
    assert days == {**dict.fromkeys(own, 8), "state:definition:w/": 17}
    assert bucket["DeletionPolicy"] == "Retain"


def test_functions_may_use_the_objects_of_their_workflow_alone() -> None:
    deployment = of_bucket()
    name = deployment.logical_id("Flow/State")
    of_branch = deployment.statements("Flow/Permissions/B")
    read = objects("state:start:w/", "state:w/", "state:memo:w/", "state:token:w/", bucket=name)
    assert (["s3:GetObject", "s3:PutObject"], [each for each in read if "start:" not in each]) in of_branch, (
        "start records are written where they start"
    )
    assert (["s3:GetObject"], read) in of_branch
    assert (["s3:ListBucket"], [f"{name}.Arn"]) in of_branch
    others = [found for _, resources in of_branch for found in resources if found.startswith(name)]
    assert {*others} == {*read, f"{name}.Arn", f"{name}.Arn/w/*", f"{name}.Arn/state:definition:w/*"}
    starts = [
        resources for found, resources in deployment.statements("Flow/Permissions/$entry") if "s3:PutObject" in found
    ]
    assert objects("listed:w/", bucket=name) in starts
    assert not any("s3:DeleteObject" in found for found, _ in of_branch)


def test_functions_list_their_own_names_in_a_bucket_of_the_user() -> None:
    deployment = Deployment.new()
    bucket = s3.Bucket(deployment.stack, "Mine")
    deployment.flow(
        MAP, {key: function(deployment.stack, key) for key in "BC"}, store=Store.s3(bucket=bucket), workflow_name="w"
    )
    (policy,) = (each for name, each in deployment.all("IAM::Policy").items() if name.startswith("FlowPermissionsB"))
    listing = [
        each for each in policy["Properties"]["PolicyDocument"]["Statement"] if each["Action"] == "s3:ListBucket"
    ]
    prefixes = [as_list(each["Condition"]["StringLike"]["s3:prefix"]) for each in listing]
    own = {f"state:{kind}w/*" for kind in ("start:", "", "memo:", "token:")}
    expected = {frozenset(own), frozenset(own - {"state:start:w/*"}), frozenset({"state:definition:w/*"})}
    assert {frozenset(each) for each in prefixes} == expected
    assert len(deployment.all("S3::Bucket")) == 1


def test_every_operation_has_actions() -> None:
    assert _OBJECT_ACTIONS.keys() == {*Operation}


def test_a_key_of_the_user_is_used_by_functions_through_s3() -> None:
    deployment = Deployment.new()
    key = kms.Key(deployment.stack, "Key")
    deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, store=Store.s3(encryption_key=key))
    found = [
        actions
        for actions, resources in deployment.statements("Flow/Permissions/A")
        if resources == ["Key961B73FD.Arn"]
    ]
    assert ["kms:Decrypt", "kms:GenerateDataKey"] in found


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"exported": True}, "exported: expected `Store.dynamodb`, got `Store.s3`: imports by name"),
        ({"store": Store.s3(bucket="mine")}, "store: bucket: expected an aws_s3.IBucket, got 'mine'"),  # type: ignore[arg-type]
        ({"store": Store.s3(encryption_key="mine")}, "store: encryption_key: expected an aws_kms.IKey"),  # type: ignore[arg-type]
    ],
)
def test_what_needs_a_table_is_refused(options: Any, text: str) -> None:
    with pytest.raises(ConstructError, match=text):
        of_bucket(**options)


def test_a_bucket_with_a_key_and_another_key_is_refused() -> None:
    deployment = Deployment.new()
    store = Store.s3(bucket=s3.Bucket(deployment.stack, "Mine"), encryption_key=kms.Key(deployment.stack, "Key"))
    with pytest.raises(ConstructError, match="store: expected `bucket` alone, got `encryption_key` as well"):
        deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, store=store)


def test_two_workflows_of_one_name_cannot_share_a_bucket() -> None:
    deployment = Deployment.new()
    store = Store.s3(bucket=s3.Bucket(deployment.stack, "Mine"))
    deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, "One", store=store)
    with pytest.raises(ConstructError, match="another workflow called 'One' uses the bucket"):
        deployment.flow(chain("B"), {"B": function(deployment.stack, "B")}, "Two", store=store, workflow_name="One")


def test_a_workflow_without_a_table_says_so() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, store=Store.s3())
    with pytest.raises(ConstructError, match="table: expected state in a table"):
        _ = flow.table
    flow.dashboard()
    flow.grant(iam.Role(deployment.stack, "Any", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com")), "s3:GetObject")
    with pytest.raises(ConstructError, match=r"expected actions of \['s3', 'lambda'\]"):
        flow.grant(flow, "dynamodb:Query")


def test_a_workflow_with_a_bucket_is_imported_by_its_address() -> None:
    deployment = Deployment.new()
    alias = "arn:aws:lambda:us-east-1:123456789012:function:f:start-w"
    flow = UnumWorkflow.from_workflow_attributes(
        deployment.stack, "Other", workflow_name="w", table="s3://theirs", start_alias_arn=alias
    )
    assert not isinstance(flow.storage, TableStorage)
    flow.grant_read(iam.Role(deployment.stack, "Reader", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com")))
    (policy,) = deployment.all("IAM::Policy").values()
    text = str(policy["Properties"]["PolicyDocument"])
    assert "theirs/state:w/*" in text
    assert "dynamodb" not in text


def test_only_layers_for_buckets_have_its_modules() -> None:
    workflow = compile_workflow(chain("A"), name="w", functions=None)
    table, bucket = (layer_content(LayerFacts(workflow, in_bucket=each), runtime_folder()) for each in (False, True))
    more = {path.rpartition("/")[2] for path in bucket.keys() - table.keys()}
    assert more == {"__init__.py", "conditional.py", "s3.py", "s3_names.py"}
    assert not table.keys() - bucket.keys()
    assert not any("cosmos" in path for path in bucket), "it is for other clouds"
