"""Denials by IAM with `auth`."""

import json
import time
from typing import Any

import pytest

TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}
INVOKING = """
    import boto3

    def handler(event, context):
        boto3.client("lambda").invoke(FunctionName=event, InvocationType="Event", Payload=b"{}")
"""
SENDING = """
    import boto3

    def handler(event, context):
        entries = [{"Id": str(n), "MessageBody": str(n)} for n in range(2)]
        return len(boto3.client("sqs").send_message_batch(QueueUrl=event, Entries=entries)["Successful"])
"""
TELLING = """
    import json, os

    import boto3

    def handler(event, context):
        body = json.dumps([record["attributes"]["SenderId"] for record in event["Records"]])
        boto3.client("sqs").send_message(QueueUrl=os.environ["SEEN"], MessageBody=body)
"""
USING = """
    import boto3

    def handler(event, context):
        table = boto3.client("dynamodb")
        return getattr(table, event["call"])(**event["arguments"])["ResponseMetadata"]["HTTPStatusCode"]
"""
LOOKING = """
    import boto3

    def handler(event, context):
        found = boto3.client("lambda").get_function_event_invoke_config(FunctionName=event)
        return found["DestinationConfig"]["OnFailure"]["Destination"]
"""


ANSWERING = """
    import boto3

    def handler(event, context):
        boto3.client("stepfunctions").send_task_success(taskToken=event["token"], output='"answered"')
"""


def _role(guarded: Any, name: str, *grants: tuple[str, str]) -> str:
    roles = guarded.client("iam")
    arn: str = roles.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    statements = [{"Effect": "Allow", "Action": action, "Resource": resource} for action, resource in grants]
    _allow(guarded, name, statements)
    return arn


def _allow(guarded: Any, name: str, statements: list[Any]) -> None:
    if statements:
        document = json.dumps({"Version": "2012-10-17", "Statement": statements})
        guarded.client("iam").put_role_policy(RoleName=name, PolicyName="grants", PolicyDocument=document)


def test_a_grant_on_a_version_is_a_grant_on_that_version_alone(guarded: Any) -> None:
    callee = guarded.function("def handler(event, context): pass", Publish=True, Role=_role(guarded, "callee"))
    arn = f"arn:aws:lambda:us-east-1:000000000000:function:{callee}"
    role = _role(guarded, "caller", ("lambda:InvokeFunction", f"{arn}:1"))
    caller = guarded.function(INVOKING, Role=role)
    assert guarded.invoke(caller, f"{arn}:1")[0] is None
    denied, _ = guarded.invoke(caller, arn)
    assert denied["errorType"] == "ClientError"
    assert "AccessDenied" in denied["errorMessage"]


def test_a_destination_needs_the_function_s_permission(guarded: Any) -> None:
    url, arn = guarded.queue()
    roles = [_role(guarded, "mute"), _role(guarded, "heard", ("sqs:SendMessage", arn))]
    for role in roles:
        name = guarded.function("def handler(event, context): raise RuntimeError(event)", Role=role)
        guarded.awslambda.put_function_event_invoke_config(
            FunctionName=name, MaximumRetryAttempts=0, DestinationConfig={"OnFailure": {"Destination": arn}}
        )
        guarded.send(name, role)
        time.sleep(0.5)
    assert json.loads(guarded.receive(url)["Body"])["requestPayload"] == roles[1]
    assert "Messages" not in guarded.sqs.receive_message(QueueUrl=url)


@pytest.mark.parametrize("enforced", [True, False])
def test_a_message_names_its_sender(cloud: Any, guarded: Any, *, enforced: bool) -> None:
    here = guarded if enforced else cloud
    url, arn = here.queue()
    role = _role(here, f"posting-{enforced}", ("sqs:SendMessage", arn))
    function = here.function(SENDING, Role=role)
    assert here.invoke(function, url)[0] == 2
    here.sqs.send_message(QueueUrl=url, MessageBody="root")
    received = here.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["SenderId"])
    senders = {each["Body"]: each["Attributes"]["SenderId"] for each in received["Messages"]}
    role_id = here.client("iam").get_role(RoleName=f"posting-{enforced}")["Role"]["RoleId"]
    assert senders == {"0": f"{role_id}:{function}", "1": f"{role_id}:{function}", "root": "0" * 12}


def test_an_event_source_mapping_tells_the_sender(cloud: Any) -> None:
    url, arn = cloud.queue()
    seen, _ = cloud.queue()
    function = cloud.function(TELLING, Environment={"Variables": {"SEEN": seen}})
    cloud.awslambda.create_event_source_mapping(FunctionName=function, EventSourceArn=arn)
    sender = cloud.function(SENDING, Role=_role(cloud, "telling"))
    assert cloud.invoke(sender, url)[0] == 2
    role_id = cloud.client("iam").get_role(RoleName="telling")["Role"]["RoleId"]
    seen_by = json.loads(cloud.receive(seen)["Body"])
    assert {*seen_by} == {f"{role_id}:{sender}"}


def test_permission_for_a_message_covers_a_batch(guarded: Any) -> None:
    url, arn = guarded.queue()
    sender = guarded.function(SENDING, Role=_role(guarded, "sender", ("sqs:SendMessage", arn)))
    stranger = guarded.function(SENDING, Role=_role(guarded, "stranger", ("sqs:ReceiveMessage", arn)))
    assert guarded.invoke(sender, url)[0] == 2
    denied, _ = guarded.invoke(stranger, url)
    assert "AccessDenied" in denied["errorMessage"]


