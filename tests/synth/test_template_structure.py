"""Resources of a workflow in its stack."""

import json
import re
from pathlib import Path

import pytest
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs

from tests.synth.deployment import CODE, RUNTIME_LAYER, Deployment, flat, function
from tests.synth.linting import complaints
from tests.synth.machines import a_map, chain, choice, machine, parallel, task
from unum_cli.commands.stack import all_deployed
from unum_constructs import ConstructError, Definition, Outputs, UnumFunction, UnumWorkflow
from unum_runtime.functions.configuration import INLINE, STORE

HANDLER = "unum_runtime.handler.handle"
README = Path(__file__).parents[2] / "README.md"


@pytest.fixture(scope="module")
def two_steps() -> Deployment:
    return Deployment.of(chain("A", "B"), "A", "B")


@pytest.fixture(scope="module")
def everything() -> Deployment:
    """A workflow with every kind of state and a loop."""
    return Deployment.of(
        machine(
            P=parallel(chain("A"), chain("B", "C"), then="M"),
            M=a_map(machine(D=task("D", "N"), N=a_map(chain("E"))), then="Again", MaxConcurrency=2),
            Again=choice("F", more="P"),
            F=task("F", "Stop"),
            Stop={"Type": "Fail", "Error": "Stopped"},
        ),
        *"ABCDEF",
    )


def test_nothing_but_what_it_needs(two_steps: Deployment) -> None:
    types = [resource["Type"].removeprefix("AWS::") for resource in two_steps.template["Resources"].values()]
    assert {kind: types.count(kind) for kind in types} == {
        "DynamoDB::Table": 1,
        "Lambda::LayerVersion": 1,
        "Lambda::Function": 4,
        "Lambda::Version": 4,
        "Lambda::Alias": 8,
        "Lambda::EventInvokeConfig": 8,
        "Logs::LogGroup": 4,
        "IAM::Role": 5,
        "IAM::Policy": 4,
        "Custom::UnumDeploymentGuard": 1,
        "CloudWatch::Alarm": 1,
        "SQS::Queue": 1,
        "SQS::QueuePolicy": 1,
        "Scheduler::Schedule": 1,
    }


def test_readme_lists_what_a_stack_contains() -> None:
    """One function with two handlers is what the README counts."""
    deployment = Deployment.new()
    made = UnumFunction(
        deployment.stack,
        "F",
        code=lambda_.Code.from_inline(CODE),
        handlers={"A": "index.handle", "B": "index.handle"},
    )
    deployment.flow(chain("A", "B"), made)
    section = README.read_text(encoding="utf-8").partition("## What a stack contains")[2].partition("\n## ")[0]
    numbers = [int(number) for number in re.findall(r"^\| .+? \| (\d+) \|", section, re.MULTILINE)]
    (total,) = re.findall(r"has (\d+) resources", section)
    assert sum(numbers) == int(total) == len(deployment.template["Resources"])


def test_table(two_steps: Deployment) -> None:
    table = two_steps.only("DynamoDB::Table")
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}
    assert table["KeySchema"] == [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ]


