"""Lowering of definitions."""

from typing import Any

import pytest

from unum_compiler import compile_workflow
from unum_compiler.parsing.task_resources import SERVICES
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Catcher, Form, Language, Map, Parallel, Pattern, Retrier, Task, Wait

INVOKE = "arn:aws:states:::lambda:invoke"
ARN = "arn:aws:lambda:eu-west-1:111111111111:function"


def compiled(definition: dict[str, Any]) -> Workflow:
    return compile_workflow(definition, name="w", functions=None)


def one_task(**fields: Any) -> Task:
    state = {"Type": "Task", "Resource": "f", "End": True, **fields}
    return compiled({"StartAt": "A", "States": {"A": state}}).task("A")


def invoked(parameters: dict[str, Any], **fields: Any) -> Any:
    task = one_task(Resource=INVOKE, Parameters={"FunctionName": "f", **parameters}, **fields)
    assert (task.function, task.form) == ("f", Form.INVOKE)
    return task.data


def chain(*states: dict[str, Any]) -> dict[str, Any]:
    """States A, B, C, ..., each of which leads to the next."""
    names = "ABCDEFG"[: len(states)]
    linked = [{**state, "Next": after} for state, after in zip(states, names[1:], strict=False)]
    return {"StartAt": "A", "States": dict(zip(names, [*linked, {**states[-1], "End": True}], strict=True))}


def fan_out(inner: str, **state: Any) -> dict[str, Any]:
    return {"Type": "Map", "ItemProcessor": {"StartAt": inner, "States": {inner: {**state, "End": True}}}}


TASK = {"Type": "Task", "Resource": "f"}
PASS = {"Type": "Pass"}


@pytest.mark.parametrize(
    ("resource", "function"),
    [
        ("Resize", "Resize"),
        ("${Resize}", "Resize"),
        ("${Resize.Arn}", "Resize"),
        ("${Resize}:prod", "Resize"),
        (f"{ARN}:Resize", "Resize"),
        (f"{ARN}:Resize:$LATEST", "Resize"),
        (f"{ARN}:${{Resize}}:7", "Resize"),
        ("arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:Resize", "Resize"),
        ("arn:${Token[AWS.Partition.2]}:lambda:${Token[AWS.Region.3]}:1:function:Resize", "Resize"),
    ],
)
def test_functions_are_named_in_several_ways(resource: str, function: str) -> None:
    assert one_task(Resource=resource).function == function
    assert one_task(Resource=INVOKE, Parameters={"FunctionName": resource}).function == function


def test_the_partition_of_invoke_may_be_a_token() -> None:
    resource = "arn:${Token[AWS.Partition.2]}:states:::lambda:invoke"
    assert one_task(Resource=resource, Parameters={"FunctionName": "f"}).form is Form.INVOKE


def test_of_the_parameters_of_invoke_the_payload_stays() -> None:
    assert invoked({"Payload": {"a.$": "$.b"}}) == {"Parameters": {"Payload": {"a.$": "$.b"}}}
    assert invoked({"Payload.$": "$.b"}, InputPath="$.a[*]") == {
        "InputPath": "$.a[*]",
        "Parameters": {"Payload.$": "$.b"},
    }
    assert invoked({"InvocationType": "RequestResponse"}) == {"Parameters": {}}


def test_of_the_arguments_of_invoke_the_payload_stays() -> None:
    arguments = {"FunctionName": "f", "Payload": "{% $states.input.a %}"}
    task = one_task(Resource=INVOKE, QueryLanguage="JSONata", Arguments=arguments)
    assert (task.function, task.language) == ("f", Language.JSONATA)
    assert task.data == {"Arguments": {"Payload": "{% $states.input.a %}"}}


def test_a_function_that_the_data_name_is_called_as_a_service() -> None:
    task = one_task(Resource=INVOKE, Parameters={"FunctionName.$": "$.f", "Payload.$": "$"})
    assert (task.function, task.form, task.resource) == (SERVICES, Form.SERVICE, "lambda:invoke")
    assert task.data["Parameters"] == {"FunctionName.$": "$.f", "Payload.$": "$"}


