"""Options of a workflow, and what is said when they cannot be."""

from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_

from tests.synth.deployment import Deployment, function
from tests.synth.machines import chain, machine, parallel, task
from unum_constructs import (
    Collection,
    Compatibility,
    ConstructError,
    Delivery,
    ExecutionData,
    FunctionOptions,
    Guard,
    Limits,
    Monitoring,
    OwnFunctions,
    Store,
    UnumWorkflow,
)
from unum_runtime.errors import DefinitionError
from unum_runtime.model.ir import Workflow
from unum_simulator.memory_store import MemoryStore


def store(**options: Any) -> Store:
    """A store with options of any type."""
    return Store.dynamodb(**options)


def group(kind: Any, **options: Any) -> Any:
    """A group of options with values of any type."""
    return kind(**options)


def own_table(deployment: Deployment, **options: Any) -> dynamodb.Table:
    text = dynamodb.AttributeType.STRING
    defaults = {
        "partition_key": dynamodb.Attribute(name="pk", type=text),
        "sort_key": dynamodb.Attribute(name="sk", type=text),
        "time_to_live_attribute": "ttl",
    }
    return dynamodb.Table(deployment.stack, "Own", **{**defaults, **options})


def test_limits_of_events() -> None:
    deployment = Deployment.of(chain("A"), "A", delivery=Delivery(max_event_age=Duration.hours(1), retry_attempts=0))
    for path in ("A/CurrentVersion/EventInvokeConfig", "Flow/Start/EventInvokeConfig"):
        properties = deployment.properties(path)
        assert (properties["MaximumEventAgeInSeconds"], properties["MaximumRetryAttempts"]) == (3600, 0)


def test_results_may_be_kept_for_longer_than_the_rest() -> None:
    data = ExecutionData(retention=Duration.days(30), history_retention=Duration.days(1))
    deployment = Deployment.of(chain("A"), "A", execution_data=data, outputs="all")
    service = deployment.services("A")["Flow"]
    assert (service["retention_s"], service["result_retention_s"]) == (24 * 3600, 30 * 24 * 3600)
    outputs = deployment.template["Outputs"]
    assert outputs["FlowRetention"]["Value"] == str(30 * 24 * 3600), "clients write start records"


