"""State machines become workflows: what is written stays, and what is deployed changes as docs/howto/migrate.md says.

The real definitions lie beside the repository, or where UNUM_ASL_CASES says.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, CfnParameter, Duration
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks
from aws_cdk.assertions import Template

from docs.snippets.migration import after, before
from tests.synth.deployment import Deployment, function
from tests.synth.linting import complaints
from unum_cli.migration.rewriting import rewrite
from unum_constructs import Definition
from unum_constructs.testing import assert_workflow

CASES = Path(os.environ.get("UNUM_ASL_CASES", Path(__file__).parents[3] / "shared" / "asl-cases")) / "corpus.jsonl"

REAL = {
    "sfn-lambda-lambda/statemachine/StateMachine.asl.json": {},
    "synchronous-api/statemachine/statemachine.asl.json": {},
    "saga-pattern-sam/statemachine/statemachine.asl.json": {
        "snsTopicArn": "arn:aws:sns:us-east-1:123456789012:Travel",
    },
    "sam/app-decompose-for-parallelism/statemachine/test-result-recorder.asl.json": {
        "ParameterInstancePrefix": "load",
        "TableTestResults": "TestResults",
    },
    "data-processing/sam/statemachine/statemachine.asl.json": {},
}
"""Definitions by the end of their name, and what their ``${Name}`` say that are no functions.

