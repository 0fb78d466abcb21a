"""Warnings about definitions that Step Functions takes but hardly anybody means."""

from typing import Any

import pytest

from unum_compiler import to_compiled
from unum_compiler.definition import Definition

SEND = "arn:aws:states:::sqs:sendMessage.waitForTaskToken"
INVOKE = "arn:aws:states:::lambda:invoke.waitForTaskToken"
ACTIVITY = "arn:aws:states:eu-west-1:111111111111:activity:people"
JSONATA = {"QueryLanguage": "JSONata"}


def task(**fields: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": "f", "End": True, **fields}


def choice(rule: dict[str, Any]) -> dict[str, Any]:
    return {"Type": "Choice", "Choices": [{**rule, "Next": "Last"}], "Default": "Last"}


def catching(*errors: str) -> dict[str, Any]:
    return task(Catch=[{"ErrorEquals": [*errors], "Next": "Last"}])


def warned(state: dict[str, Any]) -> list[tuple[str, str]]:
    last = {"Last": {"Type": "Succeed"}} if "Last" in str(state) else {}
    definition = Definition.from_asl({"StartAt": "A", "States": {"A": state, **last}})
    assert definition.compile("w", None)
    return [(each.code, each.path) for each in definition.warnings()]


ERROR, TOKEN, DOLLAR, PATH = "UNKNOWN_ERROR", "NO_TASK_TOKEN", "NO_DOLLAR", "NO_PATH"
VARIABLE, QUALIFIER = "UNASSIGNED_VARIABLE", "UNUSED_QUALIFIER"
FUNCTION, CALL = "arn:aws:lambda:eu-west-1:123456789012:function:f", "arn:aws:states:::lambda:invoke"

WARNED: dict[str, tuple[dict[str, Any], str, str]] = {
    "case of an error": (task(Retry=[{"ErrorEquals": ["States.TimeOut"]}]), ERROR, ".Retry[0].ErrorEquals[0]"),
    "case of all names": (catching("E", "states.timeout"), ERROR, ".Catch[0].ErrorEquals[1]"),
    "a name of one's own": (catching("States.MyError"), ERROR, ".Catch[0].ErrorEquals[0]"),
    "no token": (task(Resource=SEND, Parameters={"QueueUrl": "u", "MessageBody": "m"}), TOKEN, ""),
    "no token for a function": (task(Resource=INVOKE, Parameters={"FunctionName": "f"}), TOKEN, ""),
    "no token in JSONata": (
        task(**JSONATA, Resource=SEND, Arguments={"QueueUrl": "u", "MessageBody": "{% $states.input %}"}),
        TOKEN,
        "",
    ),
    "an alias behind a key": (task(Resource="${f}:live"), QUALIFIER, ".Resource"),
    "a version in an ARN": (task(Resource=f"{FUNCTION}:12"), QUALIFIER, ".Resource"),
    "an alias of what is invoked": (
        task(Resource=CALL, Parameters={"FunctionName": f"{FUNCTION}:live"}),
        QUALIFIER,
        ".Parameters.FunctionName",
    ),
    "an alias in JSONata": (
        task(**JSONATA, Resource=CALL, Arguments={"FunctionName": "${f}:live"}),
        QUALIFIER,
        ".Arguments.FunctionName",
    ),
    "path in a template": (task(Parameters={"a": [{"b": "$.c"}]}), DOLLAR, ".Parameters.a[0].b"),
    "context object in a template": (task(ResultSelector={"a": "$$.State.Name"}), DOLLAR, ".ResultSelector.a"),
    "function in a template": (task(Parameters={"a": "States.UUID()"}), DOLLAR, ".Parameters.a"),
    "path in a variable": (task(Assign={"a": "$"}), DOLLAR, ".Assign.a"),
    "path in a variable of a rule": (
        choice({"Variable": "$.a", "IsNull": True, "Assign": {"b": "$.c"}}),
        DOLLAR,
        ".Choices[0].Assign.b",
    ),
    "no such variable": (task(Parameters={"a.$": "$total"}), VARIABLE, ".Parameters['a.$']"),
    "no such variable in a function": (
        task(Parameters={"a.$": "States.Format('{}', $total)"}, Assign={"totals": 1}),
        VARIABLE,
        ".Parameters['a.$']",
    ),
    "no such variable in a comparison": (
        choice({"Variable": "$total", "IsNull": True}),
        VARIABLE,
        ".Choices[0].Variable",
    ),
    "no such variable in JSONata": (task(**JSONATA, Output={"a": "{% $total + $sum([1]) %}"}), VARIABLE, ".Output.a"),
    "no such function in JSONata": (task(**JSONATA, Output="{% $summ([1]) %}"), VARIABLE, ".Output"),
    "path as result": ({"Type": "Pass", "Result": {"a": "$.b"}, "End": True}, "PASS_RESULT_IS_STATIC", ".Result.a"),
    "path as cause": ({"Type": "Fail", "Error": "E", "Cause": "$.cause"}, PATH, ".Cause"),
    "path as operand": (choice({"Variable": "$.a", "StringEquals": "$.b"}), PATH, ".Choices[0].StringEquals"),
    "path as operand within": (
        choice({"Not": {"And": [{"Variable": "$.a", "StringEquals": "$.b"}]}}),
        PATH,
        ".Choices[0].Not.And[0].StringEquals",
    ),
}


@pytest.mark.parametrize(("state", "code", "place"), WARNED.values(), ids=WARNED.keys())
def test_what_nobody_means(state: dict[str, Any], code: str, place: str) -> None:
    assert warned(state) == [(code, f"$.States.A{place}")]


RIGHT = {
    "variables": task(
        Parameters={"a.$": "$total"}, Assign={"total": 1}, Catch=[{"ErrorEquals": ["E"], "Next": "Last"}]
    ),
    "variables in JSONata": task(
        **JSONATA, Assign={"n": "{% ($one := 1; $exists($n) ? $n + $one : $map([1], function($v) { $v })) %}"}
    ),
    "names of errors": catching("States.Timeout", "States.Http.StatusCode.404", "Lambda.Unknown", "StatesOwn"),
    "a token": task(Resource=INVOKE, Parameters={"FunctionName": "f", "Payload": {"t.$": "$$.Task.Token"}}),
    "a token in a function": task(
        Resource=SEND, Parameters={"QueueUrl": "u", "MessageBody.$": "States.Format('{}', $$.Task.Token)"}
    ),
    "the whole context object": task(Resource=SEND, Parameters={"QueueUrl": "u", "MessageBody": {"all.$": "$$"}}),
    "a token in JSONata": task(
        **JSONATA, Resource=SEND, Arguments="{% {'QueueUrl': 'u', 'MessageBody': $states.context.Task.Token} %}"
    ),
    "what may be the token": task(**JSONATA, Resource=SEND, Arguments="{% $lookup($states, 'context') %}"),
    "unpublished code": task(Resource="${f}:$LATEST"),
    "an alias by its name": task(Resource=CALL, Parameters={"FunctionName": "f", "Qualifier": "live"}),
    "an activity": task(Resource=ACTIVITY),
    "paths where they are paths": task(Parameters={"a.$": "$.b", "c": {"d.$": "States.UUID()"}}, ResultPath="$.r"),
    "arithmetic": task(Parameters={"expression": "$.a + 1"}),
    "money": {"Type": "Pass", "Result": {"currency": "$"}, "End": True},
    "texts": task(Parameters={"a": "$LATEST", "b": "$5", "c": "costs $.", "d": "States.UUID", "e": "a$.b"}),
    "paths in JSONata": task(**JSONATA, Arguments={"a": "$.b"}, Assign={"a": "$.b"}),
    "operands": choice({"Variable": "$.a", "StringEqualsPath": "$.b", "Comment": "$.c"}),
}


@pytest.mark.parametrize("state", RIGHT.values(), ids=RIGHT.keys())
def test_what_is_meant(state: dict[str, Any]) -> None:
    assert warned(state) == []


def test_states_inside_others_are_looked_at() -> None:
    inner = {"StartAt": "B", "States": {"B": task(Parameters={"b": "$.c"})}}
    outer = {"Type": "Parallel", "Branches": [inner], "End": True}
    assert warned(outer) == [(DOLLAR, "$.States.A.Branches[0].States.B.Parameters.b")]


def test_inner_scopes_see_variables_and_executions_of_their_own_do_not() -> None:
    inner = {"StartAt": "B", "States": {"B": {"Type": "Pass", "Parameters": {"b.$": "$total"}, "End": True}}}
    inline = {"Type": "Map", "ItemProcessor": inner, "Assign": {"total": 1}, "End": True}
    assert warned(inline) == []
    distributed = {**inline, "ItemProcessor": {**inner, "ProcessorConfig": {"Mode": "DISTRIBUTED"}}}
    assert warned(distributed) == [(VARIABLE, "$.States.A.ItemProcessor.States.B.Parameters['b.$']")]


def test_what_an_inner_scope_assigns_is_not_seen_around_it() -> None:
    inner = {"StartAt": "B", "States": {"B": {"Type": "Pass", "Assign": {"total": 1}, "End": True}}}
    outer = {"Type": "Parallel", "Branches": [inner], "ResultSelector": {"a.$": "$total"}, "End": True}
    assert warned(outer) == [(VARIABLE, "$.States.A.ResultSelector['a.$']")]


def test_a_warning_says_what_to_do() -> None:
    machine = {"StartAt": "A", "States": {"A": catching("States.timeout"), "Last": {"Type": "Succeed"}}}
    (only,) = Definition.from_asl(machine).warnings()
    assert str(only) == (
        '$.States.A.Catch[0].ErrorEquals[0]: Step Functions has no error "States.timeout", '
        'and your own names cannot begin with States.; did you mean "States.Timeout"?'
    )


def test_what_is_compiled_already_has_none() -> None:
    machine = {"StartAt": "A", "States": {"A": task(Parameters={"b": "$.c"})}}
    assert Definition.from_ir(to_compiled(Definition.from_asl(machine).compile("w", None))).warnings() == ()
