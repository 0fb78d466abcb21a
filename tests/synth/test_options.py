"""Options of a workflow, and what is said when they cannot be."""

from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_

from tests.synth.deployment import Deployment, function
from tests.synth.machines import chain, machine, parallel, task
from unum_constructs import Collection, Compatibility, ConstructError, FunctionOptions, Guard, Store, UnumWorkflow
from unum_runtime.errors import DefinitionError
from unum_runtime.model.ir import Workflow
from unum_runtime.store.memory import MemoryStore


def store(**options: Any) -> Store:
    """A store with options of any type."""
    return Store.dynamodb(**options)


def own_table(deployment: Deployment, **options: Any) -> dynamodb.Table:
    text = dynamodb.AttributeType.STRING
    defaults = {
        "partition_key": dynamodb.Attribute(name="pk", type=text),
        "sort_key": dynamodb.Attribute(name="sk", type=text),
        "time_to_live_attribute": "ttl",
    }
    return dynamodb.Table(deployment.stack, "Own", **{**defaults, **options})


def test_limits_of_events() -> None:
    deployment = Deployment.of(chain("A"), "A", max_event_age=Duration.hours(1), retry_attempts=0)
    for path in ("A/CurrentVersion/EventInvokeConfig", "Flow/Start/EventInvokeConfig"):
        properties = deployment.properties(path)
        assert (properties["MaximumEventAgeInSeconds"], properties["MaximumRetryAttempts"]) == (3600, 0)


def test_results_may_be_kept_for_longer_than_the_rest() -> None:
    options = {"retention": Duration.days(30), "history_retention": Duration.days(1)}
    deployment = Deployment.of(chain("A"), "A", **options)
    service = deployment.services("A")["Flow"]
    assert (service["retention_s"], service["result_retention_s"]) == (24 * 3600, 30 * 24 * 3600)
    outputs = deployment.template["Outputs"]
    assert outputs["FlowRetention"]["Value"] == str(30 * 24 * 3600), "clients write start records"


def test_retention() -> None:
    deployment = Deployment.of(chain("A"), "A", retention=Duration.days(1))
    assert deployment.services("A")["Flow"]["retention_s"] == 24 * 3600


def test_removal_policy() -> None:
    kept = Deployment.of(chain("A"), "A", store=Store.dynamodb(removal_policy=RemovalPolicy.RETAIN))
    assert kept.resource("Flow/Table")["DeletionPolicy"] == "Retain"


def test_own_table() -> None:
    deployment = Deployment.new()
    table = own_table(deployment)
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, store=Store.dynamodb(table=table))
    assert flow.table is table
    assert deployment.services("A")["Flow"]["table"] == deployment.logical_id("Own")
    assert len(deployment.all("DynamoDB::Table")) == 1


def test_imported_table() -> None:
    deployment = Deployment.new()
    table = dynamodb.Table.from_table_name(deployment.stack, "Imported", "elsewhere")
    deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, store=Store.dynamodb(table=table))
    assert deployment.services("A")["Flow"]["table"] == "elsewhere"


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"sort_key": None}, "'sort key': 'none'"),
        ({"time_to_live_attribute": "expires"}, "'time to live': 'expires'"),
        (
            {"partition_key": dynamodb.Attribute(name="pk", type=dynamodb.AttributeType.NUMBER)},
            "'partition key': 'pk (N)'",
        ),
    ],
)
def test_table_that_cannot_be_used(options: dict[str, Any], found: str) -> None:
    deployment = Deployment.new()
    functions = {"A": function(deployment.stack, "A")}
    with pytest.raises(ConstructError, match=r"Stack/Flow: store: table Stack/Own: expected") as caught:
        deployment.flow(chain("A"), functions, store=Store.dynamodb(table=own_table(deployment, **options)))
    assert found in str(caught.value)