@pytest.mark.parametrize(
    ("resource", "called", "pattern"),
    [
        ("sqs:sendMessage", "sqs:sendMessage", Pattern.RESPONSE),
        ("sqs:sendMessage.waitForTaskToken", "sqs:sendMessage", Pattern.CALLBACK),
        ("aws-sdk:sqs:sendMessage", "aws-sdk:sqs:sendMessage", Pattern.RESPONSE),
    ],
)
def test_a_service_is_a_task_of_one_function(resource: str, called: str, pattern: Pattern) -> None:
    task = one_task(Resource=f"arn:aws:states:::{resource}", Parameters={"QueueUrl": "q", "MessageBody": "m"})
    assert (task.function, task.form, task.resource, task.pattern) == (SERVICES, Form.SERVICE, called, pattern)


@pytest.mark.parametrize(("suffix", "version"), [(".sync", ""), (".sync:2", ":2")])
def test_a_job_keeps_the_version_of_its_result(suffix: str, version: str) -> None:
    task = one_task(Resource=f"arn:aws:states:::states:startExecution{suffix}", Parameters={"StateMachineArn": "a"})
    assert (task.resource, task.pattern) == (f"states:startExecution{version}", Pattern.SYNC)


def test_an_activity_waits_for_its_worker() -> None:
    task = one_task(Resource="arn:aws:states:eu-west-1:111111111111:activity:approve")
    assert (task.resource, task.pattern) == ("activity:approve", Pattern.CALLBACK)


def test_a_function_may_hand_back_its_result_later() -> None:
    parameters = {"FunctionName": "f", "Payload": {"token.$": "$$.Task.Token"}}
    task = one_task(Resource=f"{INVOKE}.waitForTaskToken", Parameters=parameters)
    assert (task.function, task.form, task.pattern) == ("f", Form.INVOKE, Pattern.CALLBACK)


def test_retriers_and_catchers_are_read() -> None:
    retry = {"ErrorEquals": ["A", "B"], "IntervalSeconds": 3, "MaxAttempts": 0, "BackoffRate": 1.5}
    catch = {"ErrorEquals": ["States.ALL"], "ResultPath": "$.e", "Assign": {"e.$": "$.Cause"}, "Comment": "c"}
    task = one_task(
        Retry=[{**retry, "MaxDelaySeconds": 9, "JitterStrategy": "FULL"}, {"ErrorEquals": ["States.ALL"]}],
        Catch=[{**catch, "Next": "A"}],
    )
    assert task.retry == (
        Retrier(errors=("A", "B"), interval_s=3, max_attempts=0, backoff_rate=1.5, max_delay_s=9, jitter=True),
        Retrier(errors=("States.ALL",)),
    )
    data = {"ResultPath": "$.e", "Assign": {"e.$": "$.Cause"}}
    assert task.catch == (Catcher(errors=("States.ALL",), next="A", data=data),)


def test_a_wait_and_a_fail_keep_their_fields() -> None:
    states = {"A": {"Type": "Wait", "SecondsPath": "$.s", "Next": "B"}, "B": {"Type": "Fail", "ErrorPath": "$.e"}}
    workflow = compiled({"StartAt": "A", "States": states, "TimeoutSeconds": 60})
    assert workflow.states["A"] == Wait(name="A", scope=None, data={"SecondsPath": "$.s"}, next="B")
    assert workflow.states["B"].data == {"ErrorPath": "$.e"}
    assert workflow.timeout_s == 60


def test_the_language_of_the_machine_is_that_of_its_states() -> None:
    inner = {"StartAt": "B", "States": {"B": {"Type": "Pass", "Output": 1, "End": True}}}
    machine = chain({"Type": "Map", "Items": [1], "ItemProcessor": inner})
    workflow = compiled({**machine, "QueryLanguage": "JSONata"})
    assert {state.language for state in workflow.states.values()} == {Language.JSONATA}


