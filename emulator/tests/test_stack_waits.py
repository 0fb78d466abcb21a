"""Questions of the CDK's command line about stacks in progress."""

import json
import time
from typing import Any

COMMAND_LINE = "aws-cdk/2.1000.0"
WAIT_S = 1
TEMPLATE = json.dumps(
    {
        "Resources": {
            "Handle": {"Type": "AWS::CloudFormation::WaitConditionHandle"},
            "Wait": {
                "Type": "AWS::CloudFormation::WaitCondition",
                "Properties": {"Handle": {"Ref": "Handle"}, "Timeout": str(WAIT_S), "Count": 1},
            },
        }
    }
)
QUEUE = json.dumps({"Resources": {"Queue": {"Type": "AWS::SQS::Queue"}}})


def _status(stacks: Any, name: str) -> str:
    (stack,) = stacks.describe_stacks(StackName=name)["Stacks"]
    return str(stack["StackStatus"])


def test_command_line_is_answered_when_the_stack_has_ended(cloud: Any) -> None:
    stacks = cloud.client("cloudformation")
    asking = cloud.client("cloudformation", user_agent=COMMAND_LINE)
    stacks.create_stack(StackName="waited-for", TemplateBody=TEMPLATE, OnFailure="DO_NOTHING")
    assert _status(stacks, "waited-for") == "CREATE_IN_PROGRESS"
    began_s = time.monotonic()
    assert _status(asking, "waited-for") == "CREATE_FAILED"
    assert time.monotonic() - began_s >= WAIT_S / 2
    stacks.delete_stack(StackName="waited-for")
    stacks.get_waiter("stack_delete_complete").wait(StackName="waited-for", WaiterConfig={"Delay": 1})


def test_stack_in_review_is_answered_at_once(cloud: Any) -> None:
    stacks = cloud.client("cloudformation", user_agent=COMMAND_LINE)
    stacks.create_change_set(StackName="reviewed", ChangeSetName="c", ChangeSetType="CREATE", TemplateBody=QUEUE)
    began_s = time.monotonic()
    assert _status(stacks, "reviewed") == "REVIEW_IN_PROGRESS"
    assert time.monotonic() - began_s < WAIT_S
    stacks.delete_stack(StackName="reviewed")
