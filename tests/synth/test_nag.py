"""cdk-nag finds nothing in what the constructs make, whatever the options; and finds it when something is loosened."""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import cdk_nag
import pytest
from aws_cdk import App, Duration, Stack
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs

from examples.existing_app.stack import ExistingApp
from examples.iot_pipeline.stack import IotPipeline
from examples.text_processing.stack import TextProcessing
from examples.word_count.stack import WordCount
from tests.synth.deployment import CODE, Deployment, function
from tests.synth.machines import a_map, chain, machine, task
from unum_constructs import Collection, ExecutionData, Monitoring, OwnFunctions, Store, UnumControlPlane, UnumWorkflow
from unum_constructs.cdk import nag
from unum_constructs.cdk.storage import TableStorage
from unum_constructs.resources import failure_handling, permissions, response_resources, schedule_group, timer_queue
from unum_runtime.model.metrics import Metrics

Options = Mapping[str, Any]
Loosen = Callable[[pytest.MonkeyPatch], None]

WORK = "arn:aws:states:us-east-1:123456789012:activity:work"
BUCKET = "arn:aws:states:::s3:listObjectsV2"

EVERYTHING = machine(
    Pass={"Type": "Pass", "Next": "First"},
    First=task("A", "Wait"),
    Wait={"Type": "Wait", "Seconds": 86_400, "Next": "Ask"},
    Ask={
        **task("arn:aws:states:::lambda:invoke.waitForTaskToken", "Files"),
        "Parameters": {"FunctionName": "A", "Payload": {"token.$": "$$.Task.Token"}},
        "TimeoutSeconds": 60,
    },
    Files=a_map(
        chain("Plain"), "Work", ItemReader={"Resource": BUCKET, "Parameters": {"Bucket": "texts", "Prefix": "new"}}
    ),
    Work=task(WORK),
)
EVERYTHING["States"]["Files"]["ItemProcessor"]["ProcessorConfig"] = {
    "Mode": "DISTRIBUTED",
    "ExecutionType": "STANDARD",
}

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "compliance.md"

UP_TO_THE_USER = {
    "AwsSolutions-L1",
    "Serverless-LambdaLatestVersion",
    "Serverless-LambdaTracing",
    "Serverless-LambdaDefaultMemorySize",
    "Serverless-LambdaDefaultTimeout",
    *(f"{pack}-LambdaConcurrency" for pack in ("NIST.800.53.R5", "HIPAA.Security")),
    *(f"{pack}-LambdaInsideVPC" for pack in ("NIST.800.53.R5", "HIPAA.Security", "PCI.DSS.321")),
}
"""Of functions that are no `UnumFunction`."""

PACKS = (
    cdk_nag.AwsSolutionsChecks,
    cdk_nag.NIST80053R5Checks,
    cdk_nag.HIPAASecurityChecks,
    cdk_nag.PCIDSS321Checks,
    cdk_nag.ServerlessChecks,
)


def findings(stack: Stack) -> set[tuple[str, str]]:
    """Rules that are broken, and where."""
    return {
        (violation.rule_name, resource.construct_path)  # type: ignore[misc]  # by name
        for pack in PACKS
        for violation in pack().validate_scope(stack).violations
        for resource in violation.violating_resources
    }


def found_in_ours(deployment: Deployment) -> set[tuple[str, str]]:
    """Return findings except those about resources that the test's app makes or omits."""
    assert deployment.template
    own = {"Stack/Plain/Resource"}
    return {
        (rule, path)
        for rule, path in findings(deployment.stack)
        if not path.startswith(("Stack/Key/", "Stack/Vpc/", "Stack/Group/", "Stack/Topic/", "Stack/Plain/ServiceRole"))
        and not (path in own and rule in UP_TO_THE_USER)
    }


def deployed(definition: Any = EVERYTHING, **options: Any) -> tuple[Deployment, UnumWorkflow]:
    deployment = Deployment.new()
    given = {name: make(deployment.stack) if callable(make) else make for name, make in options.items()}
    own = {name: given.pop(f"function_{name}") for name in ("vpc", "encryption_key") if f"function_{name}" in given}
    functions: dict[str, lambda_.Function] = {"A": function(deployment.stack, "A", **own)}
    if definition is EVERYTHING:
        functions["Plain"] = lambda_.Function(
            deployment.stack,
            "Plain",
            code=lambda_.Code.from_inline(CODE),
            handler="index.handle",
            runtime=lambda_.Runtime.PYTHON_3_13,
        )
    return deployment, deployment.flow(definition, functions, **given)


