"""Actions denied to each role that a workflow makes or extends, asked of the emulator's IAM as that role."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import Deployment

pytestmark = pytest.mark.e2e

STACK = "Callbacks"
DENIED = {"AccessDenied", "AccessDeniedException"}


@dataclass(frozen=True)
class Places:
    """Targets of misuse, by kind."""

    workflow: str
    table: str
    other_table: str
    start_alias: str
    control_function: str
    aliases: Mapping[str, str]
    functions: Mapping[str, str]
    roles: Mapping[str, str]
    queues: Mapping[str, str]

    @property
    def latest(self) -> str:
        return f"{self.functions['Ask']}:$LATEST"


Clients = Callable[[str], Any]
"""A client of one role by service."""

Try = Callable[[Clients, Places], Any]


def item(client: Clients, call: str, table: str, partition: str) -> Any:
    """Reads one item; or writes or deletes it, on a condition that does not hold."""
    place = {"pk": {"S": partition}, "sk": {"S": "1"}}
    field = "Item" if call == "put_item" else "Key"
    condition = {} if call == "get_item" else {"ConditionExpression": "attribute_exists(nothing)"}
    return getattr(client("dynamodb"), call)(TableName=table, **{field: place}, **condition)


def query(client: Clients, table: str, partition: str) -> Any:
    wanted = {"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": partition}}}
    return client("dynamodb").query(TableName=table, **wanted)


def invoke(client: Clients, function: str) -> Any:
    """Asks whether it would be allowed."""
    return client("lambda").invoke(FunctionName=function, InvocationType="DryRun", Payload=b"{}")


def send(client: Clients, url: str) -> Any:
    return client("sqs").send_message(QueueUrl=url, MessageBody="{}")


def receive(client: Clients, url: str) -> Any:
    return client("sqs").receive_message(QueueUrl=url)


TRIES: Mapping[str, tuple[str, Try]] = {
    "delete of a checkpoint": ("dynamodb:DeleteItem", lambda s, p: item(s, "delete_item", p.table, f"{p.workflow}/x")),
    "scan": ("dynamodb:Scan", lambda s, p: s("dynamodb").scan(TableName=p.table)),
    "no table": (
        "dynamodb:DeleteTable",
        lambda s, p: s("dynamodb").delete_table(TableName=p.table),
    ),
    "description of the table": (
        "dynamodb:DescribeTable",
        lambda s, p: s("dynamodb").describe_table(TableName=p.table),
    ),
    "forgery in another workflow": ("dynamodb:PutItem", lambda s, p: item(s, "put_item", p.table, "Other/x")),
    "start of another workflow": ("dynamodb:PutItem", lambda s, p: item(s, "put_item", p.table, "start:Other/x")),
    "checkpoint of another workflow": ("dynamodb:GetItem", lambda s, p: item(s, "get_item", p.table, "Other/x")),
    "change in another workflow": ("dynamodb:UpdateItem", lambda s, p: item(s, "update_item", p.table, "Other/x")),
    "branches of another workflow": ("dynamodb:Query", lambda s, p: query(s, p.table, "Other/x")),
    "read of another table": (
        "dynamodb:GetItem",
        lambda s, p: s("dynamodb").get_item(TableName=p.other_table, Key={"key": {"S": "x"}}),
    ),
    "forged checkpoint": ("dynamodb:PutItem", lambda s, p: item(s, "put_item", p.table, f"{p.workflow}/x")),
    "forged start": ("dynamodb:PutItem", lambda s, p: item(s, "put_item", p.table, f"start:{p.workflow}/x")),
    "read of a checkpoint": ("dynamodb:GetItem", lambda s, p: item(s, "get_item", p.table, f"{p.workflow}/x")),
    "read of a token": ("dynamodb:GetItem", lambda s, p: item(s, "get_item", p.table, f"token:{p.workflow}/x")),
    "what is not published": ("lambda:InvokeFunction", lambda s, p: invoke(s, p.latest)),
    "a function without a version": ("lambda:InvokeFunction", lambda s, p: invoke(s, p.functions["Ask"])),
    "a version of a function": ("lambda:InvokeFunction", lambda s, p: invoke(s, f"{p.functions['Ask']}:1")),
    "the forwarder": ("lambda:InvokeFunction", lambda s, p: invoke(s, f"{p.functions['Forwarder']}:1")),
    "the start alias": ("lambda:InvokeFunction", lambda s, p: invoke(s, p.start_alias)),
    "a redrive": ("lambda:InvokeFunction", lambda s, p: invoke(s, f"{p.control_function}:redrive-{p.workflow}")),
    "a stop": ("lambda:InvokeFunction", lambda s, p: invoke(s, f"{p.control_function}:stop-{p.workflow}")),
    "a fork": ("lambda:InvokeFunction", lambda s, p: invoke(s, f"{p.control_function}:fork-{p.workflow}")),
    "a nudge": ("lambda:InvokeFunction", lambda s, p: invoke(s, f"{p.control_function}:nudge-{p.workflow}")),
    "a sweep": ("lambda:InvokeFunction", lambda s, p: invoke(s, f"{p.control_function}:sweep-{p.workflow}")),
    "any request": ("lambda:InvokeFunction", lambda s, p: invoke(s, f"{p.control_function}:operate-{p.workflow}")),
    "a version of the control function": ("lambda:InvokeFunction", lambda s, p: invoke(s, f"{p.control_function}:1")),
    "the start intake": (
        "lambda:InvokeFunction",
        lambda s, p: invoke(s, f"{p.functions['Handler']}:start-intake-{p.workflow}"),
    ),
    "the run alias": ("lambda:InvokeFunction", lambda s, p: invoke(s, p.aliases["Run"])),
    "the describe alias": ("lambda:InvokeFunction", lambda s, p: invoke(s, p.aliases["Describe"])),
    "the response alias": ("lambda:InvokeFunction", lambda s, p: invoke(s, p.aliases["Respond"])),
    "other code": (
        "lambda:UpdateFunctionCode",
        lambda s, p: s("lambda").update_function_code(FunctionName=p.functions["Ask"], ZipFile=b"x"),
    ),
    "another alias": (
        "lambda:UpdateAlias",
        lambda s, p: s("lambda").update_alias(
            FunctionName=p.functions["Entry"], Name=p.start_alias.rpartition(":")[2], FunctionVersion="1"
        ),
    ),
    "more rights": (
        "iam:PutRolePolicy",
        lambda s, p: s("iam").put_role_policy(RoleName=p.roles["Ask"], PolicyName="more", PolicyDocument="{}"),
    ),
    "another role": (
        "sts:AssumeRole",
        lambda s, p: s("sts").assume_role(RoleArn=p.roles["Other"], RoleSessionName="test"),
    ),
    "dead letters": ("sqs:ReceiveMessage", lambda s, p: receive(s, p.queues["Failures"])),
    "a forged dead letter": ("sqs:SendMessage", lambda s, p: send(s, p.queues["Failures"])),
    "events that wait": ("sqs:ReceiveMessage", lambda s, p: receive(s, p.queues["Timer"])),
    "purge": ("sqs:PurgeQueue", lambda s, p: s("sqs").purge_queue(QueueUrl=p.queues["Timer"])),
    "the activity": ("sqs:ReceiveMessage", lambda s, p: receive(s, p.queues["work"])),
    "a forged task": ("sqs:SendMessage", lambda s, p: send(s, p.queues["work"])),
    "buckets": ("s3:ListAllMyBuckets", lambda s, _: s("s3").list_buckets()),
    "keys": ("kms:ListKeys", lambda s, _: s("kms").list_keys()),
    "logs": ("logs:DescribeLogGroups", lambda s, _: s("logs").describe_log_groups()),
    "stacks": ("cloudformation:DescribeStacks", lambda s, _: s("cloudformation").describe_stacks()),
}

NOBODY = [
    "delete of a checkpoint",
    "scan",
    "no table",
    "forgery in another workflow",
    "start of another workflow",
    "checkpoint of another workflow",
    "change in another workflow",
    "branches of another workflow",
    "read of another table",
    "what is not published",
    "a function without a version",
    "other code",
    "another alias",
    "more rights",
    "another role",
    "purge",
    "buckets",
    "keys",
    "logs",
    "stacks",
]
OUTSIDE = [
    *("a version of a function", "the forwarder", "events that wait"),
    *("dead letters", "a forged dead letter", "a forged task", "the start intake"),
]
"""What nobody may who is no function."""

ITEMS = ["forged checkpoint", "forged start", "read of a checkpoint", "read of a token"]
STARTS = ["the start alias", "the run alias"]
DEAD_LETTERS = ["dead letters", "a forged dead letter"]
CONTROL = [
    *("a stop", "a redrive", "a fork", "a nudge", "a sweep", "a version of the control function"),
]
OF_FUNCTIONS = ["the forwarder", "the activity", "description of the table"]

MORE: Mapping[str, list[str]] = {
    "Ask": [
        *OF_FUNCTIONS,
        *CONTROL,
        *("dead letters", "events that wait", "a forged task", "the start alias", "the start intake"),
    ],
    "Entry": [*OF_FUNCTIONS, *CONTROL, *DEAD_LETTERS, "events that wait", "a forged task"],
    "Services": [*OF_FUNCTIONS, *CONTROL, *DEAD_LETTERS, "events that wait", "the start intake"],
    "Handler": [*OF_FUNCTIONS, "a sweep", "dead letters", "events that wait", "a forged task"],
    "Control": [*OF_FUNCTIONS, "events that wait", "a forged task"],
    "Forwarder": [
        "dead letters",
        "read of a checkpoint",
        "forged checkpoint",
        "forged start",
        "a forged task",
        *CONTROL,
    ],
    "Starter": [*OUTSIDE, *CONTROL, *ITEMS, "the describe alias", "the response alias"],
    "Source": [*OUTSIDE, *CONTROL, *ITEMS, "the run alias", "the describe alias", "the response alias"],
    "Describer": [*OUTSIDE, *CONTROL, *ITEMS, *STARTS, "the response alias"],
    "Reader": [*OUTSIDE, *CONTROL, "forged checkpoint", "forged start", "read of a token", *STARTS],
    "Operator": [
        *OUTSIDE,
        *(each for each in CONTROL if each != "a redrive"),
        *(*ITEMS, *STARTS, "the describe alias", "the response alias"),
    ],
    "Answering": [*OUTSIDE, *CONTROL, *ITEMS, *STARTS, "the describe alias", "the activity"],
    "Worker": [*OUTSIDE, *CONTROL, *ITEMS, *STARTS, "the describe alias"],
    "Posting": [*OUTSIDE, *CONTROL, *ITEMS, *STARTS, "the describe alias", "the activity"],
}
"""By role: the functions' first, then those of users."""

