"""Warnings at synth about likely mistakes, which users can acknowledge."""

from typing import Any

import aws_cdk as cdk

from tests.synth.deployment import Deployment, function
from tests.synth.machines import machine

ID = "unum:UNKNOWN_ERROR[$.States.A.Retry[0].ErrorEquals[0]]"


def retrying(deployment: Deployment) -> Any:
    retry = [{"ErrorEquals": ["States.TimeOut"]}]
    task = {"Type": "Task", "Resource": "A", "End": True, "Retry": retry}
    return deployment.flow(machine(A=task), {"A": function(deployment.stack, "A")})


def test_it_is_a_warning_at_the_workflow() -> None:
    deployment = Deployment.new()
    retrying(deployment)
    (warning,) = deployment.warnings()
    assert warning.path == "Stack/Flow"
    assert 'did you mean "States.Timeout"?' in warning.text
    assert f"[ack: {ID}]" in warning.text


def test_it_can_be_acknowledged() -> None:
    deployment = Deployment.new()
    cdk.Annotations.of(retrying(deployment)).acknowledge_warning(ID, "our functions raise it")
    assert deployment.warnings() == []
