"""Schedules for long delays: only in workflows that can have some."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from aws_cdk import Duration, Tags
from aws_cdk import aws_kms as kms

from tests.synth.deployment import Deployment, flat, function
from tests.synth.linting import complaints
from tests.synth.machines import Machine, machine, task

WAIT = {"Type": "Wait", "Next": "A"}
LONGEST = 2_700
"""Seconds that the queue alone is cheaper for."""

SEND = ["sqs:SendMessage"]


def waiting(**fields: Any) -> Machine:
    """A Wait before a Task."""
    return machine(W={**WAIT, **fields}, A=task("A"))


@pytest.fixture(scope="module")
def long() -> Deployment:
    return Deployment.of(waiting(Seconds=86_400), "A")


@pytest.fixture(scope="module")
def encrypted() -> Deployment:
    deployment = Deployment.new()
    key = kms.Key(deployment.stack, "Key")
    deployment.flow(
        waiting(Seconds=86_400), {"A": function(deployment.stack, "A", encryption_key=key)}, encryption_key=key
    )
    return deployment


def arn(deployment: Deployment, path: str) -> str:
    return f"{deployment.logical_id(path)}.Arn"


def schedules(deployment: Deployment) -> str:
    """ARN of all in the group."""
    group = deployment.logical_id("Flow/Timer/Schedules/Group")
    return f"arn:AWS::Partition:scheduler:AWS::Region:AWS::AccountId:schedule/{group}/*"


def settings(deployment: Deployment) -> Mapping[str, Any]:
    variables = deployment.properties("Flow/Timer/Forwarder")["Environment"]["Variables"]
    found: Mapping[str, Any] = json.loads(flat(variables["UNUM_SCHEDULES"]))
    return found


def policy(deployment: Deployment, path: str) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = deployment.properties(path)["PolicyDocument"]["Statement"]
    return found


def own_policy(deployment: Deployment) -> list[Mapping[str, Any]]:
    """Return the statements of the role of schedules."""
    (own,) = deployment.properties("Flow/Timer/Schedules/Role")["Policies"]
    found: list[Mapping[str, Any]] = own["PolicyDocument"]["Statement"]
    return found


def allowed(deployment: Deployment, path: str) -> list[Mapping[str, Any]]:
    return [each for each in policy(deployment, path) if each["Effect"] == "Allow"]


def test_what_there_is_more() -> None:
    one, other = (Deployment.of(waiting(Seconds=each), "A", sweep=None) for each in (LONGEST + 1, LONGEST))
    resources = one.template["Resources"]
    added = resources.keys() - other.template["Resources"].keys()
    kinds = {name: resources[name]["Type"] for name in added if "CurrentVersion" not in name}
    assert {name: kind for name, kind in kinds.items() if not kind.startswith("AWS::Lambda")} == {
        "FlowTimerSchedulesGroupFAC29DB5": "AWS::Scheduler::ScheduleGroup",
        "FlowTimerSchedulesRoleCE52E5FF": "AWS::IAM::Role",
    }
    assert other.all("Scheduler::ScheduleGroup") == {}
    environment = other.properties("Flow/Timer/Forwarder")["Environment"]["Variables"]
    assert "UNUM_SCHEDULES" not in environment
    assert "scheduler" not in json.dumps(other.template)


def test_a_timeout_of_the_workflow_ends_all_waits() -> None:
    deployment = Deployment.of(waiting(Seconds=86_400), "A", timeout=Duration.seconds(LONGEST))
    assert deployment.all("Scheduler::ScheduleGroup") == {}


def test_the_forwarder_is_told_where_schedules_are(long: Deployment, encrypted: Deployment) -> None:
    expected = {
        "group": long.logical_id("Flow/Timer/Schedules/Group"),
        "queue": arn(long, "Flow/Timer/Queue"),
        "role": arn(long, "Flow/Timer/Schedules/Role"),
        "dead_letters": arn(long, "Flow/Failures"),
        "longer_than_s": 1_800,
    }
    assert settings(long) == expected
    assert settings(encrypted) == {**expected, "key": arn(encrypted, "Key")}


def test_the_forwarder_may_add_schedules_with_one_role_and_nothing_more(long: Deployment) -> None:
    plain = Deployment.of(waiting(Seconds=5), "A")
    usual = plain.statements("Flow/Timer/Permissions")
    more = [each for each in long.statements("Flow/Timer/Permissions") if each not in usual]
    assert more == [
        (["scheduler:CreateSchedule"], [schedules(long)]),
        (["iam:PassRole"], [arn(long, "Flow/Timer/Schedules/Role")]),
    ]
    (pass_role,) = (each for each in allowed(long, "Flow/Timer/Permissions") if each["Action"] == "iam:PassRole")
    assert pass_role["Condition"] == {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}}


def test_schedules_role_may_send_to_two_queues_and_serves_the_group(long: Deployment) -> None:
    queues = sorted(arn(long, path) for path in ("Flow/Timer/Queue", "Flow/Failures"))
    role = long.properties("Flow/Timer/Schedules/Role")
    (sending,) = own_policy(long)
    assert (sending["Effect"], sending["Action"]) == ("Allow", "sqs:SendMessage")
    assert sorted(map(flat, sending["Resource"])) == queues
    (trust,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "scheduler.amazonaws.com"}
    group = {"Fn::GetAtt": [long.logical_id("Flow/Timer/Schedules/Group"), "Arn"]}
    source = {"aws:SourceAccount": {"Ref": "AWS::AccountId"}, "aws:SourceArn": group}
    assert trust["Condition"] == {"StringEquals": source}


def test_events_come_when_schedules_can_send_them(long: Deployment) -> None:
    assert long.logical_id("Flow/Timer/Schedules/Role") in long.resource("Flow/Timer/Permissions")["DependsOn"]
    assert long.logical_id("Flow/Timer/Permissions") in long.resource("Flow/Timer/Messages")["DependsOn"]


def test_users_key_works_through_scheduler_for_these_schedules_alone(encrypted: Deployment) -> None:
    key = arn(encrypted, "Key")
    adding = next(each for each in allowed(encrypted, "Flow/Timer/Permissions") if "kms:DescribeKey" in each["Action"])
    assert sorted(adding["Action"]) == ["kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey"]
    assert flat(adding["Resource"]) == key
    assert flat(adding["Condition"]["StringEquals"]["kms:ViaService"]).startswith("scheduler.")
    _, sending, reading = own_policy(encrypted)
    assert sorted(sending["Action"]) == ["kms:Decrypt", "kms:GenerateDataKey"]
    assert flat(sending["Condition"]["StringEquals"]["kms:ViaService"]).startswith("sqs.")
    assert (reading["Action"], flat(reading["Resource"])) == ("kms:Decrypt", key)
    (context,) = reading["Condition"]["ArnLike"].items()
    assert (context[0], flat(context[1])) == ("kms:EncryptionContext:aws:scheduler:schedule:arn", schedules(encrypted))


def test_linters_have_nothing_to_say(long: Deployment, encrypted: Deployment) -> None:
    assert complaints(long.template) == []
    assert complaints(encrypted.template) == []
    assert long.warnings() == []


def test_the_tags_of_the_workflow() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(waiting(Seconds=86_400), {"A": function(deployment.stack, "A")})
    Tags.of(flow).add("team", "orders")
    assert deployment.only("Scheduler::ScheduleGroup")["Tags"] == [{"Key": "team", "Value": "orders"}]