def test_retention() -> None:
    deployment = Deployment.of(chain("A"), "A", execution_data=ExecutionData(retention=Duration.days(1)))
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
        machine(P=parallel(chain("A"), then="B"), B=task("B")),
        *"AB",
        own_functions=OwnFunctions(architecture=lambda_.Architecture.X86_64),
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
        (
            {"execution_data": ExecutionData(retention=Duration.hours(8))},
            "execution_data.retention: expected more than 28800 s",
        ),
        (
            {"execution_data": ExecutionData(history_retention=Duration.hours(8))},
            "execution_data.history_retention: expected more than 28800 s",
        ),
        (
            {"execution_data": ExecutionData(history_retention=Duration.days(8))},
            "execution_data.history_retention: expected at most `retention`, 604800 s, got 6912",
        ),
        (
            {"delivery": Delivery(max_event_age=Duration.seconds(59))},
            "delivery.max_event_age: expected 60 to 21600 s, got 59 s",
        ),
        (
            {"delivery": Delivery(max_event_age=Duration.hours(7))},
            "delivery.max_event_age: expected 60 to 21600 s, got 25200 s",
        ),
        ({"delivery": Delivery(retry_attempts=3)}, "delivery.retry_attempts: expected 0 to 2, got 3"),
        ({"delivery": Delivery(retry_attempts=True)}, "delivery.retry_attempts: expected 0 to 2, got True"),
        ({"workflow_name": 5}, "workflow_name: expected 1 to 80 characters"),
        ({"limits": group(Limits, hop_budget=1.5)}, "limits.hop_budget: expected at least 1 step, got 1.5"),
        ({"limits": Limits(width_budget=0)}, "limits.width_budget: expected at least 1 branch, got 0"),
        ({"limits": Limits(width_budget=True)}, "limits.width_budget: expected at least 1 branch, got True"),
        ({"limits": Limits(invocation_budget=-1)}, "limits.invocation_budget: expected at least 1 invocation, got -1"),
        (
            {"monitoring": Monitoring(attributes={"a b": "$.a"})},
            "monitoring.attributes: expected places by name (at most 10 texts",
        ),
        (
            {"monitoring": Monitoring(attributes={f"a{n}": "$.a" for n in range(11)})},
            "monitoring.attributes: expected places by name (at most 10 texts",
        ),
        (
            {"monitoring": group(Monitoring, attributes=["$.a"])},
            "monitoring.attributes: expected places by name (at most 10 texts",
        ),
        (
            {"monitoring": Monitoring(attributes={"a": "a"})},
            "monitoring.attributes['a']: expected a reference path into the input, such as",
        ),
        (
            {"monitoring": Monitoring(attributes={"a": "{% 1 %}"})},
            "monitoring.attributes['a']: expected a reference path, such as $.order.id, in ",
        ),
        ({"limits": group(Limits, payload_limit=1.5)}, "limits.payload_limit: expected at least 1 byte, got 1.5"),
        (
            {"execution_data": ExecutionData(collection="x")},
            "execution_data.collection: expected one of ['ttl', 'eager'], got 'x'",
        ),
        ({"guard": "x"}, "guard: expected one of ['read', 'commit', 'lease'], got 'x'"),
        ({"monitoring": Monitoring(log_level="x")}, "monitoring.log_level: expected one of ['info', 'warn'], got 'x'"),
        ({"monitoring": Monitoring(metrics="x")}, "monitoring.metrics: expected one of ['none', "),
        ({"delivery": group(Delivery, retry_attempts="2")}, "delivery.retry_attempts: expected 0 to 2, got '2'"),
        ({"functions": []}, "functions: expected a Mapping, got []"),
        ({"function_options": {"A": {"guard": "read"}}}, "function_options['A']: expected a FunctionOptions, got {'gu"),
        ({"exported": "false"}, "exported: expected a bool, got 'false'"),
        ({"delivery": group(Delivery, fusion="no")}, "delivery.fusion: expected a bool, got 'no'"),
        ({"store": "dynamodb"}, "store: expected `Store.dynamodb` or `Store.s3`, got a str"),
        (
            {"store": MemoryStore()},
            "store: expected `Store.dynamodb` or `Store.s3`, got a MemoryStore: functions on AWS have their state in",
        ),
        ({"store": store(list_executions="no")}, "store: list_executions: expected a bool, got 'no'"),
        ({"sweep": True}, "sweep: expected a Sweep, got True"),
        ({"functions": {1: None}}, "functions: expected texts as keys, got 1"),
        ({"encryption_key": "alias/mine"}, "encryption_key: expected an aws_kms.IKey, got 'alias/mine'"),
        ({"store": store(encryption_key="k")}, "store: encryption_key: expected an aws_kms.IKey, got 'k'"),
        ({"store": store(table="t")}, "store: table: expected an aws_dynamodb.ITable, got 't'"),
        (
            {"execution_data": group(ExecutionData, payload_bucket="large")},
            "execution_data.payload_bucket: expected an aws_s3.IBucket, got 'large'",
        ),
        ({"timeout": 60}, "timeout: expected an aws_cdk.Duration, got 60"),
        ({"timeout": Duration.millis(1500)}, "timeout: expected whole seconds, got 1.5 s"),
        (
            {"execution_data": group(ExecutionData, retention="7 days")},
            "execution_data.retention: expected an aws_cdk.Duration, got '7 days'",
        ),
        (
            {"execution_data": group(ExecutionData, history_retention=86400)},
            "execution_data.history_retention: expected an aws_cdk.Duration, got 86400",
        ),
        (
            {"delivery": group(Delivery, max_event_age=60)},
            "delivery.max_event_age: expected an aws_cdk.Duration, got 60",
        ),
        (
            {"execution_data": ExecutionData(collection="eager"), "delivery": Delivery(fusion=True)},
            "delivery.fusion: expected None or False with collection=Collection.EAGER",
        ),
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
    flow = deployment.flow(
        chain("A"), functions=functions, monitoring=Monitoring(attributes={"customer": "$.order.lines[0].id"})
    )
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
    deployment = Deployment.of(
        chain("A", "B"), "A", "B", execution_data=ExecutionData(collection=collection), limits=Limits(hop_budget=7)
    )
    for key in "AB":
        *_, on_items = [
            actions for actions, _ in deployment.statements(f"Flow/Permissions/{key}") if "dynamodb:PutItem" in actions
        ]
        assert "dynamodb:UpdateItem" in on_items


