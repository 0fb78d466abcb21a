"""Service function: its configuration, and exactly the definition's calls as rights."""

from typing import Any

import pytest
from aws_cdk import Annotations
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks

from tests.synth.deployment import RUNTIME_LAYER, Deployment, as_list, flat, function
from tests.synth.linting import complaints
from tests.synth.machines import Machine, a_map, chain, machine, task
from unum_constructs import Definition, UnumWorkflow

POLICY = "Flow/Permissions/$services"


def service(resource: str, parameters: Machine, then: str | None = None) -> Machine:
    return {**task(f"arn:aws:states:::{resource}", then), "Parameters": parameters}


def put(table: str, then: str | None = None) -> Machine:
    return service("dynamodb:putItem", {"TableName": table, "Item": {"id": {"S.$": "$.id"}}}, then)


@pytest.fixture(scope="module")
def storing() -> Deployment:
    definition = machine(
        A=task("A", "Put"),
        Put=put("orders", "Again"),
        Again=put("orders", "Other"),
        Other=put("archive", "Send"),
        Send=service("sqs:sendMessage", {"QueueUrl.$": "$.url", "MessageBody": "x"}),
    )
    return Deployment.of(definition, "A")


def calls(deployment: Deployment) -> list[tuple[list[str], list[str]]]:
    """Return the function's rights beside those of all functions."""
    own = [deployment.logical_id(f"Flow/{each}") for each in ("Table", "OnFailure/Handler", "Services")]
    return [each for each in deployment.statements(POLICY) if not any(name in str(each) for name in own)]


def test_nothing_without_need() -> None:
    deployment = Deployment.of(chain("A"), "A")
    assert len(deployment.all("Lambda::Function")) == 1 + 2


def test_function(storing: Deployment) -> None:
    properties = storing.properties("Flow/Services")
    assert properties["Handler"] == "unum_runtime.handler.handle"
    assert properties["Timeout"] == 900
    assert properties["Layers"] == [{"Ref": storing.logical_id(RUNTIME_LAYER)}]
    assert "UNUM_HANDLER" not in properties["Environment"]["Variables"]
    assert storing.services("Flow/Services")["Flow"]["hosts"] == ["$services"]


def test_it_is_a_function_like_all_others(storing: Deployment) -> None:
    assert storing.routes("A") == {"$services": storing.version("Flow/Services")}
    assert storing.resource("Flow/Services/CurrentVersion")["DeletionPolicy"] == "Retain"
    failures = storing.properties("Flow/Services/CurrentVersion/EventInvokeConfig")["DestinationConfig"]["OnFailure"]
    assert flat(failures["Destination"]) == storing.version("Flow/OnFailure/Handler")
    invoked = storing.statements("Flow/Permissions/A")[0]
    others = (storing.logical_id(path) for path in ("Flow/OnFailure/Handler", "Flow/Services"))
    assert invoked == (["lambda:InvokeFunction"], [f"{other}.Arn:*" for other in others])


def test_it_may_do_what_the_definition_does(storing: Deployment) -> None:
    tables = "arn:AWS::Partition:dynamodb:AWS::Region:AWS::AccountId:table"
    assert calls(storing) == [
        (["dynamodb:PutItem"], [f"{tables}/archive", f"{tables}/orders"]),
        (["sqs:SendMessage"], ["*"]),  # the URL is known when it runs
    ]


def test_it_can_be_the_first(storing: Deployment) -> None:
    deployment = Deployment.of(machine(Put=put("orders", "A"), A=task("A")), "A")
    assert "Flow/Entry" not in str(deployment.template)
    assert deployment.services("Flow/Services")["Flow"]["start_alias"] == "start-Flow"
    assert deployment.properties("Flow/Start")["Name"] == "start-Flow"
    assert len(storing.all("Lambda::Function")) == len(deployment.all("Lambda::Function"))


def test_a_workflow_of_services_alone() -> None:
    deployment = Deployment.new()
    UnumWorkflow(
        deployment.stack, "Flow", definition=Definition.from_asl(machine(Put=put("orders"))), workflow_name="Flow"
    )
    assert len(deployment.all("Lambda::Function")) == 1 + 2


def with_tokens(deployment: Deployment, **parameters: Any) -> None:
    resource = parameters.pop("resource")
    deployment.flow(machine(S=service(resource, parameters)), {})


def test_tokens_of_the_definition_are_in_environment_and_permissions() -> None:
    deployment = Deployment.new()
    key = dynamodb.Attribute(name="id", type=dynamodb.AttributeType.STRING)
    table = dynamodb.Table(deployment.stack, "Orders", partition_key=key)
    deployment.flow(machine(Put=put(table.table_name)), {})
    orders = deployment.logical_id("Orders")
    assert deployment.services("Flow/Services")["Flow"]["values"] == {"Value1": orders}
    assert calls(deployment) == [
        (["dynamodb:PutItem"], [f"arn:AWS::Partition:dynamodb:AWS::Region:AWS::AccountId:table/{orders}"])
    ]