MAY: Mapping[str, list[str]] = {
    "Ask": ["read of a checkpoint", "forged checkpoint"],
    "Entry": ["read of a checkpoint", "a version of a function", "the start intake"],
    "Services": ["forged checkpoint"],
    "Handler": ["read of a checkpoint", "a version of a function", "a nudge"],
    "Control": ["read of a checkpoint", "a version of a function", "dead letters"],
    "Forwarder": ["a version of a function", "events that wait"],
    "Starter": ["the run alias", "the start alias"],
    "Source": ["the start alias"],
    "Describer": ["the describe alias"],
    "Reader": ["read of a checkpoint", "the describe alias"],
    "Operator": ["a redrive"],
    "Answering": ["the response alias"],
    "Worker": ["the activity", "the response alias"],
}
"""What would be misuse of others is the use of these, so it is for IAM that the others are denied."""

LOOSE: Any = {"Effect": "Allow", "Action": ["dynamodb:Scan", "lambda:InvokeFunction"], "Resource": "*"}


@pytest.fixture(scope="module")
def places(deployment: Deployment) -> Places:
    outputs = deployment.outputs[STACK]
    resources = deployment.session.client("cloudformation").describe_stack_resources(StackName=STACK)["StackResources"]
    found = {each["LogicalResourceId"]: each for each in resources}

    def physical(kind: str, prefix: str) -> str:
        (name,) = {
            each["PhysicalResourceId"]
            for logical, each in found.items()
            if each["ResourceType"] == kind and logical.startswith(prefix)
        }
        return str(name)

    prefixes = {
        "Ask": "Ask",
        "Entry": "WorkflowEntry",
        "Services": "WorkflowServices",
        "Handler": "WorkflowOnFailureHandler",
        "Control": "WorkflowControlFunction",
        "Forwarder": "WorkflowTimerForwarder",
    }
    functions = {name: physical("AWS::Lambda::Function", prefix) for name, prefix in prefixes.items()}
    configurations = {
        name: deployment.session.client("lambda").get_function_configuration(FunctionName=function)
        for name, function in functions.items()
    }
    users = {name: outputs[f"{name}Role"] for name in MORE if name not in functions}
    roles = {name: configuration["Role"].rpartition("/")[2] for name, configuration in configurations.items()}
    queues = {"Failures": "WorkflowFailures", "Timer": "WorkflowTimerQueue", "work": "WorkflowActivitieswork"}
    return Places(
        workflow=outputs["WorkflowWorkflow"],
        table=outputs["WorkflowTable"],
        other_table=outputs["AskedTable"],
        start_alias=outputs["WorkflowStartAlias"],
        control_function=outputs["WorkflowControlFunction"],
        aliases={each: outputs[f"Workflow{each}Alias"] for each in ("Run", "Describe", "Respond")},
        functions=functions,
        roles={**roles, **users, "Other": configurations["Services"]["Role"]},
        queues={name: physical("AWS::SQS::Queue", prefix) for name, prefix in queues.items()},
    )


