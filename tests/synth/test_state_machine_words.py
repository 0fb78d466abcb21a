"""Arguments of `StateMachine` in the installed CDK: the guide names each, and each works."""

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Duration, RemovalPolicy, Resource, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks
from aws_cdk.assertions import Template

from tests.synth.deployment import Deployment, function
from unum_constructs import Definition, OwnFunctions, Store, UnumWorkflow
from unum_constructs.errors import ConstructError
from unum_runtime.errors import DefinitionError

GUIDE = Path(__file__).parents[2] / "docs" / "howto" / "migrate.md"
ARGUMENTS = [
    each for each in inspect.signature(sfn.StateMachine.__init__).parameters if each not in ("self", "scope", "id")
]
METHODS = sorted(
    each for each in {*dir(sfn.StateMachine)} - {*dir(Resource)} if not each.startswith("_") and each.islower()
)


def named() -> list[str]:
    """The words in the first column of the table; a star stands for any rest."""
    rows = re.findall(r"^\| (`.*?) \|", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    return [word for row in rows for word in re.findall(r"`(\w+\*?)", row)]


@pytest.mark.parametrize("word", [*ARGUMENTS, *METHODS])
def test_the_guide_names_it(word: str) -> None:
    assert any(word == each or (each.endswith("*") and word.startswith(each[:-1])) for each in named()), word


def chain_of(deployment: Deployment) -> sfn.IChainable:
    return tasks.LambdaInvoke(deployment.stack, "Only", lambda_function=function(deployment.stack, "A"))


def made(**words: Any) -> UnumWorkflow:
    """Return a workflow of a chain with the arguments of a state machine."""
    deployment = Deployment.new()
    return UnumWorkflow(deployment.stack, "Flow", definition=chain_of(deployment), **words)


def properties(flow: UnumWorkflow, kind: str = "Lambda::Function") -> list[Any]:
    resources = Template.from_stack(Stack.of(flow)).find_resources(f"AWS::{kind}")
    return [each.get("Properties", {}) for each in resources.values()]


EXAMPLES: dict[str, Any] = {
    "comment": "orders",
    "encryption_configuration": sfn.AwsOwnedEncryptionConfiguration(),
    "logs": sfn.LogOptions(level=sfn.LogLevel.ALL),
    "query_language": sfn.QueryLanguage.JSON_PATH,
    "removal_policy": RemovalPolicy.RETAIN,
    "state_machine_name": "orders",
    "state_machine_type": sfn.StateMachineType.STANDARD,
    "timeout": Duration.minutes(5),
    "tracing_enabled": True,
}
"""A value for each argument of `StateMachine` besides those that give the definition, and besides `role`."""


@pytest.mark.parametrize("word", [each for each in ARGUMENTS if not each.startswith("definition") and each != "role"])
def test_argument_works_and_none_means_not_given(word: str) -> None:
    assert made(**{word: EXAMPLES[word]}).workflow_name
    assert made(**{word: None}).workflow_name


def test_logs_give_level_and_group_of_own_functions() -> None:
    deployment = Deployment.new()
    group = logs.LogGroup(deployment.stack, "Machine")
    options = sfn.LogOptions(destination=group, level=sfn.LogLevel.ERROR, include_execution_data=True)
    UnumWorkflow(deployment.stack, "Flow", definition=chain_of(deployment), workflow_name="Flow", logs=options)
    functions = deployment.all("Lambda::Function").values()
    own = {
        json.dumps(each["Properties"]["LoggingConfig"])
        for each in functions
        if "Description" in each["Properties"] and "LoggingConfig" in each["Properties"]
    }
    assert own == {json.dumps({"LogGroup": {"Ref": deployment.logical_id("Machine")}})}
    assert any("inputs and results" in each.text for each in deployment.notices())
    assert deployment.services("Flow/OnFailure/Handler")["Flow"]["log_level"] == "warn"


def test_removal_policy_is_that_of_the_table() -> None:
    flow = made(removal_policy=RemovalPolicy.RETAIN)
    (table,) = Template.from_stack(Stack.of(flow)).find_resources("AWS::DynamoDB::Table").values()
    assert table["DeletionPolicy"] == "Retain"


def test_key_of_the_encryption_is_that_of_the_workflow() -> None:
    deployment = Deployment.new()
    key = kms.Key(deployment.stack, "Key")
    given = sfn.CustomerManagedEncryptionConfiguration(key)
    flow = UnumWorkflow(deployment.stack, "Flow", definition=chain_of(deployment), encryption_configuration=given)
    (table,) = properties(flow, "DynamoDB::Table")
    assert table["SSESpecification"]["SSEEnabled"] is True


def publishing(deployment: Deployment, **words: Any) -> UnumWorkflow:
    """Return a workflow with a Task that calls a service."""
    topic = sns.Topic(deployment.stack, "Topic")
    task = tasks.SnsPublish(deployment.stack, "Publish", topic=topic, message=sfn.TaskInput.from_text("x"))
    return UnumWorkflow(deployment.stack, "Flow", definition=task, **words)


def test_role_is_that_of_the_function_that_calls_services() -> None:
    deployment = Deployment.new()
    role = iam.Role(deployment.stack, "Role", assumed_by=iam.ServicePrincipal("states.amazonaws.com"))
    flow = publishing(deployment, role=role)
    assert flow.role is role
    (services,) = [each for each in properties(flow) if "Calls services" in each.get("Description", "")]
    assert services["Role"]["Fn::GetAtt"][0] == deployment.logical_id("Role")
    trust = deployment.resource("Role")["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert [each["Principal"]["Service"] for each in trust] == ["states.amazonaws.com", "lambda.amazonaws.com"]


def test_role_that_nothing_uses_is_said_at_synth() -> None:
    deployment = Deployment.new()
    role = iam.Role(deployment.stack, "Role", assumed_by=iam.ServicePrincipal("states.amazonaws.com"))
    flow = UnumWorkflow(deployment.stack, "Flow", definition=chain_of(deployment), role=role)
    assert flow.role is role
    assert any("nothing uses this role" in each.text for each in deployment.notices())


def test_role_of_another_app_is_refused() -> None:
    deployment = Deployment.new()
    role = iam.Role.from_role_arn(deployment.stack, "Role", "arn:aws:iam::111122223333:role/machine")
    with pytest.raises(ConstructError, match=r"role: expected an aws_iam\.Role of this app"):
        publishing(deployment, role=role)


def test_express_is_said_to_change_nothing() -> None:
    deployment = Deployment.new()
    express = sfn.StateMachineType.EXPRESS
    flow = UnumWorkflow(deployment.stack, "Flow", definition=chain_of(deployment), state_machine_type=express)
    assert flow.state_machine_type is sfn.StateMachineType.EXPRESS
    assert any("EXPRESS changes nothing" in each.text for each in deployment.notices())


def test_the_name_is_that_of_the_workflow() -> None:
    assert made(state_machine_name="orders").workflow_name == "orders"


@pytest.mark.parametrize(("given", "expected"), [(True, {"Mode": "Active"}), (False, None), (None, None)])
def test_tracing_is_that_of_the_functions_that_the_workflow_makes(given: Any, expected: Any) -> None:
    found = [each.get("TracingConfig") for each in properties(made(tracing_enabled=given)) if "Description" in each]
    assert found == [expected] * len(found)
    assert found


def test_comment_and_query_language_become_part_of_a_chain() -> None:
    plain, written = made(), made(comment="orders", query_language=sfn.QueryLanguage.JSON_PATH)
    assert plain._workflow.digest == written._workflow.digest, "neither changes an execution"
    deployment = Deployment.new()
    state = sfn.Pass(deployment.stack, "P", outputs="{% 1 + 1 %}", query_language=sfn.QueryLanguage.JSONATA)
    flow = UnumWorkflow(deployment.stack, "Flow", definition=state, query_language=sfn.QueryLanguage.JSONATA)
    assert [each.language for each in flow._workflow.states.values()] == ["JSONata"]


@pytest.mark.parametrize("word", ["comment", "query_language"])
def test_elsewhere_they_are_refused(word: str) -> None:
    text = json.dumps({"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}})
    for given in (Definition.from_asl(json.loads(text)), sfn.DefinitionBody.from_string(text)):
        with pytest.raises(ConstructError, match=rf"{word}: expected a chain as the definition"):
            UnumWorkflow(Deployment.new().stack, "Flow", definition=given, **{word: EXAMPLES[word]})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            {"state_machine_name": "a", "workflow_name": "b"},
            "workflow_name, state_machine_name: expected one of the two",
        ),
        (
            {"tracing_enabled": True, "own_functions": OwnFunctions(tracing=lambda_.Tracing.ACTIVE)},
            "tracing, tracing_enabled: expected one",
        ),
        ({"tracing_enabled": "yes"}, "tracing_enabled: expected a bool, got 'yes'"),
        ({"state_machine_type": "FAST"}, "state_machine_type: expected STANDARD or EXPRESS, got FAST"),
        ({"removal_policy": RemovalPolicy.RETAIN, "store": Store.dynamodb()}, "store, removal_policy: expected one"),
        ({"encryption_configuration": "key"}, "encryption_configuration: expected an EncryptionConfiguration, got"),
        ({"comment": 3}, "comment: expected a str, got 3"),
        ({"query_language": "JSONata"}, "query_language: expected an aws_cdk.aws_stepfunctions.QueryLanguage, got 'JS"),
        ({"state_machine_name": "a b"}, "workflow_name: expected 1 to 80"),
    ],
)
def test_contradictions_and_wrong_values_are_refused(words: dict[str, Any], message: str) -> None:
    with pytest.raises(ConstructError, match=message):
        made(**words)


def test_a_text_that_only_the_deployment_knows_is_refused() -> None:
    stack = Deployment.new().stack
    body = sfn.DefinitionBody.from_string(stack.to_json_string({"StartAt": "A", "States": {}}))
    with pytest.raises(DefinitionError, match=r"definition_body: expected JSON text, got a CDK token.*json\.dumps"):
        UnumWorkflow(stack, "Flow", definition_body=body)


def test_states_of_a_state_machine_belong_to_it() -> None:
    stack = Deployment.new().stack
    state = sfn.Pass(stack, "A")
    with pytest.raises(ConstructError, match=r"Stack/Flow: definition: expected one of Definition\.from_"):
        UnumWorkflow(stack, "Flow", definition=sfn.StateGraph(state, "own"))  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match=r"state 'A' in UnumWorkflow definition .* already in own"):
        UnumWorkflow(stack, "Other", definition=state)


def test_any_other_argument_is_an_error_of_python() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'state_machine'"):
        made(state_machine="x")
