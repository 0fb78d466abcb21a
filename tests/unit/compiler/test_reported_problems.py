"""Problems of a definition, all at once, each with its place and a remedy."""

import copy
from typing import Any

import pytest

from unum_compiler import compile_workflow
from unum_runtime.errors import DefinitionError, Problem


def task(**fields: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": "f", **({} if "Next" in fields else {"End": True}), **fields}


def scope(**states: Any) -> dict[str, Any]:
    return {"StartAt": next(iter(states)), "States": states}


def problems(definition: Any, functions: tuple[str, ...] | None = ("f",)) -> tuple[Problem, ...]:
    with pytest.raises(DefinitionError) as caught:
        compile_workflow(definition, name="w", functions=functions)
    return caught.value.problems


def choice(*rules: Any, **fields: Any) -> dict[str, Any]:
    return {"Type": "Choice", "Choices": list(rules), **fields}


IS_A = {"Variable": "$.a", "IsPresent": True, "Next": "A"}

MISTAKES = {
    "no object": ([], "$", "expected a state machine"),
    "no StartAt": ({"States": {"A": task()}}, "$", '"StartAt" is missing'),
    "unknown StartAt": ({"StartAt": "B", "States": {"A": task()}}, "$.StartAt", 'no state "B"'),
    "no States": ({"StartAt": "A"}, "$", '"States" is missing'),
    "empty States": ({"StartAt": "A", "States": {}}, "$.States", "at least one state"),
    "States is an array": ({"StartAt": "A", "States": []}, "$.States", "expected an object"),
    "state is no object": (scope(A=1), "$.States.A", "expected a state"),
    "unknown field": (scope(A=task(ResultPaht="$")), "$.States.A.ResultPaht", 'did you mean "ResultPath"?'),
    "unknown top-level field": ({**scope(A=task()), "StartsAt": "A"}, "$.StartsAt", 'did you mean "StartAt"?'),
    "version": ({**scope(A=task()), "Version": "2"}, "$.Version", 'expected "1.0"'),
    "query language": ({**scope(A=task()), "QueryLanguage": "XPath"}, "$.QueryLanguage", 'expected "JSONPath"'),
    "comment": (scope(A=task(Comment=1)), "$.States.A.Comment", "expected a string, got 1"),
    "no Type": (scope(A={"End": True}), "$.States.A", '"Type" is missing'),
    "unknown Type": (scope(A={"Type": "Taks", "End": True}), "$.States.A.Type", 'did you mean "Task"?'),
    "unknown Next": (scope(Hello=task(Next="Helo")), "$.States.Hello.Next", 'did you mean "Hello"?'),
    "empty Next": (scope(A=task(Next="")), "$.States.A.Next", 'no state ""'),
    "empty StartAt": ({"StartAt": "", "States": {"A": task()}}, "$.StartAt", 'no state ""'),
    "no Next": (scope(A={"Type": "Pass"}), "$.States.A", "got neither"),
    "Next and End": (scope(A=task(Next="B", End=True), B=task()), "$.States.A", "got both"),
    "End false": (scope(A=task(End=False)), "$.States.A", "got neither"),
    "End of another type": (scope(A=task(End="true")), "$.States.A.End", "expected true or false"),
    "Next of another type": (scope(A=task(Next=1)), "$.States.A.Next", "expected a string"),
    "Next on Succeed": (scope(A={"Type": "Succeed", "Next": "A"}), "$.States.A.Next", "Succeed has no field"),
    "End on Fail": (scope(A={"Type": "Fail", "End": True}), "$.States.A.End", "Fail has no field"),
    "Next on Choice": (scope(C=choice(IS_A, Next="A"), A=task()), "$.States.C.Next", "Choice has no field"),
    "ResultSelector on Pass": (
        scope(A={"Type": "Pass", "End": True, "ResultSelector": {}}),
        "$.States.A.ResultSelector",
        "",
    ),
    "unreachable": (scope(A=task(), B=task()), "$.States.B", "no transition leads here"),
    "no end": (scope(A=task(Next="A")), "$", "the scope never ends"),
    "no end in a branch": (
        scope(A={"Type": "Parallel", "End": True, "Branches": [scope(B=task(Next="B"))]}),
        "$.States.A.Branches[0]",
        "never ends",
    ),
    "long name": (scope(**{"x" * 81: task()}), f"$.States.{'x' * 81}", "1 to 80 characters"),
    "out of the scope": (
        scope(A={"Type": "Map", "ItemProcessor": scope(B=task(Next="C")), "Next": "C"}, C=task()),
        "$.States.A.ItemProcessor.States.B.Next",
        "outside this scope, at $.States.C",
    ),
    "a name twice": (
        scope(A={"Type": "Map", "ItemProcessor": scope(A=task()), "End": True}),
        "$.States.A.ItemProcessor.States.A",
        "taken by $.States.A",
    ),
    "no rules": (scope(C=choice(Default="A"), A=task()), "$.States.C.Choices", "at least one rule"),
    "no Choices": (scope(C={"Type": "Choice"}), "$.States.C", '"Choices" is missing'),
    "rule without Next": (
        scope(C=choice({"Variable": "$", "IsNull": True})),
        "$.States.C.Choices[0]",
        '"Next" is missing',
    ),
    "rule without operator": (scope(C=choice({"Variable": "$", "Next": "C"})), "$.States.C.Choices[0]", "operator"),
    "rule with unknown operator": (
        scope(C=choice({"Variable": "$", "StringEqual": "a", "Next": "C"})),
        "$.States.C.Choices[0].StringEqual",
        "",
    ),
    "literal of another type": (
        scope(C=choice({"Variable": "$", "NumericEquals": "1", "Next": "C"})),
        "$.States.C.Choices[0].NumericEquals",
        "expected a number",
    ),
    "rule to nowhere": (scope(C=choice(IS_A, Default="C")), "$.States.C.Choices[0].Next", 'no state "A"'),
    "default to nowhere": (scope(C=choice({**IS_A, "Next": "C"}, Default="D")), "$.States.C.Default", 'no state "D"'),
    "input path": (scope(A=task(InputPath="a.b")), "$.States.A.InputPath", "$"),
    "input path of another type": (scope(A=task(InputPath=1)), "$.States.A.InputPath", "expected a path"),
    "result path with wildcard": (scope(A=task(ResultPath="$.a[*]")), "$.States.A.ResultPath", "reference path"),
    "result path into context": (scope(A=task(ResultPath="$$.a")), "$.States.A.ResultPath", "context object"),
    "template": (scope(A=task(Parameters=3)), "$.States.A.Parameters", "expected an object, an array or a text"),
    "template of a service": (
        scope(A=task(Resource="arn:aws:states:::sqs:sendMessage", Parameters=["a"])),
        "$.States.A.Parameters",
        "expected an object, got",
    ),
    "assign": (
        scope(A=task(Assign=["a"])),
        "$.States.A.Assign",
        "expected an object, got",
    ),
    "dynamic field": (scope(A=task(Parameters={"b": [{"a.$": "a"}]})), "$.States.A.Parameters.b[0]['a.$']", "path"),
    "unknown context field": (
        scope(A=task(Parameters={"a.$": "$$.Execution.Nam"})),
        "$.States.A.Parameters['a.$']",
        'did you mean "Execution.Name"?',
    ),
    "items path": (
        scope(A={"Type": "Map", "ItemProcessor": scope(B=task()), "End": True, "ItemsPath": None}),
        "$.States.A.ItemsPath",
        "expected a path",
    ),
    "negative concurrency": (
        scope(A={"Type": "Map", "ItemProcessor": scope(B=task()), "End": True, "MaxConcurrency": -1}),
        "$.States.A.MaxConcurrency",
        "got -1",
    ),
    "concurrency true": (
        scope(A={"Type": "Map", "ItemProcessor": scope(B=task()), "End": True, "MaxConcurrency": True}),
        "$.States.A.MaxConcurrency",
        "expected an integer",
    ),
    "both processors": (
        scope(A={"Type": "Map", "ItemProcessor": scope(B=task()), "Iterator": scope(C=task()), "End": True}),
        "$.States.A",
        'older name "Iterator"',
    ),
    "both selectors": (
        scope(A={"Type": "Map", "ItemProcessor": scope(B=task()), "ItemSelector": {}, "Parameters": {}, "End": True}),
        "$.States.A",
        'older name "Parameters"',
    ),
    "no processor": (scope(A={"Type": "Map", "End": True}), "$.States.A", '"ItemProcessor" is missing'),
    "processor mode": (
        scope(A={"Type": "Map", "ItemProcessor": {**scope(B=task()), "ProcessorConfig": {"Mode": "X"}}, "End": True}),
        "$.States.A.ItemProcessor.ProcessorConfig.Mode",
        'expected "INLINE"',
    ),
    "processor config": (
        scope(A={"Type": "Map", "ItemProcessor": {**scope(B=task()), "ProcessorConfig": 1}, "End": True}),
        "$.States.A.ItemProcessor.ProcessorConfig",
        "expected an object, got 1",
    ),
    "processor config field": (
        scope(A={"Type": "Map", "ItemProcessor": {**scope(B=task()), "ProcessorConfig": {"Mod": 1}}, "End": True}),
        "$.States.A.ItemProcessor.ProcessorConfig.Mod",
        'did you mean "Mode"?',
    ),
    "execution type of an inline map": (
        scope(
            A={
                "Type": "Map",
                "ItemProcessor": {**scope(B=task()), "ProcessorConfig": {"ExecutionType": "STANDARD"}},
                "End": True,
            }
        ),
        "$.States.A.ItemProcessor.ProcessorConfig.ExecutionType",
        "only a distributed Map",
    ),
    "rule is no object": (scope(C=choice(1)), "$.States.C.Choices[0]", "expected a rule"),
    "payload twice": (
        scope(
            A=task(
                Resource="arn:aws:states:::lambda:invoke",
                Parameters={"FunctionName": "f", "Payload": 1, "Payload.$": "$"},
            )
        ),
        "$.States.A.Parameters",
        "got both",
    ),
    "no branches": (scope(A={"Type": "Parallel", "Branches": [], "End": True}), "$.States.A.Branches", "at least one"),
    "branch is no object": (scope(A={"Type": "Parallel", "Branches": [[]], "End": True}), "$.States.A.Branches[0]", ""),
    "no resource": (scope(A={"Type": "Task", "End": True}), "$.States.A", '"Resource" is missing'),
    "unknown function": (scope(A=task(Resource="ff")), "$.States.A.Resource", 'did you mean "f"?'),
    "unknown resource": (scope(A=task(Resource="arn:aws:sqs:::q")), "$.States.A.Resource", "names no function"),
    "service in the wrong case": (
        scope(A=task(Resource="arn:aws:states:::aws-sdk:s3:ListBuckets")),
        "$.States.A.Resource",
        'expected "aws-sdk:s3:listBuckets"',
    ),
    "qualifier": (
        scope(A=task(Resource="arn:aws:lambda:eu-west-1:111111111111:function:f:")),
        "$.States.A.Resource",
        "names no function",
    ),
    "no function name": (
        scope(A=task(Resource="arn:aws:states:::lambda:invoke", Parameters={"Payload": 1})),
        "$.States.A.Parameters",
        '"FunctionName"',
    ),
    "invoke parameter": (
        scope(A=task(Resource="arn:aws:states:::lambda:invoke", Parameters={"FunctionName": "f", "Paylod": 1})),
        "$.States.A.Parameters.Paylod",
        'did you mean "Payload"?',
    ),
    "token of an unknown function": (scope(A=task(Resource="${Token[TOKEN.7]}")), "$.States.A.Resource", "CDK token"),
    "token in data": (scope(A=task(Parameters={"a": "x-${Token[T.7]}"})), "$.States.A.Parameters.a", "CDK token"),
    "token of a number": (
        scope(A=task(Parameters={"a": -1.8881545897087626e289})),
        "$.States.A.Parameters.a",
        "CDK token",
    ),
}


@pytest.mark.parametrize(("definition", "path", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistake_is_reported_with_its_place(definition: Any, path: str, message: str) -> None:
    found = [problem for problem in problems(definition) if problem.path == path]
    assert [problem for problem in found if message in problem.message and problem.feature is None]


def test_definition_stays_as_it_was() -> None:
    definition = scope(A=task(Parameters={"a": {"b.$": "$"}}))
    before = copy.deepcopy(definition)
    workflow = compile_workflow(definition, name="w", functions=None)
    definition["States"]["A"]["Parameters"]["a"]["c"] = 1
    assert workflow.states["A"].data == {"Parameters": before["States"]["A"]["Parameters"]}


def test_all_problems_come_at_once_in_the_order_of_the_definition() -> None:
    definition = scope(
        A=task(Next="Nowhere", Resource="unknown"),
        B={"Type": "Wait", "Seconds": -1, "Next": "A"},
        C=task(InputPath="bad", Retry=[{}]),
    )
    assert [problem.path for problem in problems(definition)] == [
        "$",
        "$.States.A.Resource",
        "$.States.A.Next",
        "$.States.B",
        "$.States.B.Seconds",
        "$.States.C",
        "$.States.C.InputPath",
        "$.States.C.Retry[0]",
    ]


def test_a_state_that_only_a_catcher_leads_to_is_reachable() -> None:
    definition = scope(A=task(Catch=[{"ErrorEquals": ["States.ALL"], "Next": "B"}]), B=task())
    assert compile_workflow(definition, name="w", functions=None).task("B")


def test_what_is_no_json_is_refused() -> None:
    assert problems(scope(A={"Type": "Pass", "Result": {"a": {1, 2}}, "End": True}))[0].path == "$.States.A.Result.a"
    assert problems(scope(A={"Type": "Pass", "Result": float("nan"), "End": True}))[0].path == "$.States.A.Result"
    assert problems(scope(A={"Type": "Pass", "Result": "\ud800", "End": True}))[0].path == "$.States.A.Result"
    assert problems(scope(A={"Type": "Pass", "Result": {1: 2}, "End": True}))[0].path == "$.States.A.Result"


def test_what_is_nested_too_deeply_is_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert "nested too deeply" in problems(scope(A={"Type": "Pass", "Result": deep, "End": True}))[0].message
