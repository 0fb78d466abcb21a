"""Strict compatibility: parts that Step Functions does otherwise are refused; the quotas of Step Functions hold."""

from dataclasses import replace
from typing import Any

import pytest

from unum_compiler.checks.differences import MOST_CHARACTERS, Difference
from unum_compiler.compatibility import HOP_BUDGET, PAYLOAD_LIMIT, Compatibility
from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json, Map

SERVICE = "arn:aws:states:::"
INVOKE = f"{SERVICE}lambda:invoke"
PASS: dict[str, Any] = {"Type": "Pass", "End": True}


def strict(definition: Json) -> Workflow:
    return replace(Definition.from_asl(definition), compatibility=Compatibility.STRICT).compile("w", None)


def machine(state: dict[str, Any], **states: Any) -> Json:
    return {"StartAt": "A", "States": {"A": {"End": True, **state}, **states}}


def task(resource: str, **fields: Json) -> dict[str, Any]:
    return {"Type": "Task", "Resource": resource, **fields}


def each(state: dict[str, Any], **config: str) -> dict[str, Any]:
    """A Map whose branches are the one state."""
    mode = {"ProcessorConfig": config} if config else {}
    return {"Type": "Map", "ItemProcessor": {**mode, "StartAt": "B", "States": {"B": {"End": True, **state}}}}


def distributed(state: dict[str, Any] = PASS, execution: str = "STANDARD", **fields: Json) -> dict[str, Any]:
    return {**each(state, Mode="DISTRIBUTED", ExecutionType=execution), **fields}


EKS = {"ClusterName": "c", "CertificateAuthority": "a", "Endpoint": "e"}
OBJECT = {"Resource": f"{SERVICE}s3:getObject", "Parameters": {"Bucket": "b", "Key": "k"}}
READER = {"Resource": f"{SERVICE}s3:listObjectsV2", "Parameters": {"Bucket": "b"}}
WRITER: dict[str, Any] = {"Resource": f"{SERVICE}s3:putObject", "Parameters": {"Bucket": "b"}}
COMPACT = {"WriterConfig": {"Transformation": "COMPACT", "OutputType": "JSON"}}
MODEL: dict[str, Any] = {"ModelId": "m", "Body": {}}
TO_S3 = {**MODEL, "Output": {"S3Uri": "s3://b/k"}}
CLUSTER = {"Name": "c", "Instances": {"KeepJobFlowAliveWhenNoSteps": True}}

Case = tuple[Difference, str, dict[str, Any], dict[str, Any]]

CASES: list[Case] = [
    (
        Difference.PARQUET,
        "$.States.A.ItemReader",
        distributed(ItemReader={**OBJECT, "ReaderConfig": {"InputType": "PARQUET"}}),
        distributed(ItemReader={**OBJECT, "ReaderConfig": {"InputType": "JSONL"}}),
    ),
    (
        Difference.RESULT,
        "$.States.A.Resource",
        task(f"{SERVICE}eks:runJob.sync", Parameters={**EKS, "Job": {}}),
        task(f"{SERVICE}eks:runJob.sync", Parameters={**EKS, "Job": {}}, ResultPath=None),
    ),
    (
        Difference.INLINE_DATA_SET,
        "$.States.A.ItemReader",
        {**each(PASS), "ItemReader": READER},
        distributed(ItemReader=READER),
    ),
    (
        Difference.RECORDS,
        "$.States.A.ResultWriter",
        distributed(ResultWriter=WRITER),
        distributed(ResultWriter={**WRITER, **COMPACT}),
    ),
    (
        Difference.EXPRESS,
        "$.States.A.ItemProcessor.States.B.Resource",
        distributed(task(f"{SERVICE}glue:startJobRun.sync", Parameters={"JobName": "j"}), "EXPRESS"),
        distributed(task(f"{SERVICE}glue:startJobRun.sync", Parameters={"JobName": "j"})),
    ),
    (
        Difference.EXPRESS,
        "$.States.A.ItemProcessor.States.B.Resource",
        distributed(task("arn:aws:states:r:1:activity:a"), "EXPRESS"),
        distributed(task("f"), "EXPRESS"),
    ),
    (
        Difference.LONG_EXPRESS,
        "$.States.A.ItemProcessor.States.B.Seconds",
        distributed({"Type": "Wait", "Seconds": 300}, "EXPRESS"),
        distributed({"Type": "Wait", "Seconds": 299}, "EXPRESS"),
    ),
    (
        Difference.NESTED_EXPRESS,
        "$.States.A.ItemProcessor.States.B",
        distributed(
            {
                **distributed(),
                "ItemProcessor": {**distributed()["ItemProcessor"], "StartAt": "C", "States": {"C": PASS}},
            },
            "EXPRESS",
        ),
        distributed({**each(PASS), "ItemProcessor": {"StartAt": "C", "States": {"C": PASS}}}, "EXPRESS"),
    ),
    (
        Difference.ROLE,
        "$.States.A.Parameters['r.$']",
        {**PASS, "Parameters": {"r.$": "$$.Execution.RoleArn"}},
        {**PASS, "Parameters": {"r.$": "$$.Execution.Name"}},
    ),
    (
        Difference.ROLE,
        "$.States.A.Output",
        {**PASS, "QueryLanguage": "JSONata", "Output": "{% $states.context.Execution %}"},
        {**PASS, "QueryLanguage": "JSONata", "Output": "{% $states.context.Execution.Input %}"},
    ),
    (
        Difference.CHILD,
        "$.States.A.ItemProcessor.States.B.Parameters['n.$']",
        distributed({**PASS, "Parameters": {"n.$": "$$.Execution.Name"}}),
        distributed({**PASS, "Parameters": {"n.$": "$$.Execution.Input"}}),
    ),
    (
        Difference.SEED,
        "$.States.A.Parameters['n.$']",
        {**PASS, "Parameters": {"n.$": "States.Array(States.MathRandom(1, 9, $.seed))"}},
        {**PASS, "Parameters": {"n.$": "States.Array(States.MathRandom(1, 9))"}},
    ),
    (
        Difference.INDEX,
        "$.States.A.InputPath",
        {**PASS, "InputPath": "$.a[-1]"},
        {**PASS, "InputPath": "$.a[-1:]"},
    ),
    (
        Difference.INDEX,
        "$.States.A.Parameters['a.$']",
        {**PASS, "Parameters": {"a.$": "$.a[0, -1]"}},
        {**PASS, "Parameters": {"a.$": "$['a[-1]']"}},
    ),
    (
        Difference.METADATA,
        "$.States.A.ResultSelector['a.$']",
        task(INVOKE, Parameters={"FunctionName": "f"}, ResultSelector={"a.$": "$.SdkHttpMetadata.HttpStatusCode"}),
        task(INVOKE, Parameters={"FunctionName": "f"}, ResultSelector={"a.$": "$.StatusCode"}),
    ),
    (
        Difference.RESULT,
        "$.States.A.Resource",
        task(f"{SERVICE}eks:deleteCluster.sync", Parameters={"Name": "c"}),
        task(f"{SERVICE}eks:deleteCluster.sync", Parameters={"Name": "c"}, ResultPath=None),
    ),
    (
        Difference.RESULT,
        "$.States.A.Resource",
        task(f"{SERVICE}elasticmapreduce:createCluster.sync", Parameters=CLUSTER),
        task(f"{SERVICE}elasticmapreduce:createCluster", Parameters=CLUSTER),
    ),
    (
        Difference.RESULT,
        "$.States.A.Arguments.Output",
        task(f"{SERVICE}bedrock:invokeModel", QueryLanguage="JSONata", Arguments=TO_S3),
        task(f"{SERVICE}bedrock:invokeModel", QueryLanguage="JSONata", Arguments=TO_S3, Output="{% $states.input %}"),
    ),
]