def test_architecture_of_the_entry() -> None:
    deployment = Deployment.of(
        machine(P=parallel(chain("A"), then="B"), B=task("B")), *"AB", architecture=lambda_.Architecture.X86_64
    )
    assert deployment.properties("Flow/Entry")["Architectures"] == ["x86_64"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            {"workflow_name": "two words"},
            "workflow_name: expected 1 to 80 characters from A-Z a-z 0-9 - _, got 'two words'",
        ),
        ({"workflow_name": ""}, "workflow_name: expected 1 to 80 characters"),
        ({"workflow_name": "x" * 81}, "workflow_name: expected 1 to 80 characters"),
        ({"retention": Duration.hours(8)}, "retention: expected more than 28800 s"),
        ({"history_retention": Duration.hours(8)}, "history_retention: expected more than 28800 s"),
        (
            {"history_retention": Duration.days(8)},
            "history_retention: expected at most `retention`, 604800 s, got 6912",
        ),
        ({"max_event_age": Duration.seconds(59)}, "max_event_age: expected 60 to 21600 s, got 59 s"),
        ({"max_event_age": Duration.hours(7)}, "max_event_age: expected 60 to 21600 s, got 25200 s"),
        ({"retry_attempts": 3}, "retry_attempts: expected 0 to 2, got 3"),
        ({"retry_attempts": True}, "retry_attempts: expected 0 to 2, got True"),
        ({"workflow_name": 5}, "workflow_name: expected 1 to 80 characters"),
        ({"hop_budget": 1.5}, "hop_budget: expected at least 1 step, got 1.5"),
        ({"width_budget": 0}, "width_budget: expected at least 1 branch, got 0"),
        ({"width_budget": True}, "width_budget: expected at least 1 branch, got True"),
        ({"invocation_budget": -1}, "invocation_budget: expected at least 1 invocation, got -1"),
        ({"attributes": {"a b": "$.a"}}, "attributes: expected places by name (at most 10 texts"),
        ({"attributes": {f"a{n}": "$.a" for n in range(11)}}, "attributes: expected places by name (at most 10 texts"),
        ({"attributes": ["$.a"]}, "attributes: expected places by name (at most 10 texts"),
        (
            {"attributes": {"a": "a"}},
            "attributes['a']: expected a reference path into the input, such as",
        ),
        (
            {"attributes": {"a": "{% 1 %}"}},
            "attributes['a']: expected a reference path, such as $.order.id, in ",
        ),
        ({"payload_limit": 1.5}, "payload_limit: expected at least 1 byte, got 1.5"),
        ({"collection": "x"}, "collection: expected one of ['ttl', 'eager'], got 'x'"),
        ({"guard": "x"}, "guard: expected one of ['read', 'commit', 'lease'], got 'x'"),
        ({"log_level": "x"}, "log_level: expected one of ['info', 'warn'], got 'x'"),
        ({"metrics": "x"}, "metrics: expected one of ['none', "),
        ({"retry_attempts": "2"}, "retry_attempts: expected 0 to 2, got '2'"),
        ({"functions": []}, "functions: expected a Mapping, got []"),
        ({"function_options": {"A": {"guard": "read"}}}, "function_options['A']: expected a FunctionOptions, got {'gu"),
        ({"exported": "false"}, "exported: expected a bool, got 'false'"),
        ({"fusion": "no"}, "fusion: expected a bool, got 'no'"),
        ({"store": "dynamodb"}, "store: expected `Store.dynamodb` or `Store.s3`, got a str"),
        (
            {"store": MemoryStore()},
            "store: expected `Store.dynamodb` or `Store.s3`, got a MemoryStore: functions on AWS have their state in",
        ),
        ({"store": store(list_executions="no")}, "store: list_executions: expected a bool, got 'no'"),
        ({"sweep": True}, "sweep: expected a Sweep, got True"),
        ({"tags": ["team"]}, "tags: expected a Mapping, got ['team']"),
        ({"tags": {"team": 5}}, "tags['team']: expected text, got 5"),
        ({"tags": {"": "x"}}, "tags: expected texts as keys, got ''"),
        ({"functions": {1: None}}, "functions: expected texts as keys, got 1"),
        ({"encryption_key": "alias/mine"}, "encryption_key: expected an aws_kms.IKey, got 'alias/mine'"),
        ({"store": store(encryption_key="k")}, "store: encryption_key: expected an aws_kms.IKey, got 'k'"),
        ({"store": store(table="t")}, "store: table: expected an aws_dynamodb.ITable, got 't'"),
        ({"payload_bucket": "large"}, "payload_bucket: expected an aws_s3.IBucket, got 'large'"),
        ({"timeout": 60}, "timeout: expected an aws_cdk.Duration, got 60"),
        ({"timeout": Duration.millis(1500)}, "timeout: expected whole seconds, got 1.5 s"),
        ({"retention": "7 days"}, "retention: expected an aws_cdk.Duration, got '7 days'"),
        ({"history_retention": 86400}, "history_retention: expected an aws_cdk.Duration, got 86400"),
        ({"max_event_age": 60}, "max_event_age: expected an aws_cdk.Duration, got 60"),
        ({"collection": "eager", "fusion": True}, "fusion: expected None or False with collection=Collection.EAGER"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], reason: str) -> None:
    deployment = Deployment.new()
    with pytest.raises(ConstructError) as caught:
        deployment.flow(chain("A"), **{"functions": {"A": function(deployment.stack, "A")}, **options})
    assert str(caught.value).startswith(f"Stack/Flow: {reason}")