Lambda functions work for four of them, in two beside services, and services alone for one.
"""

WRAPPED = {"Environment", "Handler", "Layers", "RecursiveLoop"}
"""What a workflow changes of a function that exists."""

EVERY_WORKFLOW = Counter(
    {
        "DynamoDB::Table": 1,
        "Lambda::LayerVersion": 1,
        "SQS::Queue": 1,
        "SQS::QueuePolicy": 1,
        "CloudWatch::Alarm": 1,
        "Lambda::Alias": 1,
    }
)


@pytest.fixture(scope="module")
def definitions() -> Mapping[str, Any]:
    if not CASES.exists():
        pytest.skip(f"{CASES} is not there")
    rows = map(json.loads, CASES.read_text(encoding="utf-8").splitlines())
    return {row["name"].partition(":")[2]: row["definition"] for row in rows}


@pytest.mark.parametrize("name", REAL)
def test_real_definitions_move_with_their_substitutions(name: str, definitions: Mapping[str, Any]) -> None:
    text = json.dumps(definitions[name])
    old, new = Deployment.new(), Deployment.new()
    _state_machine(old, text, REAL[name])
    keys = _workflow(new, text, REAL[name])
    _assert_moved(old.template, new.template)
    services = {"$services"} if re.search(r":::(sns|dynamodb|aws-sdk)", text) else set()
    entry = {"$entry"} if definitions[name]["States"][definitions[name]["StartAt"]]["Type"] != "Task" else set()
    assert_workflow(new.template, functions={*keys} | services | entry)
    assert complaints(new.template) == []


@pytest.mark.parametrize("text", ["function_arn", "function_name"])
def test_a_function_is_known_by_its_arn_and_its_name(text: str) -> None:
    deployment = Deployment.new()
    price = function(deployment.stack, "price")
    invoke = {"FunctionName": f"{getattr(price, text)}:$LATEST", "Payload.$": "$"}
    direct = {"FunctionName": "${price}", "Payload.$": "$"}
    states = {
        name: {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Parameters": parameters, **following}
        for name, parameters, following in (("A", invoke, {"Next": "B"}), ("B", direct, {"End": True}))
    }
    definition = Definition.from_asl({"StartAt": "A", "States": states}, substitutions={"price": getattr(price, text)})
    deployment.flow(definition, {"price": price})
    assert_workflow(deployment.template, functions={"price"}, edges={"price": ["price"]})


def test_a_chain_with_numbers_and_arrays_of_the_deployment() -> None:
    deployment = Deployment.new()
    stack = deployment.stack
    number = CfnParameter(stack, "Count", type="Number").value_as_number
    names = CfnParameter(stack, "Names", type="CommaDelimitedList").value_as_list
    given = sfn.Pass(stack, "Given", result=sfn.Result.from_object({"count": number, "names": names}))
    work = tasks.LambdaInvoke(stack, "Work", lambda_function=function(stack, "work"))
    deployment.flow(Definition.from_chainable(given.next(work)), {})
    text = deployment.properties("Flow/Entry")["Environment"]["Variables"]["UNUM_WORKFLOWS"]
    parts = {"Count": "7", "Names": "a,b"}
    whole = "".join(
        each if isinstance(each, str) else resolved(each, parts) for each in text["Fn::Join"][1]
    )  # as CloudFormation joins them
    assert json.loads(whole)["Flow"]["values"] == {"Number1": "7", "Array1": "a\nb"}


def resolved(intrinsic: Mapping[str, Any], parts: Mapping[str, str]) -> str:
    """The value of a reference, or of a list that is joined."""
    if "Fn::Join" in intrinsic:
        separator, listed = intrinsic["Fn::Join"]
        return str(separator).join(parts[listed["Ref"]].split(","))
    return parts.get(intrinsic.get("Ref", ""), "x")


def test_a_chain_with_tokens_in_its_expressions_deploys() -> None:
    deployment = Deployment.new()
    stack = deployment.stack
    bucket = s3.Bucket(stack, "Bucket")
    seconds = Duration.seconds(CfnParameter(stack, "Seconds", type="Number").value_as_number)
    address = sfn.JsonPath.format(f"s3://{bucket.bucket_name}/{{}}", sfn.JsonPath.string_at("$.key"))
    work = tasks.LambdaInvoke(
        stack,
        "Work",
        lambda_function=function(stack, "work"),
        payload=sfn.TaskInput.from_object({"to": address}),
        result_path=sfn.JsonPath.DISCARD,
        task_timeout=sfn.Timeout.duration(seconds),
    )
    deployment.flow(Definition.from_chainable(work), {})
    values = deployment.services("work")["Flow"]["values"]
    assert sorted(values.values()) == sorted([deployment.logical_id("Bucket/Resource"), "Seconds"])


APP = """
import aws_cdk.aws_stepfunctions
import aws_cdk as cdk
from aws_cdk import aws_events as events, aws_lambda as lambda_, aws_scheduler as scheduler
from aws_cdk import aws_stepfunctions_tasks as tasks
from aws_cdk.aws_events_targets import SfnStateMachine
from aws_cdk.aws_scheduler_targets import StepFunctionsStartExecution
from aws_cdk.aws_stepfunctions import IStateMachine, StateMachine as Machine

class Shop(cdk.Stack):
    def __init__(self, scope, construct_id):
        super().__init__(scope, construct_id)
        def work(name):
            code = lambda_.Code.from_inline("def handler(event, context): return event")
            return lambda_.Function(self, name, runtime=lambda_.Runtime.PYTHON_3_13, code=code, handler="index.handler")
        inner = Machine(self, "Inner", definition=tasks.LambdaInvoke(self, "Work", lambda_function=work("W")))
        start = tasks.StepFunctionsStartExecution(self, "Start", state_machine=inner)
        outer = aws_cdk.aws_stepfunctions.StateMachine(
            self, "Outer", definition_body=cdk.aws_stepfunctions.DefinitionBody.from_chainable(start)
        )
        self.hourly(outer)
        scheduler.Schedule(
            self,
            "Schedule",
            schedule=scheduler.ScheduleExpression.rate(cdk.Duration.hours(1)),
            target=StepFunctionsStartExecution(inner),
        )

    def hourly(self, machine: IStateMachine) -> "cdk.aws_stepfunctions.IStateMachine":
        rule = events.Rule(self, "Hourly", schedule=events.Schedule.rate(cdk.Duration.hours(1)))
        rule.add_target(SfnStateMachine(machine))
        return machine
