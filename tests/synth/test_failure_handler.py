"""Failure handler of events that Lambda gave up: its configuration, rights and sources."""

import json
from collections import deque
from typing import Any

import pytest
from aws_cdk import aws_kms as kms

from tests.synth.deployment import Deployment, flat, function
from tests.synth.linting import complaints
from tests.synth.machines import a_map, chain, choice, machine, task
from unum_constructs import ConstructError
from unum_runtime.functions.configuration import ENTRY

HANDLER = "Flow/OnFailure/Handler"
VERSION = f"{HANDLER}/CurrentVersion"
PERMISSIONS = "Flow/OnFailure/Permissions"
STAND_IN = ["lambda:GetFunctionConfiguration", "lambda:GetFunctionEventInvokeConfig", "lambda:InvokeFunction"]
INVOKE = ["lambda:InvokeFunction"]
SEND = ["sqs:SendMessage"]
ATTEMPT = {"Retry": [{"ErrorEquals": ["Lambda.Unknown"]}]}


@pytest.fixture(scope="module")
def loop() -> Deployment:
    """A loop with a map and a Retry: functions refer to each other, forwards and backwards."""
    return Deployment.of(
        machine(
            A={**task("A", "M"), **ATTEMPT},
            M=a_map(chain("B"), then="C"),
            C=task("C", "Again"),
            Again=choice("End", more="A"),
            End={"Type": "Succeed"},
        ),
        *"ABC",
    )


def arns(deployment: Deployment, *paths: str, suffix: str = "") -> list[str]:
    return sorted(f"{deployment.logical_id(path)}.Arn{suffix}" for path in paths)


def destination(deployment: Deployment, path: str) -> str:
    return flat(deployment.properties(f"{path}/EventInvokeConfig")["DestinationConfig"]["OnFailure"]["Destination"])


def test_it_has_neither_definition_nor_address(loop: Deployment) -> None:
    properties = loop.properties(HANDLER)
    assert properties["Handler"] == "unum_runtime.failure_handler.handle"
    assert "Layers" not in properties
    assert properties["RecursiveLoop"] == "Allow"
    service = loop.services(HANDLER)["Flow"]
    assert service.pop("definition") == ENTRY
    assert {"Flow": service} == {
        "Flow": {
            "table": loop.logical_id("Flow/Table"),
            "hosts": [],
            "routes": {},
            "retention_s": 7 * 24 * 3600,
            "stores_first": True,
            "timer": loop.logical_id("Flow/Timer/Queue"),
        }
    }
    assert "UNUM_OTHERS" not in properties["Environment"]["Variables"]


def test_it_is_the_destination_of_everything_as_a_version(loop: Deployment) -> None:
    for path in ("A/CurrentVersion", "B/CurrentVersion", "C/CurrentVersion"):
        assert destination(loop, path) == loop.version(HANDLER)


def test_only_the_starting_function_may_invoke_the_alias_of_failed_starts(loop: Deployment) -> None:
    assert destination(loop, "Flow/Start") == loop.logical_id("Flow/StartIntake")
    assert loop.properties("Flow/StartIntake")["Name"] == "start-intake-Flow"
    (handler,) = arns(loop, HANDLER)
    denied = {key: [arn for _, arns in loop.denials(f"Flow/Permissions/{key}") for arn in arns] for key in "ABC"}
    assert {key for key in denied if f"{handler}:*-*" not in denied[key]} == {"A"}


def test_what_it_cannot_do_is_kept(loop: Deployment) -> None:
    (queue,) = arns(loop, "Flow/Failures")
    assert destination(loop, VERSION) == queue
    configuration = loop.resource(f"{VERSION}/EventInvokeConfig")
    assert loop.logical_id(PERMISSIONS) in configuration["DependsOn"]


def test_failed_starts_that_it_cannot_do_are_kept(loop: Deployment) -> None:
    (queue,) = arns(loop, "Flow/Failures")
    assert destination(loop, "Flow/StartIntake") == queue
    configuration = loop.resource("Flow/StartIntake/EventInvokeConfig")
    assert {loop.logical_id("Flow/StartIntake"), loop.logical_id(PERMISSIONS)} <= {*configuration["DependsOn"]}


def test_it_is_retained_as_long_as_the_versions_that_lead_to_it(loop: Deployment) -> None:
    for path in (VERSION, f"{VERSION}/EventInvokeConfig"):
        resource = loop.resource(path)
        assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")
    assert loop.logical_id(f"{VERSION}/EventInvokeConfig") == f"{loop.version(HANDLER)}OnFailure"


def test_its_version_stays_when_the_definition_or_another_function_changes() -> None:
    def deployed(result: int, memory_size: int = 256) -> Deployment:
        deployment = Deployment.new()
        end = {"Type": "Pass", "Result": result, "End": True}
        own = function(deployment.stack, "A", memory_size=memory_size)
        deployment.flow(machine(A=task("A", "P"), P=end), {"A": own})
        return deployment

    first = deployed(1).version(HANDLER)
    assert first == deployed(1).version(HANDLER)
    assert first == deployed(1, memory_size=512).version(HANDLER), "it refers to no version"
    assert first == deployed(2).version(HANDLER), "it reads the definition elsewhere"


