"""Permissions of Tasks beside those that `aws_stepfunctions.StateMachine` gives its role for the same Tasks."""

import json
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks
from constructs import Construct

from tests.synth.deployment import Deployment, as_list
from tests.synth.test_task_classes import PROPS
from unum_constructs import Definition
from unum_runtime.errors import DefinitionError

POLICY = "Flow/Permissions/$services"

POLLS = "Step Functions is told by EventBridge that the job has ended, and this library asks"
STOPS = "a job whose Task has ended is stopped; the CDK leaves that permission out"
READS = "Step Functions retrieves the credentials of the connection, and this library reads where they are"
WIDER: Mapping[str, Mapping[str, str]] = {
    "AthenaStartQueryExecution": {"athena:stopqueryexecution": STOPS},
    "BatchSubmitJob": {"batch:describejobs": POLLS, "batch:terminatejob": STOPS},
    "GlueDataBrewStartJobRun": {"databrew:describejobrun": POLLS},
    "HttpInvoke": {"events:describeconnection": READS},
}
"""Actions of a class that its role on Step Functions has not, or not on these resources, with the reason."""

PLAIN_ASL = {
    "BedrockCreateModelCustomizationJob": {
        "bedrock:createmodelcustomizationjob": "it needs three resources, and the parameters name one of them",
    },
    "HttpInvoke": {
        "events:describeconnection": READS,
        "secretsmanager:getsecretvalue": "the definition names the connection, whose secret only EventBridge knows",
    },
    "EmrCreateCluster": {"iam:passrole": "the same role, which the parameters name without its ARN"},
    "EcsRunTask": {
        "iam:passrole": "the definition names the task definition, whose roles only ECS knows",
        "ecs:runtask": "the same resource, whose ARN the CDK takes apart at the deployment",
    },
}
"""The same for a definition of the same text that is no chain, whose permissions follow from its parameters."""


class Allowed(NamedTuple):
    """An action in lower case on a resource, under conditions; references as logical ids."""

    action: str
    resource: str
    conditions: str


def allowed(statements: list[Any]) -> Iterator[Allowed]:
    for each in statements:
        conditions = {
            operator: {key: sorted(as_list(values)) for key, values in keys.items()}
            for operator, keys in each.get("Condition", {}).items()
        }
        for action in as_list(each["Action"]):
            for resource in as_list(each["Resource"]):
                yield Allowed(action.lower(), text(resource), json.dumps(conditions, sort_keys=True))


HERE = {"AWS::Partition": "aws", "AWS::Region": "eu-west-1", "AWS::AccountId": "111111111111"}


def text(value: Any) -> str:
    match value:
        case str():
            return value
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(map(text, parts))
        case {"Ref": name} if name in HERE:
            return HERE[name]
    return json.dumps(value)


def is_within(ours: Allowed, theirs: set[Allowed]) -> bool:
    """Return True if a statement of `theirs` allows what `ours` allows, with the same conditions or none."""
    return any(
        fnmatchcase(ours.action, each.action)
        and (ours.resource == each.resource or fnmatchcase(ours.resource, each.resource.replace("[", "[[]")))
        and each.conditions in ("{}", ours.conditions)
        for each in theirs
    )


def of_state_machine(name: str) -> set[Allowed]:
    deployment = Deployment.new()
    stack = deployment.stack
    state = getattr(tasks, name)(stack, name, **PROPS[name](stack))
    sfn.StateMachine(stack, "Compared", definition_body=sfn.DefinitionBody.from_chainable(state))
    role = deployment.logical_id("Compared/Role")
    return {
        each
        for policy in deployment.all("IAM::Policy").values()
        if {"Ref": role} in policy["Properties"]["Roles"]
        for each in allowed(policy["Properties"]["PolicyDocument"]["Statement"])
    }


def of_workflow(deployment: Deployment) -> set[Allowed]:
    """Return the service function's rights, except on the workflow's own resources."""
    if not deployment.stack.node.find_child("Flow").node.try_find_child("Services"):
        return set()
    found = allowed(
        [
            each
            for each in deployment.properties(POLICY)["PolicyDocument"]["Statement"]
            if each["Effect"] == "Allow" and '"Flow' not in json.dumps(each["Resource"])
        ]
    )
    return {*found}


def chained(name: str) -> set[Allowed]:
    deployment = Deployment.new()
    state = getattr(tasks, name)(deployment.stack, name, **PROPS[name](deployment.stack))
    deployment.flow(Definition.from_chainable(state), {})
    return of_workflow(deployment)


def plain(name: str) -> set[Allowed]:
    """Compile a definition with the class's text instead of a chain."""
    deployment = Deployment.new()
    state = getattr(tasks, name)(deployment.stack, name, **PROPS[name](deployment.stack))
    machine = json.loads(json.dumps(sfn.StateGraph(state, "Graph").to_graph_json()))
    deployment.flow(Definition.from_asl(machine), {})
    return of_workflow(deployment)


@pytest.mark.parametrize("path", [False, True], ids=["literal", "path"])
def test_what_the_author_of_a_call_declares_is_all_that_it_gets(*, path: bool) -> None:
    deployment = Deployment.new()
    call = tasks.CallAwsService(
        deployment.stack,
        "Read",
        service="s3",
        action="getObject",
        iam_resources=["arn:aws:s3:::reports/*"],
        additional_iam_statements=[iam.PolicyStatement(actions=["kms:Decrypt"], resources=["arn:aws:kms:r:1:key/k"])],
        parameters={"Bucket": sfn.JsonPath.string_at("$.bucket") if path else "other", "Key": "k"},
    )
    deployment.flow(Definition.from_chainable(call), {})
    assert of_workflow(deployment) == {
        Allowed("s3:getobject", "arn:aws:s3:::reports/*", "{}"),
        Allowed("kms:decrypt", "arn:aws:kms:r:1:key/k", "{}"),
    }
    assert deployment.warnings() == []