def test_places_of_attributes_are_part_of_the_definition() -> None:
    deployment = Deployment.new()
    functions = {"A": function(deployment.stack, "A")}
    flow = deployment.flow(chain("A"), functions=functions, attributes={"customer": "$.order.lines[0].id"})
    assert flow._workflow.attributes == {"customer": ["order", "lines", 0, "id"]}


def test_name_that_is_a_token() -> None:
    deployment = Deployment.new()
    parameter = CfnParameter(deployment.stack, "Name")
    with pytest.raises(ConstructError, match=r"Stack/Flow: workflow_name: expected text, got the token"):
        deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, workflow_name=parameter.value_as_string)


def test_a_time_limit_that_is_a_token_is_a_value_of_the_functions() -> None:
    deployment = Deployment.new()
    parameter = CfnParameter(deployment.stack, "Limit", type="Number")
    timeout = Duration.seconds(parameter.value_as_number)
    deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, timeout=timeout)
    assert "{'Ref': 'Limit'}" in str(deployment.all("Lambda::Function"))


def test_a_time_limit_that_is_a_token_cannot_be_the_second_one() -> None:
    deployment = Deployment.new()
    timeout = Duration.seconds(CfnParameter(deployment.stack, "Limit", type="Number").value_as_number)
    with pytest.raises(ConstructError, match=r"^Stack/Flow: timeout: the definition already has TimeoutSeconds, got"):
        deployment.flow(chain("A") | {"TimeoutSeconds": 5}, {"A": function(deployment.stack, "A")}, timeout=timeout)


def test_problems_of_the_definition_have_the_path_of_the_construct() -> None:
    definition = chain("A", "B")
    definition["States"]["A"]["Resource"] = "Unknown"
    definition["States"]["B"]["Retry"] = [{"ErrorEquals": []}]
    with pytest.raises(DefinitionError) as caught:
        Deployment.of(definition, "A", "B")
    first, second = map(str, caught.value.problems)
    assert first.startswith("Stack/Flow: $.States.A.Resource: ")
    assert second.startswith("Stack/Flow: $.States.B.Retry[0].ErrorEquals: ")


def test_more_routes_than_an_environment_holds() -> None:
    keys = [f"Branch{number}" for number in range(40)]
    fan = machine(Source=task("Source", "Fan"), Fan=parallel(*(machine(**{f"{key} runs": task(key)}) for key in keys)))
    with pytest.raises(ConstructError, match=r"^Stack/Source: routes: expected an environment of at most 4096 bytes"):
        Deployment.of(fan, "Source", *keys)


@pytest.mark.parametrize("collection", [Collection.EAGER, "eager"])
def test_every_function_may_collect_eagerly_and_knows_it_at_run_time(collection: Any) -> None:
    deployment = Deployment.of(chain("A", "B"), "A", "B", collection=collection, hop_budget=7)
    for key in "AB":
        *_, on_items = [
            actions for actions, _ in deployment.statements(f"Flow/Permissions/{key}") if "dynamodb:PutItem" in actions
        ]
        assert "dynamodb:UpdateItem" in on_items


def test_payload_limit() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, payload_limit=262_144)
    assert flow._workflow.payload_limit == 262_144
    with pytest.raises(ConstructError, match=r"^Stack/Flow: payload_limit: expected 1 to 380000 bytes.*; got 400000"):
        Deployment.of(chain("A"), "A", payload="inline", payload_limit=400_000)