def test_failure_queue(two_steps: Deployment) -> None:
    assert two_steps.only("SQS::Queue") == {"MessageRetentionPeriod": 14 * 24 * 3600, "SqsManagedSseEnabled": True}
    (statement,) = two_steps.only("SQS::QueuePolicy")["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})


def test_functions_are_redirected(two_steps: Deployment) -> None:
    for key in ("A", "B"):
        properties = two_steps.properties(key)
        assert properties["Handler"] == HANDLER
        assert properties["Environment"]["Variables"]["UNUM_HANDLER"] == "index.handle"
        assert properties["Layers"] == [{"Ref": two_steps.logical_id(RUNTIME_LAYER)}]


def test_environment(two_steps: Deployment) -> None:
    starting = two_steps.services("A")["Flow"]
    assert starting.pop("definition").startswith(INLINE)
    assert {"Flow": starting} == {
        "Flow": {
            "table": two_steps.logical_id("Flow/Table"),
            "hosts": ["A"],
            "routes": {"B": two_steps.version("B")},
            "retention_s": 7 * 24 * 3600,
            "carried": [],
            "start_alias": "start-Flow",
            "stores_first": True,
            "describe_alias": f"{two_steps.logical_id('Flow/ControlFunction/Function')}.Arn:describe-Flow",
        }
    }


def test_environment_of_a_function_with_its_definition_in_the_store(two_steps: Deployment) -> None:
    assert two_steps.services("B") == {
        "Flow": {
            "table": two_steps.logical_id("Flow/Table"),
            "hosts": ["B"],
            "retention_s": 7 * 24 * 3600,
            "definition": STORE,
        }
    }


def test_failures_of_versions_and_alias(two_steps: Deployment) -> None:
    paths = (f"{each}/EventInvokeConfig" for each in ("A/CurrentVersion", "B/CurrentVersion", "Flow/Start"))
    configurations = [two_steps.resource(path) for path in paths]
    destinations = {
        flat(each["Properties"]["DestinationConfig"]["OnFailure"]["Destination"]) for each in configurations
    }
    assert destinations == {two_steps.version("Flow/OnFailure/Handler"), two_steps.logical_id("Flow/StartIntake")}
    qualifiers = {flat(each["Properties"]["Qualifier"]) for each in configurations}
    assert qualifiers == {f"{two_steps.version('A')}.Version", f"{two_steps.version('B')}.Version", "start-Flow"}


def test_alias_waits_for_permissions(two_steps: Deployment) -> None:
    alias = two_steps.resource("Flow/Start")
    policies = {two_steps.logical_id(f"Flow/Permissions/{key}") for key in "AB"}
    assert policies <= set(alias["DependsOn"])
    configuration = two_steps.resource("Flow/Start/EventInvokeConfig")
    assert two_steps.logical_id("Flow/Start") in configuration["DependsOn"]


def test_failure_configuration_waits_for_permission(two_steps: Deployment) -> None:
    configuration = two_steps.resource("A/CurrentVersion/EventInvokeConfig")
    assert two_steps.logical_id("Flow/Permissions/A") in configuration["DependsOn"]


def addresses_of(deployment: Deployment) -> dict[str, str]:
    return {
        "StartAlias": deployment.logical_id("Flow/Start"),
        "RunAlias": deployment.logical_id("Flow/Run"),
        "DescribeAlias": deployment.logical_id("Flow/Describe"),
        "RespondAlias": deployment.logical_id("Flow/Respond"),
        "ControlFunction": f"{deployment.logical_id('Flow/ControlFunction/Function')}.Arn",
        "FailureQueue": deployment.logical_id("Flow/Failures"),
        "Table": deployment.logical_id("Flow/Table"),
        "Workflow": "Flow",
        "Retention": "604800",
    }


def outputs_of(deployment: Deployment) -> dict[str, str]:
    return {name: flat(output["Value"]) for name, output in deployment.template.get("Outputs", {}).items()}


def test_one_output_has_all_addresses(two_steps: Deployment) -> None:
    outputs = outputs_of(two_steps)
    assert outputs.keys() == {"FlowWorkflow"}
    assert json.loads(outputs["FlowWorkflow"]) == addresses_of(two_steps)
    (found,) = all_deployed(outputs)
    addresses = addresses_of(two_steps)
    assert (found.workflow, found.table, found.retention_s) == ("Flow", addresses["Table"], 604800)
    assert (found.start_alias, found.control_alias) == (addresses["StartAlias"], addresses["ControlFunction"])


def test_each_address_has_an_output_on_request() -> None:
    deployment = Deployment.of(chain("A"), "A", outputs=Outputs.ALL)
    assert outputs_of(deployment) == {f"Flow{kind}": value for kind, value in addresses_of(deployment).items()}
    assert not any("Export" in output for output in deployment.template["Outputs"].values())


def test_workflow_without_outputs_has_none() -> None:
    assert outputs_of(Deployment.of(chain("A"), "A", outputs="none")) == {}
    exported = outputs_of(Deployment.of(chain("A"), "A", outputs="none", exported=True))
    assert exported.keys() == {"FlowStartAlias", "FlowDescribeAlias", "FlowControlFunction", "FlowTable"}


def test_unknown_kind_of_outputs_is_refused() -> None:
    with pytest.raises(ConstructError, match=r"outputs: expected one of \['one', 'all', 'none'\], got 'some'"):
        Deployment.of(chain("A"), "A", outputs="some")


def test_log_groups(two_steps: Deployment) -> None:
    for key in ("A", "B"):
        assert two_steps.properties(f"{key}Logs") == {"RetentionInDays": 30}
        assert two_steps.properties(key)["LoggingConfig"] == {"LogGroup": {"Ref": two_steps.logical_id(f"{key}Logs")}}


def test_entry_function(everything: Deployment) -> None:
    entry = everything.properties("Flow/Entry")
    assert entry["Handler"] == HANDLER
    assert entry["Architectures"] == ["arm64"]
    assert everything.properties("Flow/EntryLogs") == {"RetentionInDays": 30}


def test_the_only_custom_resource_is_the_guard_of_deployments(everything: Deployment) -> None:
    found = [each["Type"] for each in everything.template["Resources"].values() if "Custom" in each["Type"]]
    assert found == ["Custom::UnumDeploymentGuard"]


def test_no_warnings(everything: Deployment) -> None:
    assert everything.warnings() == []


def test_cfn_lint(everything: Deployment, two_steps: Deployment) -> None:
    assert complaints(everything.template) == []
    assert complaints(two_steps.template) == []


def test_tokens_in_the_definition_name_functions() -> None:
    deployment = Deployment.new()
    first, second = function(deployment.stack, "A"), function(deployment.stack, "B")
    invoke = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "End": True}
    states = {
        "First": {"Type": "Task", "Resource": first.function_arn, "Next": "Second"},
        "Second": {**invoke, "Parameters": {"FunctionName": second.function_arn, "Payload.$": "$"}},
    }
    deployment.flow({"StartAt": "First", "States": states}, {"One": first, "Two": second})
    assert deployment.services("A")["Flow"]["hosts"] == ["One"]
    assert deployment.routes("A") == {"Two": deployment.version("B")}


def test_definition_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "flow.asl.json"
    file.write_text(json.dumps(chain("A")), encoding="utf-8")
    deployment = Deployment.new()
    flow = UnumWorkflow(
        deployment.stack,
        "Flow",
        definition=Definition.from_asl_file(file),
        functions={"A": function(deployment.stack, "A")},
    )
    assert flow.workflow_name.startswith("Stack-Flow")
    assert f"start-{flow.workflow_name}" == deployment.properties("Flow/Start")["Name"]


def test_function_takes_every_argument() -> None:
    deployment = Deployment.new()
    UnumFunction(
        deployment.stack,
        "F",
        code=lambda_.Code.from_inline(CODE),
        handler="index.handle",
        runtime=lambda_.Runtime.PYTHON_3_12,
        architecture=lambda_.Architecture.ARM_64,
        environment={"A": "b"},
        log_retention=logs.RetentionDays.ONE_DAY,
        reserved_concurrent_executions=3,
    )
    properties = deployment.properties("F")
    assert properties["Runtime"] == "python3.12"
    assert properties["Environment"] == {"Variables": {"A": "b"}}
    assert properties["ReservedConcurrentExecutions"] == 3
    assert deployment.only("Logs::LogGroup") == {"RetentionInDays": 1}
