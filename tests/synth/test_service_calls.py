"""Grants for the service function, beyond the calls in the definition."""

import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sqs as sqs

from tests.synth.deployment import Deployment, function
from tests.synth.machines import chain, machine, task
from unum_constructs import ConstructError, UnumWorkflow

SEND = {
    **task("arn:aws:states:::sqs:sendMessage"),
    "Parameters": {"QueueUrl": "https://sqs.eu-west-1.amazonaws.com/123456789012/q", "MessageBody": "hello"},
}


def sending() -> tuple[Deployment, UnumWorkflow]:
    deployment = Deployment.new()
    return deployment, deployment.flow(machine(Send=SEND), {})


def test_a_key_may_be_granted_to_a_workflow() -> None:
    deployment, flow = sending()
    key = kms.Key(deployment.stack, "Key")
    grant = key.grant_encrypt_decrypt(flow)
    grant.assert_success()
    ((actions, arns),) = deployment.statements("Flow/ServicesRole/DefaultPolicy")
    assert "kms:Decrypt" in actions
    assert arns == [f"{deployment.logical_id('Key')}.Arn"]


def test_a_statement_may_be_added() -> None:
    deployment, flow = sending()
    flow.add_to_role_policy(iam.PolicyStatement(actions=["kms:Decrypt"], resources=["arn:aws:kms:eu-west-1:1:key/k"]))
    assert (["kms:Decrypt"], ["arn:aws:kms:eu-west-1:1:key/k"]) in deployment.statements(
        "Flow/ServicesRole/DefaultPolicy"
    )


def test_a_workflow_may_start_another_but_not_be_granted_itself() -> None:
    deployment, flow = sending()
    other = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, "Other")
    other.grant_start(flow)
    assert any(
        "lambda:InvokeFunction" in actions for actions, _ in deployment.statements("Flow/ServicesRole/DefaultPolicy")
    )
    with pytest.raises(ConstructError, match=r"^Stack/Flow: grant: expected neither the workflow nor"):
        flow.grant_start(flow)


def test_a_workflow_that_calls_nothing_has_no_role_of_its_own() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")})
    with pytest.raises(RuntimeError, match=r"Stack/Flow: expected a Task that calls a service, found none"):
        sqs.Queue(deployment.stack, "Queue").grant_send_messages(flow)