def test_permission_for_a_queue_that_only_the_deployment_knows() -> None:
    deployment = Deployment.new()
    queue = sqs.Queue(deployment.stack, "Letters")
    with_tokens(deployment, resource="sqs:sendMessage", QueueUrl=queue.queue_url, MessageBody="x")
    statements = deployment.properties(POLICY)["PolicyDocument"]["Statement"]
    (statement,) = (each for each in statements if each["Action"] == "sqs:SendMessage")
    split = {"Fn::Split": ["/", {"Ref": deployment.logical_id("Letters")}]}
    parts = ["arn:", {"Ref": "AWS::Partition"}, ":sqs:", {"Ref": "AWS::Region"}, ":"]
    assert statement["Resource"]["Fn::Join"][1] == [
        *parts,
        {"Fn::Select": [3, split]},
        ":",
        {"Fn::Select": [4, split]},
    ]


def test_permissions_for_a_job() -> None:
    deployment = Deployment.new()
    child = sfn.StateMachine(
        deployment.stack, "Child", definition_body=sfn.DefinitionBody.from_chainable(sfn.Pass(deployment.stack, "P"))
    )
    with_tokens(deployment, resource="states:startExecution.sync", StateMachineArn=child.state_machine_arn)
    statements = deployment.properties(POLICY)["PolicyDocument"]["Statement"]
    name = {"Fn::Select": [6, {"Fn::Split": [":", {"Ref": deployment.logical_id("Child")}]}]}
    started = next(each for each in statements if each["Action"] == "states:StartExecution")
    assert started["Resource"]["Fn::Join"][1][-2:] == [":stateMachine:", name]
    looked = next(each for each in statements if "states:DescribeExecution" in each["Action"])
    assert looked["Resource"]["Fn::Join"][1][-3:] == [":execution:", name, ":*"]


def test_jobs_are_looked_at_later() -> None:
    parameters = {"JobDefinition": "d", "JobName": "n", "JobQueue": "q"}
    deployment = Deployment.of(machine(A=task("A", "Job"), Job=service("batch:submitJob.sync", parameters)), "A")
    assert deployment.services("Flow/Services")["Flow"]["timer"] == deployment.logical_id("Flow/Timer/Queue")
    assert deployment.properties("Flow/Services")["RecursiveLoop"] == "Allow"


def test_values_in_functions(storing: Deployment) -> None:
    assert "values" not in storing.services("A")["Flow"]
    deployment = Deployment.new()
    own, queue = function(deployment.stack, "A"), sqs.Queue(deployment.stack, "Letters")
    deployment.flow(machine(A={**task("A"), "Parameters": {"queue": queue.queue_url}}), {"A": own})
    assert deployment.services("A")["Flow"]["values"] == {"Value1": deployment.logical_id("Letters")}


def test_a_chain_of_the_cdk_brings_functions_and_permissions_along() -> None:
    deployment = Deployment.new()
    own = function(deployment.stack, "A")
    queue = sqs.Queue(deployment.stack, "Letters", encryption=sqs.QueueEncryption.KMS)
    message = sfn.TaskInput.from_json_path_at("$")
    chained = tasks.LambdaInvoke(deployment.stack, "Ask", lambda_function=own).next(
        tasks.SqsSendMessage(deployment.stack, "Send", queue=queue, message_body=message)
    )
    definition = Definition.from_chainable(chained)
    flow = UnumWorkflow(deployment.stack, "Flow", definition=definition, workflow_name="Flow")
    assert deployment.services("A")["Flow"]["timer"]  # the CDK gives LambdaInvoke a Retry
    assert flow.timer is not None
    statements = deployment.properties(POLICY)["PolicyDocument"]["Statement"]
    sent = [each for each in statements if each["Action"] == "sqs:SendMessage"]
    letters = deployment.logical_id("Letters")
    assert [letters in str(each["Resource"]) for each in sent].count(True) >= 1
    actions = {action for each in statements for action in as_list(each["Action"])}
    assert "kms:GenerateDataKey*" in actions
    assert not any(each["Resource"] == "*" for each in statements)


def test_data_sets_in_s3() -> None:
    deployment = Deployment.new()
    bucket = s3.Bucket(deployment.stack, "Shelf")
    reader = {
        "Resource": "arn:aws:states:::s3:getObject",
        "ReaderConfig": {"InputType": "JSON"},
        "Parameters": {"Bucket": bucket.bucket_name, "Key": "items.json"},
    }
    branch = {**chain("A"), "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}
    deployment.flow(machine(M=a_map(branch, ItemReader=reader)), {"A": function(deployment.stack, "A")})
    items = f"arn:AWS::Partition:s3:::{deployment.logical_id('Shelf')}/items.json"
    assert (["s3:GetObject"], [items]) in calls(deployment)


def test_cfn_lint(storing: Deployment) -> None:
    assert complaints(storing.template) == []


def test_what_is_allowed_more_widely_is_told(storing: Deployment) -> None:
    (warning,) = storing.warnings()
    assert warning.path == "Stack/Flow"
    assert "Task 'Send' needs permission for sqs:SendMessage on *: its target is known only at run time" in warning.text
    assert "[ack: unum:widePermission[Send]]" in warning.text


def test_a_wide_permission_can_be_acknowledged() -> None:
    deployment = Deployment.new()
    send = service("sqs:sendMessage", {"QueueUrl.$": "$.url", "MessageBody": "x"})
    flow = deployment.flow(machine(Send=send), {})
    Annotations.of(flow).acknowledge_warning("unum:widePermission[Send]", "urls of our own queues alone")
    assert deployment.warnings() == []