"""


def test_app_that_the_command_has_moved_synthesizes() -> None:
    found = rewrite(APP)
    assert found.decisions == ()
    old, new = (synthesized(text, "Shop") for text in (APP, found.text))
    resources = [template["Resources"] for template in (old, new)]
    machines = [sum(each["Type"] == "AWS::StepFunctions::StateMachine" for each in made.values()) for made in resources]
    assert machines == [2, 0]
    started = {
        name for name, each in resources[0].items() if each["Type"] in ("AWS::Events::Rule", "AWS::Scheduler::Schedule")
    }
    assert len(started) == 2
    assert started <= resources[1].keys()


def test_example_moves_by_the_command() -> None:
    text = Path(before.__file__).read_text(encoding="utf-8")
    found = rewrite(text)
    assert found.decisions == ()
    old, new = (synthesized(each, "Pricing") for each in (text, found.text))
    _assert_moved(old, new)
    assert_workflow(new, functions={"$entry", "priceFunction", "totalFunction", "$services"})


def synthesized(text: str, stack: str) -> Mapping[str, Any]:
    """The template of a class in the text of a module."""
    module: dict[str, Any] = {"__name__": "app"}
    exec(compile(text, "app.py", "exec"), module)  # noqa: S102 - text of this file, or of a page
    return Template.from_stack(module[stack](App(), "Stack")).to_json()


def test_a_cdk_app_moves() -> None:
    old, new = (Template.from_stack(module.Pricing(App(), "Stack")).to_json() for module in (before, after))
    _assert_moved(old, new)
    assert_workflow(
        new,
        edges={
            "$entry": ["priceFunction", "totalFunction"],
            "priceFunction": ["priceFunction", "totalFunction"],
            "totalFunction": ["totalFunction", "$services"],
            "$services": [],
        },
    )
    topic = next(name for name, each in new["Resources"].items() if each["Type"] == "AWS::SNS::Topic")
    allowed = [
        statement["Resource"]
        for each in new["Resources"].values()
        if each["Type"] == "AWS::IAM::Policy"
        for statement in each["Properties"]["PolicyDocument"]["Statement"]
        if statement["Action"] == "sns:Publish"
    ]
    assert allowed == [{"Ref": topic}]


def _state_machine(deployment: Deployment, text: str, values: Mapping[str, str]) -> None:
    substitutions = {**values, **{key: each.function_arn for key, each in _functions(deployment, text, values).items()}}
    sfn.StateMachine(
        deployment.stack,
        "Machine",
        definition_body=sfn.DefinitionBody.from_string(text),
        definition_substitutions=substitutions,
    )


def _workflow(deployment: Deployment, text: str, values: Mapping[str, str]) -> list[str]:
    functions = _functions(deployment, text, values)
    substitutions = {**values, **{key: each.function_arn for key, each in functions.items()}}
    deployment.flow(Definition.from_asl(text, substitutions=substitutions), functions)
    return [*functions]


def _functions(deployment: Deployment, text: str, values: Mapping[str, str]) -> dict[str, Any]:
    keys = sorted(set(re.findall(r"\$\{(\w+)\}", text)) - values.keys())
    return {key: function(deployment.stack, key) for key in keys}


def _assert_moved(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Of what was there only the state machine goes, with its role; functions are only wrapped."""
    gone = {name: each["Type"] for name, each in old["Resources"].items() if name not in new["Resources"]}
    assert Counter(gone.values()) - Counter({"AWS::IAM::Policy": 1}) == Counter(
        {"AWS::StepFunctions::StateMachine": 1, "AWS::IAM::Role": 1}
    )
    for name in old["Resources"].keys() - gone.keys():
        was, now = (template["Resources"][name].get("Properties", {}) for template in (old, new))
        assert {key for key in {*was, *now} if was.get(key) != now.get(key)} <= WRAPPED
    types = (
        each["Type"].removeprefix("AWS::") for name, each in new["Resources"].items() if name not in old["Resources"]
    )
    assert Counter(types) >= EVERY_WORKFLOW
