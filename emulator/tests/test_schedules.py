"""EventBridge Scheduler: schedule groups and context attributes."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from unum_emulator.process import Emulator

TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}
ADDING = """
    import boto3

    def handler(event, context):
        target = {"Arn": event["queue"], "RoleArn": "arn:aws:iam::000000000000:role/any", "Input": event["input"]}
        boto3.client("scheduler").create_schedule(
            Name="once", GroupName=event["group"], ScheduleExpression="at(2020-01-01T00:00:00)",
            FlexibleTimeWindow={"Mode": "OFF"}, ActionAfterCompletion="DELETE", Target=target)
"""


@pytest.fixture(scope="module")
def guarded(cloud: Any) -> Iterator[Any]:
    with Emulator(sys.executable, auth=True, max_processes=4) as emulator:
        yield type(cloud)(emulator)


def test_a_grant_on_a_schedule_group_covers_only_its_schedules(guarded: Any) -> None:
    scheduler, roles = guarded.client("scheduler"), guarded.client("iam")
    for group in ("ours", "theirs"):
        scheduler.create_schedule_group(Name=group)
    schedules = "arn:aws:scheduler:us-east-1:000000000000:schedule/ours/*"
    grant = {"Effect": "Allow", "Action": "scheduler:CreateSchedule", "Resource": schedules}
    role = roles.create_role(RoleName="adding", AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    document = json.dumps({"Version": "2012-10-17", "Statement": [grant]})
    roles.put_role_policy(RoleName="adding", PolicyName="grants", PolicyDocument=document)
    url, queue = guarded.queue()
    adding, event = guarded.function(ADDING, Role=role), {"queue": queue, "input": "n <aws.scheduler.attempt-number>"}
    for group in ("theirs", "default"):
        denied, _ = guarded.invoke(adding, {**event, "group": group})
        assert "AccessDenied" in denied["errorMessage"]
    assert guarded.invoke(adding, {**event, "group": "ours"})[0] is None
    received = guarded.receive(url)
    assert received["Body"] == "n replaced"
    assert received["Attributes"]["SenderId"].endswith(":schedule")
    guarded.until(lambda: scheduler.list_schedules(GroupName="ours")["Schedules"] == [])