def test_event_invoke_configs_of_a_version_have_their_own_permission(guarded: Any) -> None:
    _, arn = guarded.queue()
    role = _role(guarded, "reporter", ("sqs:SendMessage", arn))
    name = guarded.function("def handler(event, context): pass", Publish=True, Role=role)
    guarded.awslambda.put_function_event_invoke_config(
        FunctionName=name, Qualifier="1", DestinationConfig={"OnFailure": {"Destination": arn}}
    )
    version = f"arn:aws:lambda:us-east-1:000000000000:function:{name}:1"
    action = "lambda:GetFunctionEventInvokeConfig"
    looker = guarded.function(LOOKING, Role=_role(guarded, "looker", (action, version)))
    stranger = guarded.function(LOOKING, Role=_role(guarded, "reader", ("lambda:GetFunction", version)))
    assert guarded.invoke(looker, version)[0] == arn
    denied, _ = guarded.invoke(stranger, version)
    assert "AccessDenied" in denied["errorMessage"]


def _calls(partition: str) -> list[tuple[str, dict[str, Any]]]:
    """Each call that reads or writes items of a partition."""
    place = {"pk": {"S": partition}, "sk": {"S": "1"}}
    query = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": partition}}}
    return [
        ("put_item", {"TableName": "kept", "Item": place}),
        ("get_item", {"TableName": "kept", "Key": place}),
        ("delete_item", {"TableName": "kept", "Key": place}),
        ("update_item", {"TableName": "kept", "Key": place}),
        ("query", {"TableName": "kept", **query}),
        ("batch_get_item", {"RequestItems": {"kept": {"Keys": [place]}}}),
        ("batch_write_item", {"RequestItems": {"kept": [{"DeleteRequest": {"Key": place}}]}}),
    ]


def test_a_condition_on_leading_keys_denies_other_partitions(guarded: Any) -> None:
    names = {"pk": "HASH", "sk": "RANGE"}
    guarded.client("dynamodb").create_table(
        TableName="kept",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
        KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in names.items()],
    )
    role = _role(guarded, "tenant")
    own = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["own/*"]}}
    table = "arn:aws:dynamodb:us-east-1:000000000000:table/kept"
    statement = {"Effect": "Allow", "Action": "dynamodb:*", "Resource": table, "Condition": own}
    _allow(guarded, "tenant", [statement])
    user = guarded.function(USING, Role=role)
    for call, arguments in _calls("own/1"):
        assert guarded.invoke(user, {"call": call, "arguments": arguments})[0] == 200, call
    for call, arguments in _calls("others/1"):
        assert "AccessDenied" in guarded.invoke(user, {"call": call, "arguments": arguments})[0]["errorMessage"], call


def _machine(guarded: Any, name: str, task: dict[str, Any], *grants: tuple[str, str]) -> str:
    definition = {"StartAt": "Ask", "States": {"Ask": {"Type": "Task", "End": True, "TimeoutSeconds": 60, **task}}}
    made = guarded.client("stepfunctions").create_state_machine(
        name=name, definition=json.dumps(definition), roleArn=_role(guarded, f"{name}-machine", *grants)
    )
    arn: str = made["stateMachineArn"]
    return arn


def test_answer_with_a_token_needs_a_grant_on_its_state_machine(guarded: Any) -> None:
    arns = [f"arn:aws:states:us-east-1:000000000000:stateMachine:{name}" for name in ("asking", "unasked")]
    functions = [
        guarded.function(ANSWERING, Role=_role(guarded, f"answers-{number}", ("states:SendTaskSuccess", arn)))
        for number, arn in enumerate(arns)
    ]
    queue = guarded.client("sqs").create_queue(QueueName="tokens")["QueueUrl"]
    task = {
        "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
        "Parameters": {"QueueUrl": queue, "MessageBody.$": "$$.Task.Token"},
    }
    machine = _machine(guarded, "asking", task, ("sqs:SendMessage", "*"))
    started = guarded.client("stepfunctions").start_execution(stateMachineArn=machine)["executionArn"]
    messages = guarded.until(lambda: guarded.client("sqs").receive_message(QueueUrl=queue).get("Messages"))
    token = {"token": messages[0]["Body"]}
    assert "AccessDenied" in str(guarded.invoke(functions[1], token)[0])
    assert guarded.invoke(functions[0], token)[0] is None
    ended = guarded.until(lambda: _ended_execution(guarded, started))
    assert ended == ("SUCCEEDED", '"answered"')


def test_answer_to_an_activity_needs_a_grant_on_the_activity(guarded: Any) -> None:
    states = guarded.client("stepfunctions")
    activity = states.create_activity(name="work")["activityArn"]
    function = guarded.function(ANSWERING, Role=_role(guarded, "worker", ("states:SendTaskSuccess", activity)))
    machine = _machine(guarded, "working", {"Resource": activity})
    started = states.start_execution(stateMachineArn=machine)["executionArn"]
    token = guarded.until(lambda: states.get_activity_task(activityArn=activity).get("taskToken"))
    other = guarded.function(ANSWERING, Role=_role(guarded, "loafer", ("states:SendTaskSuccess", machine)))
    assert guarded.invoke(other, {"token": token})[0]
    assert guarded.invoke(function, {"token": token})[0] is None
    assert guarded.until(lambda: _ended_execution(guarded, started)) == ("SUCCEEDED", '"answered"')


def _ended_execution(guarded: Any, arn: str) -> tuple[str, str | None] | None:
    found = guarded.client("stepfunctions").describe_execution(executionArn=arn)
    return None if found["status"] == "RUNNING" else (found["status"], found.get("output"))