def key(stack: Stack) -> kms.IKey:
    found = stack.node.try_find_child("Key")
    return found if isinstance(found, kms.Key) else kms.Key(stack, "Key", enable_key_rotation=True)


def vpc(stack: Stack) -> ec2.IVpc:
    found = stack.node.try_find_child("Vpc")
    return found if isinstance(found, ec2.Vpc) else ec2.Vpc(stack, "Vpc", max_azs=2)


def groups(stack: Stack) -> list[ec2.ISecurityGroup]:
    return [ec2.SecurityGroup(stack, "Group", vpc=vpc(stack))]


@pytest.mark.parametrize(
    "options",
    [
        {
            "timeout": Duration.hours(1),
            "monitoring": Monitoring(metrics=Metrics.NODES),
            "exported": True,
            "execution_data": ExecutionData(collection=Collection.EAGER),
        },
        {
            "encryption_key": key,
            "function_encryption_key": key,
            "own_functions": OwnFunctions(tracing=lambda_.Tracing.ACTIVE),
        },
        {
            "own_functions": lambda stack: OwnFunctions(
                vpc=vpc(stack), security_groups=groups(stack), environment_encryption=key(stack)
            ),
            "function_vpc": vpc,
        },
        {
            "store": lambda stack: Store.dynamodb(
                encryption_key=key(stack), point_in_time_recovery=True, list_executions=True, deletion_protection=True
            )
        },
        {"control_plane": lambda stack: UnumControlPlane(stack, "Plane")},
    ],
    ids="-".join,
)
def test_nothing_is_found(options: Options) -> None:
    deployment, flow = deployed(**options)
    flow.add_alarms(actions=[actions.SnsAction(sns.Topic(deployment.stack, "Topic"))])
    flow.dashboard()
    flow.add_task_response_url()
    assert found_in_ours(deployment) == set()


def test_nothing_is_found_in_the_default_stack() -> None:
    deployment, _ = deployed(chain("A"))
    assert deployment.template
    assert findings(deployment.stack) == set()


def test_every_reason_is_in_the_documentation() -> None:
    page = " ".join(PAGE.read_text().split())
    tables = [each for name, each in vars(nag).items() if isinstance(each, dict) and not name.startswith("_")]
    for reasons in tables:
        for rule, why in nag.in_all_packs(reasons).items():
            assert f"`{rule.partition('[')[0]}`" in page, rule
            assert why in page, why


def test_functions_of_other_stacks() -> None:
    app = App()
    functions, flows = Deployment(Stack(app, "Functions")), Deployment(Stack(app, "Stack"))
    flows.flow(chain("A", "B"), {each: function(functions.stack, each) for each in "AB"})
    found = {
        finding
        for deployment in (flows, functions)
        for finding in found_in_ours(deployment)
        if finding[0] not in UP_TO_THE_USER
    }
    assert found == set()


def test_fixed_capacity_is_up_to_who_asks_for_it() -> None:
    deployment, _ = deployed(chain("A"), store=Store.dynamodb(billing=dynamodb.BillingMode.PROVISIONED))
    assert found_in_ours(deployment) == {
        (f"{pack}-DynamoDBAutoScalingEnabled", "Stack/Flow/Table/Resource")
        for pack in ("NIST.800.53.R5", "HIPAA.Security")
    }


def test_a_permission_for_everything_is_found() -> None:
    send = {**task("arn:aws:states:::sqs:sendMessage"), "Parameters": {"QueueUrl.$": "$.url", "MessageBody": "x"}}
    deployment, _ = deployed(machine(A=task("A", "Send"), Send=send))
    assert found_in_ours(deployment) == {
        ("AwsSolutions-IAM5[Resource::*]", "Stack/Flow/Permissions/$services/Resource")
    }


def any_function(patch: pytest.MonkeyPatch) -> None:
    def invoke_statements(_hosts: Any, _handlers: Any = (), **_options: Any) -> Iterator[iam.PolicyStatement]:
        yield iam.PolicyStatement(
            actions=["lambda:InvokeFunction"], resources=["arn:aws:lambda:us-east-1:123456789012:function:*"]
        )

    patch.setattr(permissions, "invoke_statements", invoke_statements)


def any_action(patch: pytest.MonkeyPatch) -> None:
    def state_statements(storage: TableStorage, _operations: Any, **_options: Any) -> Iterator[iam.PolicyStatement]:
        yield iam.PolicyStatement(actions=["dynamodb:*"], resources=storage.arns)

    patch.setattr(permissions, "state_statements", state_statements)


