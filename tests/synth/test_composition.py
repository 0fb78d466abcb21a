"""Workflows of what an app has: functions of every kind, nested stacks, stages, Aspects, injected properties."""

from pathlib import Path
from typing import Any

import jsii
import pytest
from aws_cdk import (
    App,
    Aspects,
    CfnParameter,
    Duration,
    Environment,
    IAspect,
    InjectionContext,
    IPropertyInjector,
    NestedStack,
    Stack,
    Stage,
    Tags,
)
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_destinations as destinations
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import IConstruct

from tests.synth.deployment import CODE, Deployment, flat, function
from tests.synth.linting import complaints
from tests.synth.machines import chain, machine, parallel, task
from tests.synth.test_shared_layers import large
from unum_constructs import ConstructError, Guard, LogLevel, Monitoring, OwnFunctions
from unum_runtime.functions.configuration import INLINE, STORE

PROVISIONED = lambda_.VersionOptions(provisioned_concurrent_executions=2)


def plain(stack: Stack, construct_id: str, **options: Any) -> lambda_.Function:
    defaults = {"code": lambda_.Code.from_inline(CODE), "handler": "index.handle"}
    defaults["runtime"] = lambda_.Runtime.PYTHON_3_13
    return lambda_.Function(stack, construct_id, **{**defaults, **options})


def test_provisioned_concurrency_is_of_the_version_and_has_its_price() -> None:
    deployment = Deployment.new()
    own = plain(deployment.stack, "A", current_version_options=PROVISIONED)
    deployment.flow(chain("A"), {"A": own})
    version = deployment.resource("A/CurrentVersion")
    assert version["Properties"]["ProvisionedConcurrencyConfig"] == {"ProvisionedConcurrentExecutions": 2}
    assert version["DeletionPolicy"] == "Retain"
    (warning,) = deployment.warnings()
    assert "which costs until the version is deleted" in warning.text


def test_snap_start() -> None:
    deployment = Deployment.new()
    own = plain(deployment.stack, "A", snap_start=lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS)
    deployment.flow(chain("A"), {"A": own})
    assert deployment.properties("A")["SnapStart"] == {"ApplyOn": "PublishedVersions"}
    assert flat(deployment.properties("Flow/Start")["FunctionVersion"]) == f"{deployment.version('A')}.Version"


def test_a_function_with_an_alias_and_a_destination_of_its_own_keeps_both() -> None:
    deployment = Deployment.new()
    mine = destinations.SqsDestination(sqs.Queue(deployment.stack, "Mine"))
    own = plain(deployment.stack, "A", on_failure=mine)
    lambda_.Alias(deployment.stack, "Live", alias_name="live", version=own.current_version, on_failure=mine)
    deployment.flow(chain("A"), {"A": own})
    handler, queue = deployment.version("Flow/OnFailure/Handler"), f"{deployment.logical_id('Mine')}.Arn"
    for path, destination in {
        "A/EventInvokeConfig": queue,
        "Live/EventInvokeConfig": queue,
        "A/CurrentVersion/EventInvokeConfig": handler,
        "Flow/Start/EventInvokeConfig": deployment.logical_id("Flow/StartIntake"),
    }.items():
        assert flat(deployment.properties(path)["DestinationConfig"]["OnFailure"]["Destination"]) == destination


def test_functions_in_a_vpc_keep_it_and_those_of_the_workflow_can_have_one() -> None:
    deployment = Deployment.new()
    vpc = ec2.Vpc(deployment.stack, "Vpc", max_azs=2, nat_gateways=1)
    group = ec2.SecurityGroup(deployment.stack, "Group", vpc=vpc)
    own = function(deployment.stack, "A", vpc=vpc)
    deployment.flow(chain("A"), {"A": own}, own_functions=OwnFunctions(vpc=vpc, security_groups=[group]))
    handler = deployment.properties("Flow/OnFailure/Handler")["VpcConfig"]
    assert [flat(each) for each in handler["SecurityGroupIds"]] == [f"{deployment.logical_id('Group')}.GroupId"]
    assert len(deployment.properties("A")["VpcConfig"]["SubnetIds"]) == 2