def test_the_language_of_a_map_is_not_that_of_its_states() -> None:
    machine = chain({**fan_out("B", **PASS), "QueryLanguage": "JSONata", "Items": [1]})
    assert [state.language for state in compiled(machine).states.values()] == [Language.JSONATA, Language.JSONPATH]


@pytest.mark.parametrize(
    ("fields", "keeps"),
    [
        ({"Parameters": {"a.$": "$$.Execution.Input.a"}}, True),
        ({"Parameters": {"a.$": "States.Format('{}', $$.Execution.Input)"}}, True),
        ({"InputPath": "$$"}, True),
        ({"InputPath": "$$['Execution']"}, True),
        ({"InputPath": "$$..Name"}, True),
        ({"Parameters": {"a.$": "States.Format('$$.Execution.Input {}', $$.Execution.Id)"}}, False),
        ({"Parameters": {"a": "$$.Execution.Input"}}, False),
        ({"QueryLanguage": "JSONata", "Output": "{% $states.context.Execution.Input.a %}"}, True),
        ({"QueryLanguage": "JSONata", "Output": "{% $keys($states) %}"}, True),
        ({"QueryLanguage": "JSONata", "Output": "{% $states.context.Execution.Name %}"}, False),
    ],
)
def test_whether_the_input_of_the_execution_is_read(fields: dict[str, Any], *, keeps: bool) -> None:
    assert compiled(chain({**PASS, **fields})).keeps_input is keeps


@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        ({"Parameters": {"a.$": "$$.Execution.RedriveCount"}}, True),
        ({"InputPath": "$$.Execution"}, True),
        ({"QueryLanguage": "JSONata", "Output": "{% $states.context.Execution.RedriveCount %}"}, True),
        ({"Parameters": {"a.$": "$$.Execution.Input"}}, None),
    ],
)
def test_whether_redrives_are_counted(fields: dict[str, Any], *, counts: bool | None) -> None:
    assert compiled(chain({**PASS, **fields})).counts_redrives is counts


def test_a_rule_keeps_what_it_assigns() -> None:
    rule = {"Variable": "$.a", "IsPresent": True, "Assign": {"x": 1}}
    choice = {"Type": "Choice", "Choices": [{**rule, "Next": "B"}], "Default": "B", "Assign": {"x": 2}}
    workflow = compiled({"StartAt": "A", "States": {"A": choice, "B": {**TASK, "End": True}}})
    assert workflow.states["A"].rules == ((rule, "B"),)  # type: ignore[attr-defined]  # by name
    assert workflow.states["A"].data == {"Assign": {"x": 2}}


def a_map(mode: str = "INLINE", **fields: Any) -> Map:
    state = fan_out("Z", **TASK)
    state["ItemProcessor"]["ProcessorConfig"] = {"Mode": mode}
    found = compiled(chain({**state, **fields})).fan_out("A")
    assert isinstance(found, Map)
    return found


def test_a_distributed_map_tolerates_failures_if_it_says_so() -> None:
    assert a_map("DISTRIBUTED", ToleratedFailurePercentagePath="$.p").tolerates
    assert a_map("DISTRIBUTED", Label="l", ItemBatcher={"MaxItemsPerBatch": 2}).distributed
    assert not a_map("DISTRIBUTED").tolerates
    assert not a_map("INLINE", ToleratedFailureCount=1).tolerates


def test_a_map_has_a_limit_if_it_may() -> None:
    assert a_map(MaxConcurrency=1).has_limit
    assert a_map(MaxConcurrencyPath="$.m").has_limit
    assert a_map(QueryLanguage="JSONata", MaxConcurrency="{% 0 %}").has_limit
    assert not a_map(MaxConcurrency=0).has_limit


def test_older_names_of_a_map_become_the_newer() -> None:
    old = {
        "Type": "Map",
        "Iterator": fan_out("B", **TASK)["ItemProcessor"],
        "Parameters": {"a": 1},
        "MaxConcurrency": 2,
    }
    new = {**fan_out("B", **TASK), "ItemSelector": {"a": 1}, "MaxConcurrency": 2}
    assert compiled(chain(old)).to_json() == compiled(chain(new)).to_json()


