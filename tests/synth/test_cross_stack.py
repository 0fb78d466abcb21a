"""Functions of other stacks: no deployment is refused because another stack has what it changes."""

import json
from typing import Any

import pytest
from aws_cdk import App, Environment, NestedStack, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from tests.synth.deployment import CODE, Deployment, as_list, flat, function
from tests.synth.machines import chain, machine, task
from unum_constructs import Store
from unum_constructs.errors import ConstructError


class Apart:
    """A workflow of the Tasks A to D, with A and C in the stack One, B in Two, and D in its own."""

    def __init__(self, code: dict[str, str] | None = None, **options: Any) -> None:
        self.home = Deployment.new()
        app = App.of(self.home.stack)
        self.stacks = {"One": Stack(app, "One"), "Two": Stack(app, "Two"), "Stack": self.home.stack}
        places = {"A": "One", "B": "Two", "C": "One", "D": "Stack"}
        functions = {
            key: function(self.stacks[place], key, code=lambda_.Code.from_inline((code or {}).get(key, CODE)))
            for key, place in places.items()
        }
        self.flow = self.home.flow(DEFINITION, functions, **options)
        self.deployments = {name: Deployment(stack) for name, stack in self.stacks.items()}

    def template(self, stack: str) -> dict[str, Any]:
        return self.deployments[stack].template


DEFINITION = machine(
    A=task("A", "C"),
    C=task("C", "B"),
    B={**task("B", "D"), "Retry": [{"ErrorEquals": ["Again"]}]},
    D=task("D"),
)


def test_nothing_is_exported_and_nothing_imported() -> None:
    apart = Apart()
    texts = [json.dumps(apart.template(stack)) for stack in apart.stacks]
    assert not any(word in text for text in texts for word in ("Fn::ImportValue", '"Export"'))
    assert "Fn::GetStackOutput" in texts[2]
    assert not any("Fn::GetStackOutput" in text for text in texts[:2]), "which would be a circle"


def test_the_workflow_is_deployed_last() -> None:
    apart = Apart()
    assert {stack.node.id for stack in apart.home.stack.dependencies} == {"One", "Two"}


def test_executions_start_in_the_workflows_stack_which_knows_all_versions() -> None:
    apart = Apart()
    service = routes_of_entry(apart)
    assert service["routes"].keys() == {"A", "B", "D"}
    for stack, key in (("One", "A"), ("Two", "B")):
        name = f"{apart.deployments[stack].version(key)}Arn"
        assert service["routes"][key] == f"{stack}.{name}"
        assert apart.template(stack)["Outputs"][name]["Value"] == {"Ref": apart.deployments[stack].version(key)}
    assert service["carried"] == ["B", "D"]


def test_functions_of_one_other_stack_know_each_other() -> None:
    apart = Apart()
    assert apart.deployments["One"].routes("A") == {"C": apart.deployments["One"].version("C")}
    assert apart.deployments["One"].routes("C") == {}


def test_a_changed_function_changes_what_executions_start_with() -> None:
    before, after = Apart(), Apart({"B": f"{CODE}# changed\n"})
    assert before.template("One") == after.template("One")
    assert before.home.version("Flow/Entry") != after.home.version("Flow/Entry")
    assert before.home.properties("Flow/Start") != after.home.properties("Flow/Start")


def test_names_that_synth_knows_stand_for_references() -> None:
    apart = Apart()
    service = apart.deployments["Two"].services("B")["Flow"]
    (table,) = apart.home.all("DynamoDB::Table").values()
    assert service["table"] == table["Properties"]["TableName"]
    queues = [queue["Properties"].get("QueueName") for queue in apart.home.all("SQS::Queue").values()]
    assert service["timer"].rpartition("/")[2] in queues


def test_failures_come_to_the_workflow_and_what_says_so_is_retained() -> None:
    apart = Apart()
    version = apart.deployments["Two"].version("B")
    (name,) = (name for name in apart.home.all("Lambda::EventInvokeConfig") if name.startswith(version))
    configuration = apart.home.template["Resources"][name]
    assert configuration["DeletionPolicy"] == "Retain"
    assert version in json.dumps(configuration["Properties"]["Qualifier"])
    assert apart.home.version("Flow/OnFailure/Handler") in json.dumps(configuration["Properties"]["DestinationConfig"])


def test_roles_of_other_stacks_get_their_policies_from_the_workflows() -> None:
    apart = Apart()
    (role,) = as_list(apart.home.properties("Flow/Permissions/BElsewhere")["Roles"])
    assert role["Fn::GetStackOutput"]["StackName"] == "Two"
    assert "dynamodb:PutItem" not in json.dumps(apart.template("Two"))


