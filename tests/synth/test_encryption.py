"""One key for all resources of a workflow, with exact rights."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from tests.synth.deployment import Deployment, as_list, flat, function
from tests.synth.linting import complaints
from tests.synth.machines import machine, task
from unum_constructs import OwnFunctions, Store

KEY_OF = {
    "SQS::Queue": "KmsMasterKeyId",
    "Logs::LogGroup": "KmsKeyId",
    "Lambda::Function": "KmsKeyArn",
}
"""The property that names the key."""

WORK = "arn:aws:states:us-east-1:123456789012:activity:work"
DEFINITION = machine(
    P={"Type": "Pass", "Next": "Wait"},
    Wait={"Type": "Wait", "Seconds": 60, "Next": "A"},
    A=task("A", "Work"),
    Work=task(WORK),
)


@pytest.fixture(scope="module")
def encrypted() -> Deployment:
    deployment = Deployment.new()
    key = kms.Key(deployment.stack, "Key")
    own = function(deployment.stack, "A", encryption_key=key)
    flow = deployment.flow(DEFINITION, {"A": own}, encryption_key=key)
    for name, grant in (("Starter", flow.grant_start), ("Reader", flow.grant_read)):
        grant(iam.Role(deployment.stack, name, assumed_by=iam.ServicePrincipal("ec2.amazonaws.com")))
    flow.grant_activity(
        iam.Role(deployment.stack, "Worker", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com")), "work"
    )
    return deployment


def uses(deployment: Deployment) -> Iterator[tuple[str, str, set[str]]]:
    """Return principals that may use the key, with services and actions."""
    for name, policy in deployment.all("IAM::Policy").items():
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
            actions = set(as_list(statement["Action"]))
            if any(action.startswith("kms:") for action in actions):
                service = statement.get("Condition", {}).get("StringEquals", {}).get("kms:ViaService")
                yield name, flat(service).partition(".")[0] if service else "", actions


def used(deployment: Deployment, path: str) -> Mapping[str, set[str]]:
    policy = deployment.logical_id(path)
    return {service: actions for name, service, actions in uses(deployment) if name == policy}


def test_everything_has_the_key(encrypted: Deployment) -> None:
    arn = f"{encrypted.logical_id('Key')}.Arn"
    for kind, name in KEY_OF.items():
        found = encrypted.all(kind)
        assert len(found) >= 3, kind
        assert {flat(each["Properties"].get(name, "none")) for each in found.values()} == {arn}, kind
    table = encrypted.properties("Flow/Table")["SSESpecification"]
    assert (table["SSEType"], flat(table["KMSMasterKeyId"])) == ("KMS", arn)
    assert complaints(encrypted.template) == []


def test_the_key_is_used_through_the_service_in_question(encrypted: Deployment) -> None:
    """Through none by those alone that plan in place of others, which Lambda shows environments."""
    direct = {(name, *actions) for name, service, actions in uses(encrypted) if not service}
    planning = (encrypted.logical_id(f"Flow/{each}/Permissions") for each in ("OnFailure", "ControlFunction"))
    assert direct == {(each, "kms:Decrypt") for each in planning}
    assert not any("*" in action for _, _, actions in uses(encrypted) for action in actions)


def test_each_has_what_it_needs(encrypted: Deployment) -> None:
    send = {"kms:Decrypt", "kms:GenerateDataKey"}
    assert used(encrypted, "Flow/Permissions/A").keys() == {"dynamodb"}
    assert used(encrypted, "Flow/Permissions/$services")["sqs"] == send
    assert used(encrypted, "Flow/OnFailure/Permissions").keys() == {"", "dynamodb", "sqs"}
    assert used(encrypted, "Flow/Timer/Permissions") == {"sqs": send}
    assert used(encrypted, "Reader/DefaultPolicy") == {"dynamodb": {"kms:Decrypt", "kms:DescribeKey"}}
    assert used(encrypted, "Starter/DefaultPolicy") == {}
    assert used(encrypted, "Worker/DefaultPolicy") == {"sqs": {"kms:Decrypt"}}


def test_logs_may_use_the_key_for_log_groups(encrypted: Deployment) -> None:
    _account, logs = encrypted.properties("Key")["KeyPolicy"]["Statement"]
    assert flat(logs["Principal"]["Service"]) == "logs.AWS::Region.amazonaws.com"
    (context,) = logs["Condition"]["ArnLike"].values()
    assert flat(context).endswith(":log-group:*")


def test_other_keys_for_a_part() -> None:
    deployment = Deployment.new()
    key, other = (kms.Key(deployment.stack, name) for name in ("Key", "Other"))
    options: dict[str, Any] = {"encryption_key": key, "own_functions": OwnFunctions(environment_encryption=other)}
    deployment.flow(
        DEFINITION, {"A": function(deployment.stack, "A")}, store=Store.dynamodb(encryption_key=other), **options
    )
    arn = f"{deployment.logical_id('Other')}.Arn"
    assert flat(deployment.properties("Flow/Table")["SSESpecification"]["KMSMasterKeyId"]) == arn
    assert flat(deployment.properties("Flow/Entry")["KmsKeyArn"]) == arn
    assert flat(deployment.properties("Flow/EntryLogs")["KmsKeyId"]) == f"{deployment.logical_id('Key')}.Arn"


def test_the_policy_of_an_imported_key_is_the_user_s() -> None:
    deployment = Deployment.new()
    key = kms.Key.from_key_arn(deployment.stack, "Key", "arn:aws:kms:us-east-1:123456789012:key/k")
    function(deployment.stack, "A", encryption_key=key)
    (warning,) = deployment.warnings()
    assert "Stack/Key must let logs.REGION.amazonaws.com" in warning.text