def test_payload_limit() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, limits=Limits(payload_limit=262_144))
    assert flow._workflow.payload_limit == 262_144
    with pytest.raises(
        ConstructError, match=r"^Stack/Flow: limits.payload_limit: expected 1 to 380000 bytes.*; got 400000"
    ):
        Deployment.of(
            chain("A"), "A", execution_data=ExecutionData(payload="inline"), limits=Limits(payload_limit=400_000)
        )


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
        limits=Limits(payload_limit=1_000, hop_budget=10),
    )._workflow
    assert (less.payload_limit, less.hop_budget) == (1_000, 10)
    with pytest.raises(
        ConstructError, match=r'payload_limit: compatibility="strict" allows at most 262144 bytes; got 300000'
    ):
        Deployment.of(chain("A"), "A", compatibility="strict", limits=Limits(payload_limit=300_000))
    with pytest.raises(ConstructError, match=r"compatibility: expected one of \['generous', 'strict'\], got 'loose'"):
        Deployment.of(chain("A"), "A", compatibility="loose")


def test_small_results() -> None:
    inside = {"StartAt": "B", "States": {"B": {"Type": "Task", "Resource": "B", "End": True}}}
    each = {"Type": "Map", "ItemProcessor": inside, "End": True}
    deployment = Deployment.new()
    functions = {"B": function(deployment.stack, "B")}
    flow = deployment.flow(
        {"StartAt": "M", "States": {"M": each}}, functions, execution_data=ExecutionData(small_results=True)
    )
    assert flow._workflow.small_results is True
    with pytest.raises(
        ConstructError, match=r"^Stack/Flow: execution_data.small_results: expected a Map or Parallel .*; found none"
    ):
        Deployment.of(chain("A"), "A", execution_data=ExecutionData(small_results=True))


def test_small_results_are_not_in_the_ir_of_workflows_without_them() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")})
    assert "small_results" not in flow._workflow.to_json()


def test_budgets_are_in_the_definition() -> None:
    deployment = Deployment.new()
    functions = {"A": function(deployment.stack, "A")}
    flow = deployment.flow(chain("A"), functions, limits=Limits(width_budget=2, invocation_budget=300))
    assert (flow._workflow.width_budget, flow._workflow.invocation_budget) == (2, 300)
    again = Workflow.from_json(flow._workflow.to_json())
    assert (again.width_budget, again.invocation_budget) == (2, 300)


def test_a_parallel_that_is_wider_than_its_budget_fails_at_synth() -> None:
    branches = [chain("A"), chain("A") | {"StartAt": "B", "States": {"B": chain("A")["States"]["A"]}}]
    wide = {"StartAt": "P", "States": {"P": {"Type": "Parallel", "Branches": branches, "End": True}}}
    with pytest.raises(ConstructError, match=r"limits\.width_budget: expected at least the 2 branches of 'P', got 1"):
        Deployment.of(wide, "A", limits=Limits(width_budget=1))


def test_hop_budget_without_a_step() -> None:
    with pytest.raises(ConstructError, match=r"Stack/Flow: limits\.hop_budget: expected at least 1 step, got 0"):
        Deployment.of(chain("A"), "A", limits=Limits(hop_budget=0))


def test_fusion_is_on_unless_it_is_switched_off() -> None:
    assert "fusion" not in Deployment.of(chain("A"), "A").services("A")["Flow"]
    assert Deployment.of(chain("A"), "A", delivery=Delivery(fusion=False)).services("A")["Flow"]["fusion"] is False


def test_fusion_cannot_be_had_with_what_is_collected_at_once() -> None:
    with pytest.raises(
        ConstructError, match=r"delivery.fusion: expected None or False with collection=Collection\.EAGER"
    ):
        Deployment.of(
            chain("A"), "A", delivery=Delivery(fusion=True), execution_data=ExecutionData(collection=Collection.EAGER)
        )
    eager = Deployment.of(chain("A"), "A", execution_data=ExecutionData(collection=Collection.EAGER))
    assert "fusion" not in eager.services("A")["Flow"]


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