def test_a_key_of_the_workflows_stack_may_be_used() -> None:
    deployment = Deployment.new()
    away = function(Stack(App.of(deployment.stack), "One"), "A")
    deployment.flow(chain("A"), {"A": away}, store=Store.dynamodb(encryption_key=kms.Key(deployment.stack, "Key")))
    policies = [policy["Properties"] for policy in deployment.all("IAM::Policy").values()]
    (own,) = [policy for policy in policies if "GetStackOutput" in json.dumps(policy["Roles"])]
    assert "kms:Decrypt" in json.dumps(own["PolicyDocument"])


def test_a_table_that_other_stacks_cannot_know() -> None:
    with pytest.raises(ConstructError, match="store: expected a table with a name, or one of another stack"):
        with_table()


def test_a_table_with_a_name() -> None:
    assert with_table(table_name="known").services("A")["Flow"]["table"] == "known"


def with_table(**options: Any) -> Deployment:
    """The stack of a function whose workflow has a table of the user's own."""
    deployment = Deployment.new()
    key = {"type": dynamodb.AttributeType.STRING}
    table = dynamodb.Table(
        deployment.stack,
        "Mine",
        partition_key=dynamodb.Attribute(name="pk", **key),
        sort_key=dynamodb.Attribute(name="sk", **key),
        time_to_live_attribute="ttl",
        **options,
    )
    other = Stack(App.of(deployment.stack), "One")
    deployment.flow(chain("A"), {"A": function(other, "A")}, store=Store.dynamodb(table=table))
    return Deployment(other)


def test_a_function_of_another_region() -> None:
    app = App()
    here, there = (Stack(app, region, env=Environment(account="1", region=region)) for region in ("eu-1", "us-1"))
    with pytest.raises(ConstructError, match="expected a function of the workflow's account and region, aws://1/eu-1"):
        Deployment(here).flow(chain("A"), {"A": function(there, "A")})


def nested_in(deployment: Deployment, *keys: str, code: str = CODE) -> Deployment:
    """A nested stack with a function for each of `keys`, which knows a queue of the stack around it."""
    nested = Deployment(NestedStack(deployment.stack, "Nested"))
    queue = sqs.Queue(deployment.stack, "Queue")
    for key in keys:
        made = function(nested.stack, key, code=lambda_.Code.from_inline(code))
        made.add_environment("QUEUE", queue.queue_url)
    return nested


def functions_of(deployment: Deployment, *keys: str) -> dict[str, lambda_.Function]:
    found = {key: deployment.stack.node.find_child(key) for key in keys}
    return {key: each for key, each in found.items() if isinstance(each, lambda_.Function)}


def test_functions_of_a_nested_stack() -> None:
    """They get parameters for what users refer to, and names for what is the workflow's."""
    around = Deployment.new()
    nested = nested_in(around, "A", "B")
    around.flow(chain("A", "B", "C"), {**functions_of(nested, "A", "B"), "C": function(around.stack, "C")})
    (resource,) = around.all("CloudFormation::Stack").values()
    assert len(resource["Properties"]["Parameters"]) == len(nested.template["Parameters"]) == 1
    assert nested.routes("A") == {"B": nested.version("B")}
    entry = around.services("Flow/Entry")["Flow"]
    assert entry["carried"] == ["C"]
    output = f"{nested.version('A')}Arn"
    assert entry["routes"]["A"].endswith(f".Outputs.{output}")
    assert nested.template["Outputs"][output]["Value"] == {"Ref": nested.version("A")}
    assert nested.version("A") in nested.all("Lambda::Version")
    texts = [json.dumps(each.template) for each in (around, nested)]
    assert not any(word in text for text in texts for word in ("Fn::ImportValue", '"Export"', "Fn::GetStackOutput"))


def test_changed_function_of_a_nested_stack_changes_versions_of_executions() -> None:
    entries = []
    for code in (CODE, f"{CODE}# changed\n"):
        around = Deployment.new()
        nested = nested_in(around, "A", code=code)
        around.flow(chain("A"), functions_of(nested, "A"))
        entries.append(around.version("Flow/Entry"))
    assert entries[0] != entries[1]


def test_a_function_of_a_stack_nested_more_deeply() -> None:
    deployment = Deployment.new()
    nested = function(NestedStack(NestedStack(deployment.stack, "Outer"), "Inner"), "A")
    with pytest.raises(ConstructError, match="a stack nested directly in it, got one of 'Stack/Outer/Inner'"):
        deployment.flow(chain("A"), {"A": nested})


def routes_of_entry(apart: Apart) -> dict[str, Any]:
    """Return routes in the entry's environment, with ``stack.output`` for outputs of other stacks."""
    _, parts = apart.home.properties("Flow/Entry")["Environment"]["Variables"]["UNUM_WORKFLOWS"]["Fn::Join"]
    services: dict[str, Any] = json.loads("".join(map(_shown, parts)))
    return dict(services["Flow"])


def _shown(part: Any) -> str:
    if isinstance(part, dict) and "Fn::GetStackOutput" in part:
        output = part["Fn::GetStackOutput"]
        return f"{output['StackName']}.{output['OutputName']}"
    return flat(part)
