"""What the language has and this version has not is refused by its name and place; nothing is ignored."""

from typing import Any

import pytest

from unum_constructs.compiler import compile_workflow
from unum_runtime.errors import DefinitionError

INVOKE = "arn:aws:states:::lambda:invoke"


def task(**fields: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": "f", "End": True, **fields}


def machine(state: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"StartAt": "A", "States": {"A": state}, **fields}


def fan_out(**fields: Any) -> dict[str, Any]:
    processor = {"StartAt": "B", "States": {"B": task()}}
    return {"Type": "Map", "ItemProcessor": processor, "End": True, **fields}


def resource(name: str) -> dict[str, Any]:
    return task(Resource=name)


STATE_FIELDS = {
    "Retry": (task(Retry=[]), "Retry"),
    "Catch": (task(Catch=[]), "Catch"),
    "TimeoutSeconds": (task(TimeoutSeconds=3), "TimeoutSeconds"),
    "TimeoutSecondsPath": (task(TimeoutSecondsPath="$.t"), "TimeoutSeconds"),
    "HeartbeatSeconds": (task(HeartbeatSeconds=3), "HeartbeatSeconds"),
    "Credentials": (task(Credentials={}), "Credentials"),
    "Assign": (task(Assign={"x": 1}), "workflow variables"),
    "Arguments": (task(Arguments={}), "JSONata"),
    "Output": (task(Output=""), "JSONata"),
    "QueryLanguage": (task(QueryLanguage="JSONata"), "JSONata"),
    "ErrorPath": ({"Type": "Fail", "ErrorPath": "$.e"}, "ErrorPath and CausePath"),
    "CausePath": ({"Type": "Fail", "CausePath": "$.e"}, "ErrorPath and CausePath"),
    "ItemReader": (fan_out(ItemReader={}), "distributed Map"),
    "ItemBatcher": (fan_out(ItemBatcher={}), "distributed Map"),
    "ResultWriter": (fan_out(ResultWriter={}), "distributed Map"),
    "Label": (fan_out(Label="l"), "distributed Map"),
    "ToleratedFailureCount": (fan_out(ToleratedFailureCount=1), "distributed Map"),
    "ToleratedFailurePercentage": (fan_out(ToleratedFailurePercentage=1), "distributed Map"),
    "MaxConcurrencyPath": (fan_out(MaxConcurrencyPath="$.m"), "MaxConcurrencyPath"),
    "MaxConcurrency": (fan_out(MaxConcurrency="{% $m %}"), "JSONata"),
    "Items": (fan_out(Items="{% $i %}"), "JSONata"),
    "InputPath": (task(InputPath="$variable.a"), "workflow variables"),
    "OutputPath": (task(OutputPath="$$.Execution.Input"), "$$.Execution.Input"),
    "Type": ({"Type": "Wait", "Seconds": 1, "End": True}, "Wait"),
}

RESOURCES = {
    "arn:aws:states:::sqs:sendMessage": "service integration sqs:sendMessage",
    "arn:aws:states:::aws-sdk:s3:getObject": "service integration aws-sdk:s3:getObject",
    "arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}:aws-sdk:s3:getObject": (
        "service integration aws-sdk:s3:getObject"
    ),
    "arn:aws:states:::ecs:runTask.sync": ".sync",
    "arn:aws:states:::states:startExecution.sync:2": ".sync",
    "arn:aws:states:::lambda:invoke.waitForTaskToken": ".waitForTaskToken",
    "arn:aws:states:eu-west-1:111111111111:activity:a": "activity",
}

TEMPLATES = {
    "States.Format('{}', $.a)": "States.Format",
    "States.UUID()": "States.UUID",
    "$variable": "workflow variables",
    "$$": "$$",
    "$$.Execution": "$$.Execution",
    "$$.Execution.Input.a": "$$.Execution.Input",
    "$$.Task.Token": "$$.Task.Token",
    "$$.State.RetryCount": "$$.State.RetryCount",
    "$$.Map.Item.Value": "$$.Map.Item.Value",
}


def features(definition: Any) -> list[tuple[str, str | None]]:
    with pytest.raises(DefinitionError) as caught:
        compile_workflow(definition, name="w", functions=None)
    return [(problem.path, problem.feature) for problem in caught.value.problems]


@pytest.mark.parametrize("field", STATE_FIELDS)
def test_field_is_refused_by_its_feature(field: str) -> None:
    state, feature = STATE_FIELDS[field]
    assert features(machine(state)) == [(f"$.States.A.{field}", feature)]


@pytest.mark.parametrize("name", RESOURCES)
def test_resource_is_refused_by_its_feature(name: str) -> None:
    assert features(machine(resource(name))) == [("$.States.A.Resource", RESOURCES[name])]


@pytest.mark.parametrize("text", TEMPLATES)
def test_expression_is_refused_by_its_feature(text: str) -> None:
    state = task(Parameters={"a": [{"b.$": text}]})
    assert features(machine(state)) == [("$.States.A.Parameters.a[0]['b.$']", TEMPLATES[text])]


def test_item_is_known_to_the_item_selector_alone() -> None:
    selector = {"i.$": "$$.Map.Item.Index", "v.$": "$$.Map.Item.Value.a", "x.$": "$.x"}
    compile_workflow(machine(fan_out(ItemSelector=selector)), name="w", functions=None)
    compile_workflow(machine(fan_out(Parameters=selector)), name="w", functions=None)
    assert features(machine(fan_out(ResultSelector=selector))) == [
        ("$.States.A.ResultSelector['i.$']", "$$.Map.Item.Index"),
        ("$.States.A.ResultSelector['v.$']", "$$.Map.Item.Value"),
    ]


def test_machine_fields_are_refused_by_their_features() -> None:
    assert features(machine(task(), TimeoutSeconds=3)) == [("$.TimeoutSeconds", "TimeoutSeconds")]
    assert features(machine(task(), QueryLanguage="JSONata")) == [("$.QueryLanguage", "JSONata")]


def test_distributed_mode_is_refused() -> None:
    state = fan_out()
    state["ItemProcessor"]["ProcessorConfig"] = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    assert features(machine(state)) == [("$.States.A.ItemProcessor.ProcessorConfig.Mode", "distributed Map")]


def test_rule_in_jsonata_is_refused() -> None:
    choice = {"Type": "Choice", "Choices": [{"Condition": "{% true %}", "Next": "B"}]}
    definition = {"StartAt": "A", "States": {"A": choice, "B": task()}}
    assert features(definition) == [("$.States.A.Choices[0].Condition", "JSONata")]


def test_options_of_invoke_are_refused() -> None:
    state = task(Resource=INVOKE, Parameters={"FunctionName": "f", "InvocationType": "Event"})
    assert features(machine(state)) == [
        ("$.States.A.Parameters.InvocationType", "lambda:invoke options: InvocationType")
    ]


def test_function_chosen_at_run_time_is_refused() -> None:
    state = task(Resource=INVOKE, Parameters={"FunctionName.$": "$.f", "Payload.$": "$"})
    assert features(machine(state)) == [("$.States.A.Parameters['FunctionName.$']", "FunctionName chosen at run time")]