def any_schedule(patch: pytest.MonkeyPatch) -> None:
    def add_schedule_statements(_self: schedule_group.WorkflowSchedules) -> Iterator[iam.PolicyStatement]:
        group = "arn:aws:scheduler:us-east-1:123456789012:schedule/*"
        yield iam.PolicyStatement(actions=["scheduler:CreateSchedule"], resources=[group])

    patch.setattr(schedule_group.WorkflowSchedules, "add_schedule_statements", add_schedule_statements)


def without_tls(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(response_resources, "new_queue", lambda scope, name, **_: sqs.Queue(scope, name))


def without_dead_letters(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(timer_queue.sqs, "DeadLetterQueue", lambda **_: None)


def managed_policy(patch: pytest.MonkeyPatch) -> None:
    handler = failure_handling.FailureHandler
    make = handler.__init__

    def init(self: Any, *arguments: Any, **options: Any) -> None:
        make(self, *arguments, **options)
        self.function.role.add_managed_policy(iam.ManagedPolicy.from_aws_managed_policy_name("ReadOnlyAccess"))

    patch.setattr(handler, "__init__", init)


@pytest.mark.parametrize(
    ("loosen", "rule", "place"),
    [
        (any_function, "AwsSolutions-IAM5[Resource::arn:aws:lambda:us-east-1:123456789012:function:*]", "Permissions/"),
        (any_action, "AwsSolutions-IAM5[Action::dynamodb:*]", "Permissions/"),
        (any_schedule, "AwsSolutions-IAM5[Resource::arn:aws:scheduler:us-east-1:123456789012:schedule/*]", "Timer/"),
        (without_tls, "AwsSolutions-SQS4", "Activities/work"),
        (without_dead_letters, "AwsSolutions-SQS3", "Timer/Queue"),
        (managed_policy, "AwsSolutions-IAM4[", "OnFailure/HandlerRole"),
    ],
)
def test_what_is_loosened_is_found(loosen: Loosen, rule: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loosen(monkeypatch)
    deployment, _ = deployed()
    found = found_in_ours(deployment)
    assert any(name.startswith(rule) and path.startswith(f"Stack/Flow/{place}") for name, path in found), found


@pytest.mark.parametrize("example", [ExistingApp, IotPipeline, TextProcessing, WordCount])
def test_nothing_is_found_in_the_workflows_of_the_examples(example: Callable[[App, str], Stack]) -> None:
    """Buckets, tables and functions that are the examples' own are left out."""
    deployment = Deployment(example(App(), "Example"))
    assert deployment.all("Lambda::Alias")
    assert {(rule, path) for rule, path in findings(deployment.stack) if path.startswith("Example/Workflow/")} == set()


@pytest.mark.parametrize("late", [True, False], ids=["loaded late", "never loaded"])
def test_reasons_wait_until_the_library_is_loaded(monkeypatch: pytest.MonkeyPatch, *, late: bool) -> None:
    deployment = Deployment.new()
    with monkeypatch.context() as without:
        without.delitem(sys.modules, "cdk_nag")
        deployment.flow(chain("A"), {"A": function(deployment.stack, "A")})
        assert not reasons_of(deployment.stack)
        if not late:
            assert deployment.template
            assert not reasons_of(deployment.stack)
    if late:
        assert deployment.template
        assert {"Stack/A", "Stack/ARole", "Stack/ALogs", "Stack/Flow/Table"} <= reasons_of(deployment.stack)


def reasons_of(stack: Stack) -> set[str]:
    """Paths of the constructs with reasons."""
    return {
        construct.node.path
        for construct in stack.node.find_all()
        for entry in construct.node.metadata
        if "acknowledged" in entry.type.lower()
    }


@pytest.mark.parametrize("definition", [chain("A"), EVERYTHING], ids=["plain", "everything"])
def test_nothing_is_found_with_the_state_in_a_bucket(definition: Any) -> None:
    options = {} if definition is not EVERYTHING else {"timeout": Duration.hours(1)}
    deployment, _ = deployed(definition, store=Store.s3(), **options)
    assert found_in_ours(deployment) == set()


def test_lists_of_names_and_versions_are_limited_to_the_workflow() -> None:
    deployment, flow = deployed(chain("A"), store=Store.s3())
    reader = iam.Role(deployment.stack, "Reader", assumed_by=iam.AccountRootPrincipal())
    flow.grant_read(reader)
    policies = deployment.all("IAM::Policy").values()
    lists = [
        each
        for policy in policies
        for each in policy["Properties"]["PolicyDocument"]["Statement"]
        if each["Action"] == "s3:ListBucketVersions"
    ]
    assert lists
    assert all("s3:prefix" in each["Condition"]["StringLike"] for each in lists)