def test_rules_keep_what_is_not_their_target() -> None:
    rule = {"Variable": "$.a", "IsPresent": True}
    choice = {"Type": "Choice", "Choices": [{**rule, "Comment": "why", "Next": "B"}], "Default": "B"}
    workflow = compiled({"StartAt": "A", "States": {"A": choice, "B": {**TASK, "End": True}}})
    assert workflow.states["A"].rules == ((rule, "B"),)  # type: ignore[attr-defined]  # by name
    assert workflow.states["A"].next is None


def test_states_know_what_is_around_them() -> None:
    branches = [chain({**TASK}), fan_out("C", **PASS)["ItemProcessor"]]
    branches[0] = {"StartAt": "B", "States": {"B": {**TASK, "End": True}}}
    workflow = compiled(chain({"Type": "Parallel", "Branches": branches}))
    assert workflow.states["A"] == Parallel(
        name="A", scope=None, data={}, next=None, pure=False, join=None, branches=("B", "C")
    )
    assert [state.scope for state in workflow.states.values()] == [None, "A", "A"]


def test_fan_out_without_task_is_pure_at_any_depth() -> None:
    nested = {"Type": "Map", "ItemProcessor": {"StartAt": "Y", "States": {"Y": {**fan_out("Z", **PASS), "End": True}}}}
    assert compiled(chain(nested)).fan_out("A").pure
    nested = {"Type": "Map", "ItemProcessor": {"StartAt": "Y", "States": {"Y": {**fan_out("Z", **TASK), "End": True}}}}
    assert not compiled(chain(nested)).fan_out("A").pure


@pytest.mark.parametrize(
    ("after", "join"),
    [
        ([], None),
        ([TASK], "B"),
        ([PASS, PASS, TASK], "D"),
        ([PASS], None),
        ([fan_out("X", **TASK), TASK], None),
        ([PASS, fan_out("X", **PASS), TASK], None),
        ([{**PASS, "Assign": {"x": 1}}, TASK], None),
        ([{"Type": "Wait", "Seconds": 1}, TASK], None),
    ],
)
def test_join_is_the_task_that_follows_for_certain(after: list[dict[str, Any]], join: str | None) -> None:
    fan = compiled(chain(fan_out("Z", **TASK), *after)).fan_out("A")
    assert isinstance(fan, Map)
    assert fan.join == join


RETRY = {"Retry": [{"ErrorEquals": ["States.ALL"]}]}


@pytest.mark.parametrize(
    "fields",
    [RETRY, {"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "B"}]}, {"Assign": {"x": 1}}],
)
def test_a_fan_out_with_an_outcome_of_its_own_has_no_join(fields: dict[str, Any]) -> None:
    assert compiled(chain({**fan_out("Z", **TASK), **fields}, TASK)).fan_out("A").join is None


@pytest.mark.parametrize("inner", [{"Type": "Wait", "Seconds": 1}, {**fan_out("Y", **PASS), **RETRY}])
def test_what_waits_is_not_pure(inner: dict[str, Any]) -> None:
    assert not compiled(chain(fan_out("Z", **inner))).fan_out("A").pure


def test_a_scope_that_is_retried_is_not_pure() -> None:
    assert not compiled(chain({**fan_out("Z", **PASS), **RETRY})).fan_out("A").pure


def test_a_circle_of_pass_states_has_no_join() -> None:
    states = {
        "A": {**fan_out("Z", **TASK), "Next": "B"},
        "B": {"Type": "Pass", "Next": "C"},
        "C": {"Type": "Choice", "Choices": [{"Variable": "$", "IsNull": True, "Next": "A"}], "Default": "D"},
        "D": {"Type": "Succeed"},
    }
    assert compiled({"StartAt": "A", "States": states}).fan_out("A").join is None
