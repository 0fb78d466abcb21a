"""Facts about Tasks: what a delivery must keep, evaluate or give out, by the fields of the Task."""

from typing import Any

import pytest

from tests.unit.protocol.planning.test_advance import READER, T, each
from tests.unit.protocol.platform import chain
from unum_compiler import compile_workflow
from unum_runtime.model.states import Json
from unum_runtime.protocol.planning.task_facts import TaskFacts, task_facts

JSONATA = {"QueryLanguage": "JSONata"}
INVOKE = {"Resource": "arn:aws:states:::lambda:invoke", "Parameters": {"FunctionName": "A", "Payload.$": "$"}}
ACTIVITY = {"Resource": "arn:aws:states:eu-west-1:123456789012:activity:a"}
WAITS = {"Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken", "Parameters": {"FunctionName": "A"}}
RETRY = {"Retry": [{"ErrorEquals": ["States.ALL"]}]}
CATCH = {"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "B"}]}


def facts(**fields: Json) -> TaskFacts:
    workflow = compile_workflow(chain("A", "B", A=fields), name="w", functions={"A", "B"})
    return task_facts(workflow)["A"]


@pytest.mark.parametrize(
    ("fields", "needed"),
    [
        ({}, False),
        ({"ResultPath": "$"}, False),
        ({"ResultPath": "$.a"}, True),
        ({"ResultPath": None}, True),
        (RETRY, True),
        (CATCH, True),
        (WAITS, True),
        (JSONATA, False),
        ({**JSONATA, "Output": "{% $states.input %}"}, True),
        ({**JSONATA, "Assign": {"a": "{% $states.input %}"}}, True),
        ({**JSONATA, "Arguments": {"a": 1}}, False),
    ],
)
def test_the_input_is_kept_if_it_is_needed_after_user_code(fields: dict[str, Any], *, needed: bool) -> None:
    assert facts(**fields).needs_input_after is needed


@pytest.mark.parametrize(
    ("fields", "limits"),
    [
        ({}, {}),
        ({"TimeoutSeconds": 5}, {"timeout_s": "TimeoutSeconds"}),
        ({"TimeoutSecondsPath": "$.t"}, {"timeout_s": "TimeoutSeconds"}),
        (
            {"TimeoutSeconds": 5, "HeartbeatSeconds": 2},
            {"timeout_s": "TimeoutSeconds", "heartbeat_s": "HeartbeatSeconds"},
        ),
        (
            {"TimeoutSeconds": 5, "HeartbeatSecondsPath": "$.h"},
            {"timeout_s": "TimeoutSeconds", "heartbeat_s": "HeartbeatSeconds"},
        ),
    ],
)
def test_limits_are_evaluated_if_the_task_has_them(fields: dict[str, Any], limits: dict[str, str]) -> None:
    assert facts(**fields).limits == limits


@pytest.mark.parametrize(
    ("fields", "takes_input", "gives_result", "may_share"),
    [
        ({}, True, True, False),
        ({"Parameters": {"a": 1}}, False, True, True),
        ({"InputPath": "$.a"}, False, True, True),
        ({"ResultPath": "$.a"}, True, False, False),
        ({"ResultSelector": {"a.$": "$"}}, True, False, False),
        ({"Assign": {"a.$": "$"}}, True, False, False),
        (INVOKE, False, False, True),
        ({**INVOKE, "Parameters": {"FunctionName": "A"}}, False, False, True),
        ({**JSONATA, "Arguments": "{% $states.input %}"}, False, True, False),
    ],
)
def test_values_that_pass_unchanged_are_not_evaluated(
    fields: dict[str, Any], *, takes_input: bool, gives_result: bool, may_share: bool
) -> None:
    found = facts(**fields)
    assert (found.takes_input, found.gives_result, found.may_share_variables) == (takes_input, gives_result, may_share)


@pytest.mark.parametrize(("fields", "gives"), [({}, False), (INVOKE, False), (WAITS, True)])
def test_a_token_is_given_to_responders_alone(fields: dict[str, Any], *, gives: bool) -> None:
    assert facts(**fields).gives_token is gives


DATA_SETS = ("ItemReader", "ResultWriter")


def test_a_reading_task_evaluates_its_result_and_a_writing_task_does_not() -> None:
    writer = {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "b"}}
    some = each({"T": T}, mode="DISTRIBUTED", ItemReader=READER, ResultWriter=writer)
    found = task_facts(compile_workflow({"StartAt": "M", "States": {"M": some}}, name="w", functions=None))
    assert [found[f"M ({field})"].takes_input for field in DATA_SETS] == [False, False]
    assert [found[f"M ({field})"].gives_result for field in DATA_SETS] == [False, True]


SYNC = "arn:aws:states:::ecs:runTask.sync"


@pytest.mark.parametrize(
    ("fields", "gives"),
    [
        ({}, False),
        ({"Parameters": {"a.$": "$$.Task.Token"}}, False),
        (WAITS, True),
        ({"Resource": SYNC, "Parameters": {"TaskDefinition": "t"}}, False),
        ({"Resource": SYNC, "Parameters": {"TaskDefinition.$": "$$.Task.Token"}}, True),
    ],
)
def test_token_is_given_out_by_a_task_that_waits_or_passes_it_to_a_job(fields: dict[str, Any], *, gives: bool) -> None:
    assert facts(**fields).gives_token is gives