def test_a_container_image_with_the_runtime_in_it(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM public.ecr.aws/lambda/python:3.13\nRUN pip install unum-runtime\n")
    deployment = Deployment.new()
    code = lambda_.DockerImageCode.from_image_asset(str(tmp_path), cmd=["orders.price"], working_directory="/src")
    image = lambda_.DockerImageFunction(deployment.stack, "A", code=code)
    deployment.flow(chain("A", "B"), {"A": image, "B": function(deployment.stack, "B")})
    (reply,) = [str(each.data) for each in image.node.metadata if "unum:imageRuntime" in str(each.data)]
    assert "must be in the image: `pip install unum-runtime`" in reply
    properties = deployment.properties("A")
    assert properties["ImageConfig"] == {
        "Command": ["unum_runtime.handler.handle"],
        "WorkingDirectory": "/src",
    }
    assert properties["Environment"]["Variables"]["UNUM_HANDLER"] == "orders.price"
    assert "Layers" not in properties
    assert deployment.services("A")["Flow"]["definition"].startswith(INLINE)
    assert not [each for each, _ in deployment.statements("Flow/Permissions/A") if each == ["s3:GetObject"]]
    assert complaints(deployment.template) == []


def test_a_container_image_reads_a_large_definition_from_an_object(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM public.ecr.aws/lambda/python:3.13\nRUN pip install unum-runtime\n")
    deployment = Deployment.new()
    code = lambda_.DockerImageCode.from_image_asset(str(tmp_path), cmd=["orders.price"])
    image = lambda_.DockerImageFunction(deployment.stack, "A", code=code)
    deployment.flow(large(), {"A": image, "B": function(deployment.stack, "B")})
    uri = deployment.services("A")["Flow"]["definition"]
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    (arns,) = (arns for actions, arns in deployment.statements("Flow/Permissions/A") if actions == ["s3:GetObject"])
    assert arns[0].endswith(f":s3:::{bucket}/{key}")
    assert deployment.services("B")["Flow"]["definition"] == STORE


def test_a_container_image_in_which_nothing_starts_reads_the_store(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM public.ecr.aws/lambda/python:3.13\nRUN pip install unum-runtime\n")
    versions = []
    for seconds in (5, 6):
        deployment = Deployment.new()
        code = lambda_.DockerImageCode.from_image_asset(str(tmp_path), cmd=["orders.price"])
        image = lambda_.DockerImageFunction(deployment.stack, "B", code=code)
        states = machine(A=task("A", "W"), W={"Type": "Wait", "Seconds": seconds, "Next": "B"}, B=task("B"))
        deployment.flow(states, {"A": function(deployment.stack, "A"), "B": image})
        services = {key: deployment.services(key)["Flow"] for key in "AB"}
        assert (services["B"]["definition"], services["A"]["stores_first"]) == ("store", True)
        assert not [each for each, _ in deployment.statements("Flow/Permissions/B") if each == ["s3:GetObject"]]
        versions.append(deployment.version("B"))
    assert versions[0] == versions[1]


def test_subnets_without_a_vpc() -> None:
    with pytest.raises(ConstructError, match=r"^Stack/Flow: own_functions.vpc: expected the VPC of `vpc_subnets`"):
        Deployment.of(
            chain("A"),
            "A",
            own_functions=OwnFunctions(vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC)),
        )


def test_a_nested_stack() -> None:
    deployment = Deployment(NestedStack(Stack(App(), "Stack"), "Nested"))
    deployment.flow(chain("A", "B"), {key: function(deployment.stack, key) for key in "AB"})
    assert deployment.routes("A") == {"B": deployment.version("B")}
    assert "FlowWorkflow" in deployment.template["Outputs"]
    assert complaints(deployment.template) == []


def test_a_function_around_a_nested_stack() -> None:
    stack = Stack(App(), "Stack")
    with pytest.raises(ConstructError, match="move the workflow to the stack around nested ones"):
        Deployment(NestedStack(stack, "Nested")).flow(chain("A"), {"A": function(stack, "A")})


def test_stages_in_several_environments() -> None:
    app = App()
    deployments = []
    for region in ("eu-west-1", "us-east-1"):
        stage = Stage(app, region, env=Environment(account="123456789012", region=region))
        deployment = Deployment(Stack(stage, "Shop"))
        deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, workflow_name=None, outputs="all")
        deployments.append(deployment)
    names = [each.template["Outputs"]["FlowWorkflow"]["Value"] for each in deployments]
    assert [name.partition("-")[0] for name in names] == ["euwest1Shop", "useast1Shop"]
    assert all(len(each.all("Lambda::LayerVersion")) == 1 for each in deployments)


@jsii.implements(IAspect)
class MoreMemory:
    def visit(self, node: IConstruct) -> None:
        if isinstance(node, lambda_.CfnFunction):
            node.memory_size = 2048


def test_aspects_make_new_versions() -> None:
    def deployed(*, aspect: bool) -> Deployment:
        deployment = Deployment.of(chain("A", "B"), "A", "B")
        if aspect:
            Aspects.of(deployment.stack).add(MoreMemory())
        return deployment

    before, after = deployed(aspect=False), deployed(aspect=True)
    assert {each["Properties"]["MemorySize"] for each in after.all("Lambda::Function").values()} == {2048}
    assert before.template != after.template
    assert before.version("B") != after.version("B")
    assert after.routes("A") == {"B": after.version("B")}


def test_a_permissions_boundary_holds_for_every_role() -> None:
    deployment = Deployment.of(chain("A"), "A")
    boundary = iam.ManagedPolicy.from_managed_policy_name(deployment.stack, "Boundary", "boundary")
    iam.PermissionsBoundary.of(deployment.stack).apply(boundary)
    assert all("PermissionsBoundary" in each["Properties"] for each in deployment.all("IAM::Role").values())


@jsii.implements(IAspect)
class AnotherHandler:
    def visit(self, node: IConstruct) -> None:
        if isinstance(node, lambda_.CfnFunction) and node.node.path == "Stack/A/Resource":
            node.handler = "datadog.handler"


def test_an_aspect_that_takes_the_handler_away() -> None:
    deployment = Deployment.of(chain("A"), "A")
    Aspects.of(deployment.stack).add(AnotherHandler())
    with pytest.raises(
        RuntimeError, match=r"Stack/A: its handler was set to 'datadog.handler' after the function joined"
    ):
        _ = deployment.template


@jsii.implements(IPropertyInjector)
class Traced:
    @property
    def construct_unique_id(self) -> str:
        return lambda_.Function.PROPERTY_INJECTION_ID

    @jsii.member(jsii_name="inject")
    def inject(self, original_props: Any, context: InjectionContext) -> Any:  # noqa: ARG002 - the interface
        return {**original_props, "tracing": lambda_.Tracing.ACTIVE}


def test_injected_properties_reach_every_function() -> None:
    deployment = Deployment(Stack(App(), "Stack", property_injectors=[Traced()]))  # type: ignore[list-item]
    deployment.flow(chain("A"), {"A": function(deployment.stack, "A")})
    modes = [each["Properties"].get("TracingConfig") for each in deployment.all("Lambda::Function").values()]
    assert modes == [{"Mode": "Active"}] * 3


def test_names_that_only_the_deployment_knows() -> None:
    deployment = Deployment.new()
    name = CfnParameter(deployment.stack, "Name").value_as_string
    own = {key: function(deployment.stack, key, function_name=f"{key}-{name}") for key in "AB"}
    deployment.flow(chain("A", "B"), own)
    assert deployment.routes("A") == {"B": deployment.version("B")}
    assert complaints(deployment.template) == []


def test_tags_of_the_workflow_and_of_what_is_around_it() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")})
    Tags.of(flow).add("team", "orders")
    Tags.of(deployment.stack).add("app", "shop")

    def tags(path: str) -> dict[str, str]:
        return {each["Key"]: each["Value"] for each in deployment.properties(path)["Tags"]}

    assert tags("Flow/Table") == tags("Flow/OnFailure/Handler") == {"app": "shop", "team": "orders"}
    assert tags("A") == {"app": "shop"}


def test_what_the_workflow_makes_is_made_as_it_is_told() -> None:
    deployment = Deployment.new()
    key = kms.Key(deployment.stack, "Key")
    deployment.flow(
        machine(P=parallel(chain("A"), then="B"), B=task("B")),
        {each: function(deployment.stack, each) for each in "AB"},
        own_functions=OwnFunctions(
            architecture=lambda_.Architecture.X86_64,
            log_retention=logs.RetentionDays.ONE_WEEK,
            tracing=lambda_.Tracing.ACTIVE,
            environment_encryption=key,
        ),
    )
    for path in ("Flow/Entry", "Flow/OnFailure/Handler"):
        properties = deployment.properties(path)
        assert properties["Architectures"] == ["x86_64"]
        assert properties["TracingConfig"] == {"Mode": "Active"}
        assert flat(properties["KmsKeyArn"]) == f"{deployment.logical_id('Key')}.Arn"
        assert deployment.properties(f"{path}Logs") == {"RetentionInDays": 7}
    assert "KmsKeyArn" not in deployment.properties("A")
    assert (["kms:Decrypt"], [f"{deployment.logical_id('Key')}.Arn"]) in deployment.statements(
        "Flow/OnFailure/Permissions"
    )


def test_how_much_is_logged() -> None:
    deployment = Deployment.of(chain("A"), "A", monitoring=Monitoring(log_level=LogLevel.WARN))
    assert deployment.services("A")["Flow"]["log_level"] == "warn"
    assert deployment.services("Flow/OnFailure/Handler")["Flow"]["log_level"] == "warn"


def test_a_guard_for_all_that_have_none() -> None:
    deployment = Deployment.new()
    own = {
        "A": function(deployment.stack, "A"),
        "B": plain(deployment.stack, "B"),
        "C": function(deployment.stack, "C", guard=Guard.READ),
        "D": function(deployment.stack, "D", checkpoint=False),
        "E": function(deployment.stack, "E"),
    }
    flow = deployment.flow(chain(*own), own, guard=Guard.LEASE)
    assert [each.guard for each in flow._workflow.tasks] == [
        Guard.LEASE,
        Guard.LEASE,
        Guard.READ,
        Guard.COMMIT,
        Guard.LEASE,
    ]


def test_a_time_limit_for_executions() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, timeout=Duration.hours(2))
    assert flow._workflow.timeout_s == 7200


@pytest.mark.parametrize(
    ("timeout", "defined", "reason"),
    [
        (Duration.hours(2), {"TimeoutSeconds": 60}, "the definition already has TimeoutSeconds 60, got 7200 s"),
        (Duration.seconds(0), {}, "expected 1 to 99999999 s, got 0 s"),
    ],
)
def test_a_time_limit_that_cannot_be(timeout: Duration, defined: dict[str, int], reason: str) -> None:
    with pytest.raises(ConstructError, match=f"^Stack/Flow: timeout: {reason}"):
        Deployment.of({**chain("A"), **defined}, "A", timeout=timeout)