@pytest.mark.parametrize(("feature", "place", "state", "equal"), CASES)
def test_a_difference_is_refused_and_its_remedy_accepted(
    feature: Difference, place: str, state: dict[str, Any], equal: dict[str, Any]
) -> None:
    assert Definition.from_asl(machine(state)).compile("w", None).strict is None
    with pytest.raises(DefinitionError) as caught:
        strict(machine(state))
    assert [(problem.path, problem.feature) for problem in caught.value.problems] == [(place, feature)]
    assert caught.value.problems[0].message.startswith(f'{feature}: refused by compatibility="strict"; ')
    assert strict(machine(equal)).strict is True


def test_every_difference_has_a_case() -> None:
    elsewhere = {Difference.SIZE, Difference.EXTENSION, Difference.IR}
    assert {feature for feature, *_ in CASES} | elsewhere == {*Difference}


def test_a_definition_is_no_longer_than_the_api_takes() -> None:
    shortest = len('{"StartAt": "A", "States": {"A": {"End": true, "Type": "Pass", "Comment": ""}}}')
    longest = machine({**PASS, "Comment": "x" * (MOST_CHARACTERS - shortest)})
    assert strict(longest).strict
    longest["States"]["A"]["Comment"] += "x"
    with pytest.raises(DefinitionError, match=r"^\$: definition over 1 MiB"):
        strict(longest)


def test_compiled_definitions_and_extensions_are_no_definitions_of_step_functions() -> None:
    ir = Definition.from_asl(machine(PASS)).compile("w", None).to_json()
    with pytest.raises(DefinitionError, match=r"^\$: intermediate representation"):
        replace(Definition.from_ir(ir), compatibility=Compatibility.STRICT).compile("w", None)
    extended = Definition.from_asl(machine(each(task("f"))))
    extended = replace(extended, extensions={"A": {"quorum": 1}}, compatibility=Compatibility.STRICT)
    with pytest.raises(DefinitionError, match=r"^\$\.states\.A\.quorum: extension of the language"):
        extended.compile("w", None)


def test_mistakes_and_differences_are_reported_together() -> None:
    definition = machine({**PASS, "Parameters": {"r.$": "$$.Execution.RoleArn"}, "Nxt": "B"})
    with pytest.raises(DefinitionError) as caught:
        strict(definition)
    assert [problem.path for problem in caught.value.problems] == ["$.States.A.Parameters['r.$']", "$.States.A.Nxt"]


def test_the_quotas_are_part_of_the_compiled_definition() -> None:
    definition = machine(each(task("f")))
    workflow = strict(definition)
    assert (workflow.payload_limit, workflow.hop_budget, workflow.strict) == (PAYLOAD_LIMIT, HOP_BUDGET, True)
    some = workflow.states["A"]
    assert isinstance(some, Map)
    assert some.has_limit
    assert Workflow.from_json(workflow.to_json()).to_json() == workflow.to_json()
    usual = Definition.from_asl(definition).compile("w", None)
    assert "strict" not in usual.to_json()
    assert usual.payload_limit is None