def test_declared_action_replaces_the_derived_one() -> None:
    deployment = Deployment.new()
    call = tasks.CallAwsService(
        deployment.stack,
        "Start",
        service="scheduler",
        action="createSchedule",
        iam_action="scheduler:*",
        iam_resources=["arn:aws:scheduler:r:1:schedule/own/*"],
        parameters={
            "Name.$": "$.name",
            "Target": {"Arn.$": "$.to", "RoleArn.$": "$.role"},
            "ScheduleExpression": "rate(1 day)",
            "FlexibleTimeWindow": {"Mode": "OFF"},
        },
    )
    deployment.flow(Definition.from_chainable(call), {})
    assert of_workflow(deployment) == {Allowed("scheduler:*", "arn:aws:scheduler:r:1:schedule/own/*", "{}")}


def test_tasks_of_one_name_in_two_chains_keep_their_own_permissions() -> None:
    deployment = Deployment.new()
    for name in ("One", "Two"):
        call = tasks.CallAwsService(
            Construct(deployment.stack, name),
            "Call",
            service="sns",
            action="publish",
            iam_resources=[f"arn:aws:sns:r:1:{name}"],
            parameters={"TopicArn.$": "$.topic", "Message": "m"},
        )
        inside = sfn.Map(deployment.stack, f"Map{name}").item_processor(call)
        deployment.flow(Definition.from_chainable(inside), {}, f"Flow{name}")
    for name in ("One", "Two"):
        statements = deployment.statements(f"Flow{name}/Permissions/$services")
        assert [arns for actions, arns in statements if actions == ["sns:publish"]] == [[f"arn:aws:sns:r:1:{name}"]]


def test_assumed_role_is_all_that_a_task_with_credentials_gets() -> None:
    deployment = Deployment.new()
    role = iam.Role.from_role_arn(deployment.stack, "Role", "arn:aws:iam::222222222222:role/r")
    call = tasks.CallAwsService(
        deployment.stack,
        "Read",
        service="s3",
        action="getObject",
        iam_resources=["*"],
        parameters={"Bucket": "b", "Key": "k"},
        credentials=sfn.Credentials(role=sfn.TaskRole.from_role(role)),
    )
    deployment.flow(Definition.from_chainable(call), {})
    assert of_workflow(deployment) == {Allowed("sts:assumerole", "arn:aws:iam::222222222222:role/r", "{}")}


def test_data_sets_of_a_chain_are_read_and_listed_by_their_names() -> None:
    deployment = Deployment.new()
    bucket = s3.Bucket(deployment.stack, "Items")
    listed = sfn.S3ObjectsItemReader(bucket=bucket, prefix="new/")
    read = sfn.S3JsonItemReader(bucket=bucket, key="items.json")
    chain = sfn.DistributedMap(deployment.stack, "Listed", item_reader=listed).item_processor(
        sfn.Pass(deployment.stack, "A")
    )
    chain.next(
        sfn.DistributedMap(deployment.stack, "Read", item_reader=read).item_processor(sfn.Pass(deployment.stack, "B"))
    )
    deployment.flow(Definition.from_chainable(chain), {})
    arn = f"arn:aws:s3:::{json.dumps({'Ref': deployment.logical_id('Items')})}"
    only = json.dumps({"StringEquals": {"s3:prefix": ["new/"]}})
    assert of_workflow(deployment) == {
        Allowed("s3:listbucket", arn, only),
        Allowed("s3:getobject", f"{arn}/items.json", "{}"),
    }


def test_passed_roles_go_to_the_called_service_alone() -> None:
    """The CDK passes them to any service, in the optimized integrations of ECS and EMR."""
    for name, service in (("EcsRunTask", "ecs-tasks.amazonaws.com"), ("EmrCreateCluster", "ec2.amazonaws.com")):
        passing = [each for each in chained(name) if each.action == "iam:passrole"]
        assert passing
        assert all(service in json.loads(each.conditions)["StringEquals"]["iam:PassedToService"] for each in passing)


def wider(ours: set[Allowed], name: str) -> set[str]:
    theirs = of_state_machine(name)
    return {each.action for each in ours if not is_within(each, theirs)}


COMPILED = sorted({*PROPS} - {"EmrContainersDeleteVirtualCluster", "EvaluateExpression", "CallAwsServiceCrossRegion"})
"""Classes whose Tasks request services; the others are refused, or run functions."""


@pytest.mark.parametrize("name", COMPILED)
def test_chain_gets_no_more_than_a_state_machine(name: str) -> None:
    try:
        found = chained(name)
    except DefinitionError:
        pytest.fail(f"{name} is refused: leave it out of COMPILED")
    assert wider(found, name) == {*WIDER.get(name, {})}


@pytest.mark.parametrize("name", COMPILED)
def test_plain_definition_gets_no_more_than_a_state_machine(name: str) -> None:
    assert wider(plain(name), name) == {*PLAIN_ASL.get(name, WIDER.get(name, {}))}