def test_strict_compatibility() -> None:
    deployment = Deployment.new()
    functions = {"A": function(deployment.stack, "A")}
    flow = deployment.flow(chain("A"), functions, compatibility="strict")
    compiled = flow._workflow
    assert (compiled.strict, compiled.payload_limit, compiled.hop_budget) == (True, 262_144, 5_000)
    other = Deployment.new()
    less = other.flow(
        chain("A"),
        {"A": function(other.stack, "A")},
        compatibility=Compatibility.STRICT,
        payload_limit=1_000,
        hop_budget=10,
    )._workflow
    assert (less.payload_limit, less.hop_budget) == (1_000, 10)
    with pytest.raises(
        ConstructError, match=r'payload_limit: compatibility="strict" allows at most 262144 bytes; got 300000'
    ):
        Deployment.of(chain("A"), "A", compatibility="strict", payload_limit=300_000)
    with pytest.raises(ConstructError, match=r"compatibility: expected one of \['generous', 'strict'\], got 'loose'"):
        Deployment.of(chain("A"), "A", compatibility="loose")


def test_small_results() -> None:
    inside = {"StartAt": "B", "States": {"B": {"Type": "Task", "Resource": "B", "End": True}}}
    each = {"Type": "Map", "ItemProcessor": inside, "End": True}
    deployment = Deployment.new()
    functions = {"B": function(deployment.stack, "B")}
    flow = deployment.flow({"StartAt": "M", "States": {"M": each}}, functions, small_results=True)
    assert flow._workflow.small_results is True
    with pytest.raises(ConstructError, match=r"^Stack/Flow: small_results: expected a Map or Parallel .*; found none"):
        Deployment.of(chain("A"), "A", small_results=True)


def test_small_results_are_not_in_the_ir_of_workflows_without_them() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")})
    assert "small_results" not in flow._workflow.to_json()


def test_budgets_are_in_the_definition() -> None:
    deployment = Deployment.new()
    functions = {"A": function(deployment.stack, "A")}
    flow = deployment.flow(chain("A"), functions, width_budget=2, invocation_budget=300)
    assert (flow._workflow.width_budget, flow._workflow.invocation_budget) == (2, 300)
    again = Workflow.from_json(flow._workflow.to_json())
    assert (again.width_budget, again.invocation_budget) == (2, 300)


def test_a_parallel_that_is_wider_than_its_budget_fails_at_synth() -> None:
    branches = [chain("A"), chain("A") | {"StartAt": "B", "States": {"B": chain("A")["States"]["A"]}}]
    wide = {"StartAt": "P", "States": {"P": {"Type": "Parallel", "Branches": branches, "End": True}}}
    with pytest.raises(ConstructError, match="width_budget: expected at least the 2 branches of 'P', got 1"):
        Deployment.of(wide, "A", width_budget=1)


def test_hop_budget_without_a_step() -> None:
    with pytest.raises(ConstructError, match="Stack/Flow: hop_budget: expected at least 1 step, got 0"):
        Deployment.of(chain("A"), "A", hop_budget=0)


def test_fusion_is_on_unless_it_is_switched_off() -> None:
    assert "fusion" not in Deployment.of(chain("A"), "A").services("A")["Flow"]
    assert Deployment.of(chain("A"), "A", fusion=False).services("A")["Flow"]["fusion"] is False


def test_fusion_cannot_be_had_with_what_is_collected_at_once() -> None:
    with pytest.raises(ConstructError, match=r"fusion: expected None or False with collection=Collection\.EAGER"):
        Deployment.of(chain("A"), "A", fusion=True, collection=Collection.EAGER)
    assert "fusion" not in Deployment.of(chain("A"), "A", collection=Collection.EAGER).services("A")["Flow"]


def test_a_definition_is_one_of_ours() -> None:
    definition: Any = {"StartAt": "A"}
    with pytest.raises(
        ConstructError, match=r"definition: expected one of Definition\.from_\.\.\., .*, got \{'StartAt'"
    ):
        UnumWorkflow(Deployment.new().stack, "Flow", definition=definition)


def test_a_guard_may_be_given_by_its_text() -> None:
    text: Any = "lease"
    assert FunctionOptions(guard=text).guard is Guard.LEASE
    with pytest.raises(ValueError, match=r"guard: expected one of \['read', 'commit', 'lease'\], or None, got 'x'"):
        FunctionOptions(guard="x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected checkpoint=False alone, got guard"):
        FunctionOptions(guard=text, checkpoint=False)


@pytest.mark.parametrize(
    ("option", "allowed"), [("checkpoint", "True or False"), ("memoize", "True, False or a Memoization")]
)
def test_a_text_is_no_truth_value(option: str, allowed: str) -> None:
    with pytest.raises(ValueError, match=f"^{option}: expected {allowed}, got 'no'$"):
        FunctionOptions(**{option: "no"})  # type: ignore[arg-type]
