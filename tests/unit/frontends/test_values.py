"""Tokens in definitions: functions become keys, everything else a named value."""

from typing import Any

import pytest

from unum_compiler.frontends.deploy_time_values import named_functions, take_values

ARN, TABLE, KEY = (f"${{Token[TOKEN.{number}]}}" for number in (11, 12, 13))
PARTITION = "${Token[AWS.Partition.3]}"


def machine(**state: Any) -> dict[str, Any]:
    return {"StartAt": "A", "States": {"A": state}}


def taken(**state: Any) -> tuple[Any, dict[str, str]]:
    result, values = take_values(machine(**state), {ARN: "f"})
    return result["States"]["A"], dict(values)


def test_one_token_has_one_name() -> None:
    state, values = taken(Type="Pass", Result=[TABLE, {"k": f"{KEY}/{TABLE}"}])
    assert state["Result"] == ["${Value1}", {"k": "${Value2}/${Value1}"}]
    assert values == {"Value1": TABLE, "Value2": KEY}


def test_names_that_the_definition_has_are_not_given_again() -> None:
    state, values = taken(Type="Pass", Result=["${Value1}", TABLE])
    assert state["Result"] == ["${Value1}", "${Value2}"]
    assert values == {"Value2": TABLE}


@pytest.mark.parametrize("field", ["Parameters", "Arguments"])
def test_invoked_function_becomes_its_key(field: str) -> None:
    invoke = f"arn:{PARTITION}:states:::lambda:invoke.waitForTaskToken"
    state, values = taken(Type="Task", Resource=invoke, **{field: {"FunctionName": ARN, "Payload": {"t": TABLE}}})
    assert state["Resource"] == "arn:aws:states:::lambda:invoke.waitForTaskToken"
    assert state[field] == {"FunctionName": "f", "Payload": {"t": "${Value1}"}}
    assert values == {"Value1": TABLE}


@pytest.mark.parametrize(("qualifier", "key"), [("$LATEST", "f"), ("live", "${f}:live"), ("12", "${f}:12")])
def test_qualifier_behind_a_functions_token_is_left_to_the_compiler(qualifier: str, key: str) -> None:
    name = f"{ARN}:{qualifier}"
    invoke = "arn:aws:states:::lambda:invoke"
    assert taken(Type="Task", Resource=name)[0]["Resource"] == key
    assert taken(Type="Task", Resource=invoke, Parameters={"FunctionName": name})[0]["Parameters"] == {
        "FunctionName": key
    }
    assert taken(Type="Task", Resource=f"{TABLE}:{qualifier}")[0]["Resource"] == f"{TABLE}:{qualifier}"


def test_the_token_of_a_name_may_stand_in_an_arn() -> None:
    name = f"arn:{PARTITION}:lambda:eu-west-1:{KEY}:function:{ARN}"
    assert taken(Type="Task", Resource=name)[0]["Resource"] == "f"
    assert taken(Type="Task", Resource=f"{name}:live")[0]["Resource"] == "${f}:live"


@pytest.mark.parametrize("qualifier", ["", ":live"])
def test_an_arn_of_a_function_elsewhere_may_have_tokens_before_its_name(qualifier: str) -> None:
    name = f"arn:{PARTITION}:lambda:{TABLE}:{KEY}:function:other{qualifier}"
    state, values = taken(Type="Task", Resource=name)
    assert state["Resource"] == f"arn:${{Value1}}:lambda:${{Value2}}:${{Value3}}:function:other{qualifier}"
    assert values == {"Value1": PARTITION, "Value2": TABLE, "Value3": KEY}


def test_a_function_that_is_not_run_is_a_value() -> None:
    state, values = taken(Type="Task", Resource=ARN, Parameters={"FunctionName": ARN})
    assert (state["Resource"], state["Parameters"]) == ("f", {"FunctionName": "${Value1}"})
    assert values == {"Value1": ARN}


def test_partition_of_a_reader_says_nothing() -> None:
    state, values = taken(Type="Map", ItemReader={"Resource": f"arn:{PARTITION}:states:::s3:getObject"})
    assert state["ItemReader"] == {"Resource": "arn:aws:states:::s3:getObject"}
    assert not values


def test_what_cannot_be_a_value_is_left_for_the_compiler() -> None:
    number, array = -1.8881545897087708e289, ["#{Token[TOKEN.14]}", "more"]
    given: Any = {"Type": "Pass", "Comment": number, "Assign": {"a": array}, "Next": TABLE, TABLE: 1}
    assert taken(**given) == (given, {})


def test_branches_are_searched_for_functions() -> None:
    inner = machine(Type="Task", Resource=ARN)
    invoke = {
        "Type": "Task",
        "Resource": f"arn:{PARTITION}:states:::lambda:invoke",
        "Parameters": {"FunctionName": KEY},
    }
    outer = {
        "States": {
            "P": {"Type": "Parallel", "Branches": [inner]},
            "M": {"Type": "Map", "ItemProcessor": machine(**invoke)},
            "I": {"Type": "Map", "Iterator": machine(Type="Pass")},
        }
    }
    assert {ARN, KEY} <= set(named_functions(outer))