@pytest.fixture(scope="module")
def clients(deployment: Deployment, places: Places) -> Iterator[Mapping[str, Clients]]:
    """Clients of each role. Those of functions trust this test as well, as long as it takes."""
    roles, names = deployment.session.client("iam"), [*places.functions]
    trusted = {name: roles.get_role(RoleName=places.roles[name])["Role"] for name in names}
    root = f"arn:aws:iam::{places.start_alias.split(':')[4]}:root"
    for name in names:
        _trust(deployment, places.roles[name], {"Service": "lambda.amazonaws.com", "AWS": root})
    arns = {name: trusted[name]["Arn"] if name in trusted else places.roles[name] for name in MORE}
    yield {name: cache(_session(deployment, arn).client) for name, arn in arns.items()}
    for name in names:
        _trust(deployment, places.roles[name], {"Service": "lambda.amazonaws.com"})


def _trust(deployment: Deployment, role: str, principal: Mapping[str, str]) -> None:
    statement = {"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    deployment.session.client("iam").update_assume_role_policy(RoleName=role, PolicyDocument=document)


def _session(deployment: Deployment, arn: str) -> boto3.Session:
    given = deployment.session.client("sts").assume_role(RoleArn=arn, RoleSessionName="test")["Credentials"]
    return boto3.Session(
        aws_access_key_id=given["AccessKeyId"],
        aws_secret_access_key=given["SecretAccessKey"],
        aws_session_token=given["SessionToken"],
        region_name=deployment.session.region_name,
    )


def refusal(client: Clients, places: Places, name: str) -> str | None:
    """The action that was denied when who has `client` tried `name`; None if it was not denied."""
    action, attempt = TRIES[name]
    try:
        attempt(client, places)
    except ClientError as error:
        if error.response["Error"]["Code"] in DENIED:
            return action if action in str(error) else str(error)
    return None


@pytest.mark.parametrize("role", MORE)
def test_a_role_may_do_nothing_else(role: str, clients: Mapping[str, Clients], places: Places) -> None:
    must_not = [*NOBODY, *MORE[role]]
    assert len(set(must_not)) >= 10
    refused = {name: refusal(clients[role], places, name) for name in must_not}
    assert refused == {name: TRIES[name][0] for name in must_not}


@pytest.mark.parametrize("role", MAY)
def test_the_same_is_allowed_to_whom_it_is_for(role: str, clients: Mapping[str, Clients], places: Places) -> None:
    assert {name: refusal(clients[role], places, name) for name in MAY[role]} == dict.fromkeys(MAY[role])


def test_a_role_with_a_statement_too_many_is_noticed(
    deployment: Deployment, clients: Mapping[str, Clients], places: Places
) -> None:
    roles, name = deployment.session.client("iam"), places.roles["Ask"]
    document = json.dumps({"Version": "2012-10-17", "Statement": [LOOSE]})
    roles.put_role_policy(RoleName=name, PolicyName="loose", PolicyDocument=document)
    try:
        refused = {each: refusal(clients["Ask"], places, each) for each in [*NOBODY, *MORE["Ask"]]}
    finally:
        roles.delete_role_policy(RoleName=name, PolicyName="loose")
    noticed = {each for each, action in refused.items() if action is None}
    assert noticed == {"scan", "a function without a version", "the forwarder", "the start alias", *CONTROL}
