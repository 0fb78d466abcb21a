"""Definitions that strict compatibility refuses, each beside one that it accepts."""

from dataclasses import replace
from typing import Any

from unum_compiler import to_compiled
from unum_compiler.checks.differences import MOST_CHARACTERS, Difference
from unum_compiler.compatibility import Compatibility
from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json

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
        Difference.EXCESS,
        "$.States.A.Output.n",
        {**PASS, "QueryLanguage": "JSONata", "Output": {"n": "{% $sum([1..900000]) %}"}},
        {**PASS, "QueryLanguage": "JSONata", "Output": {"n": "{% $sum([1..9]) %}"}},
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

LONG = machine({**PASS, "Comment": "x" * MOST_CHARACTERS})
IR = Definition.from_ir(to_compiled(Definition.from_asl(machine(PASS)).compile("w", None)))
EXTENDED = replace(Definition.from_asl(machine(each(task("f")))), extensions={"A": {"quorum": 1}})
REFUSED: list[Definition] = [
    *(Definition.from_asl(machine(state)) for _, _, state, _ in CASES),
    Definition.from_asl(LONG),
    IR,
    EXTENDED,
]
"""All of them, with those that are refused as a whole."""


def refusal(definition: Definition) -> Problem:
    """Return the only problem of `definition` under strict compatibility."""
    try:
        replace(definition, compatibility=Compatibility.STRICT).compile("w", None)
    except DefinitionError as error:
        (problem,) = error.problems
        return problem
    raise AssertionError(f"expected a refusal of {definition}")