def test_it_may_do_this_and_nothing_else(loop: Deployment) -> None:
    store = ["BatchGetItem", "GetItem", "PutItem", "Query", "UpdateItem"]
    (control,) = arns(loop, "Flow/ControlFunction/Function")
    assert loop.statements(PERMISSIONS) == [
        (STAND_IN, arns(loop, *"ABC", suffix=":*")),
        ([f"dynamodb:{action}" for action in store], arns(loop, "Flow/Table")),
        (SEND, arns(loop, "Flow/Timer/Queue")),
        ([f"dynamodb:{action}" for action in store[:-1]], arns(loop, "Flow/Table")),  # definitions
        (SEND, arns(loop, "Flow/Failures")),
        (INVOKE, arns(loop, HANDLER, suffix=":*")),
        (["lambda:GetAlias"], arns(loop, HANDLER)),
        (INVOKE, [f"{control}:nudge-Flow"]),
    ]
    (logs,) = arns(loop, f"{HANDLER}Logs")
    assert loop.logs(f"{HANDLER}Role") == [logs]


def test_it_does_in_the_table_what_functions_of_any_definition_do() -> None:
    deployment = Deployment.of(chain("A", "B"), *"AB")
    store, definitions = (each for each, _ in deployment.statements(PERMISSIONS) if each[0].startswith("dynamodb"))
    assert definitions == ["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"]
    assert store == sorted([*definitions, "dynamodb:UpdateItem"])


def test_it_takes_the_place_of_functions_that_the_workflow_brings_along() -> None:
    send = {**task("arn:aws:states:::sqs:sendMessage", "A"), "Parameters": {"QueueUrl.$": "$.q", "MessageBody": "x"}}
    deployment = Deployment.of(machine(P={"Type": "Pass", "Next": "S"}, S=send, A=task("A")), "A")
    own = arns(deployment, "A", "Flow/Services", "Flow/Entry", suffix=":*")
    assert deployment.statements(PERMISSIONS)[0] == (STAND_IN, own)


def test_it_may_read_an_environment_encrypted_with_the_users_key() -> None:
    deployment = Deployment.new()
    key = kms.Key(deployment.stack, "Key")
    functions = {"A": function(deployment.stack, "A", environment_encryption=key), "B": function(deployment.stack, "B")}
    deployment.flow(chain("A", "B"), functions)
    assert (["kms:Decrypt"], arns(deployment, "Key")) in deployment.statements(PERMISSIONS)


def test_the_alarm_goes_off_when_something_is_left(loop: Deployment) -> None:
    alarm = loop.only("CloudWatch::Alarm")
    assert (alarm["Namespace"], alarm["MetricName"]) == ("AWS/SQS", "ApproximateNumberOfMessagesVisible")
    assert alarm["Dimensions"] == [
        {"Name": "QueueName", "Value": {"Fn::GetAtt": [loop.logical_id("Flow/Failures"), "QueueName"]}}
    ]
    assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (1, "GreaterThanOrEqualToThreshold")
    assert alarm["TreatMissingData"] == "notBreaching"
    assert "AlarmActions" not in alarm


def test_no_execution_starts_before_it_is_there(loop: Deployment) -> None:
    needed = set(loop.resource("Flow/Start")["DependsOn"])
    assert {loop.logical_id(PERMISSIONS), f"{loop.version(HANDLER)}OnFailure"} <= needed


def test_workflows_that_share_a_function_hand_on_what_is_not_theirs() -> None:
    deployment = Deployment.new()
    shared, own = function(deployment.stack, "Shared"), function(deployment.stack, "Own")
    deployment.flow(chain("S"), {"S": shared}, "One")
    deployment.flow(chain("O", "S"), {"O": own, "S": shared}, "Two")
    assert destination(deployment, "Shared/CurrentVersion") == deployment.version("One/OnFailure/Handler")
    assert destination(deployment, "Own/CurrentVersion") == deployment.version("Two/OnFailure/Handler")
    variables: dict[str, Any] = deployment.properties("One/OnFailure/Handler")["Environment"]["Variables"]
    assert json.loads(flat(variables["UNUM_OTHERS"])) == {"One": {"Two": deployment.version("Two/OnFailure/Handler")}}
    handler = arns(deployment, "Two/OnFailure/Handler", suffix=":*")
    assert deployment.statements("One/OnFailure/Two") == [(INVOKE, handler)]
    (arn,) = arns(deployment, "Two/OnFailure/Handler")
    assert deployment.denials("One/OnFailure/Two") == [
        (INVOKE, [f"{arn}:{qualifier}" for qualifier in ("$LATEST", "*-*")])
    ]
    assert "UNUM_OTHERS" not in deployment.properties("Two/OnFailure/Handler")["Environment"]["Variables"]


def test_cfn_lint(loop: Deployment) -> None:
    assert complaints(loop.template) == []
    assert loop.warnings() == []


def test_more_workflows_than_an_environment_names() -> None:
    deployment = Deployment.new()
    first, other = (
        deployment.flow(chain(name), {name: function(deployment.stack, name)}, f"{name}Flow").failure_handler
        for name in "AB"
    )
    numbers = iter(range(40))
    with pytest.raises(
        ConstructError, match=r"^Stack/AFlow/OnFailure: expected an environment .*, got \d+ for 2\d work"
    ):
        deque((first.forward_failures(f"Workflow{number}", other) for number in numbers), maxlen=0)
    assert next(numbers) > 20
