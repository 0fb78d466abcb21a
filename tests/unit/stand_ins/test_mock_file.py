"""Mock configurations in the format of Step Functions Local, in executions that they answer for."""

from typing import Any

import pytest

from unum_compiler.definition import Definition
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.ir import Workflow
from unum_simulator import Faults, simulate
from unum_simulator.local import LocalWorkflow
from unum_simulator.stand_ins.mock_file import parse_mocks

RETRY = [{"ErrorEquals": ["Lambda.TooManyRequestsException"], "MaxAttempts": 3}]
CALL = {
    "Type": "Task",
    "Resource": "arn:aws:states:::lambda:invoke",
    "Parameters": {"FunctionName": "f"},
    "Retry": RETRY,
    "OutputPath": "$.Payload",
    "Next": "Send",
}
SEND = {
    "Type": "Task",
    "Resource": "arn:aws:states:::sqs:sendMessage",
    "Parameters": {"QueueUrl": "https://q", "MessageBody.$": "$"},
    "End": True,
}
BUSY = {"Throw": {"Error": "Lambda.TooManyRequestsException", "Cause": "busy"}}
RESPONSES = {
    "paid": {"0": {"Return": {"StatusCode": 200, "Payload": {"paid": True}}}},
    "paid late": {"0-1": BUSY, "2": {"Return": {"StatusCode": 200, "Payload": {"paid": "late"}}}},
    "never": {"0-9": BUSY},
    "forgotten": {"0": BUSY},
    "sent": {"0": {"Return": {"MessageId": "m"}}},
}
CASES = {name: {"Call": name, "Send": "sent"} for name in ("paid", "paid late", "never", "forgotten")}
CONFIG = {"StateMachines": {"Flow": {"TestCases": CASES}}, "MockedResponses": RESPONSES}


def compiled(**states: Any) -> Workflow:
    return Definition.from_asl({"StartAt": next(iter(states)), "States": states}).compile("Flow", None)


WORKFLOW = compiled(Call=CALL, Send=SEND)


def outcome(case: str, workflow: Workflow = WORKFLOW, config: Any = CONFIG, value: Any = None) -> Any:
    found = LocalWorkflow(workflow, parse_mocks(config, "Flow", case).handlers(workflow)).run("e", value).outcome
    return found.value if isinstance(found, Success) else (found.error, found.cause)


def test_a_happy_and_a_retried_path() -> None:
    assert outcome("paid") == outcome("paid late") == {"MessageId": "m"}


def test_an_invocation_without_a_response_fails_the_execution() -> None:
    assert outcome("never") == ("Lambda.TooManyRequestsException", "busy")
    assert outcome("forgotten") == ("States.Runtime", "there is no mocked response for invocation 1 of 'Call'")


def test_invocations_count_through_all_iterations_of_a_map() -> None:
    inner = {"Work": {"Type": "Task", "Resource": "f", "End": True, "Retry": [{"ErrorEquals": ["Busy"]}]}}
    workflow = compiled(
        Each={
            "Type": "Map",
            "MaxConcurrency": 1,
            "ItemProcessor": {"StartAt": "Work", "States": inner},
            "End": True,
        }
    )
    numbered = {str(number): {"Return": {"Payload": number}} for number in (1, 2, 3)}
    throws = {"0": {"Throw": {"Error": "Busy"}}}
    config = {
        "StateMachines": {"Any": {"TestCases": {"all": {"Work": "numbered"}}}},
        "MockedResponses": {"numbered": {**throws, **numbered}},
    }
    assert outcome("all", workflow, config, ["a", "b", "c"]) == [1, 2, 3]


def test_a_repeated_delivery_gets_the_answer_of_its_invocation() -> None:
    for seed in range(30):
        mocked = parse_mocks(CONFIG, "Flow", "paid late").handlers(WORKFLOW)
        faults = Faults(crashes=2, duplicates=2, concurrency=1)
        assert simulate(WORKFLOW, mocked, {}, faults=faults, seed=seed, runs=1).ending.outcome.value == {
            "MessageId": "m"
        }


def test_results_of_tokens_and_jobs_are_given_as_they_are() -> None:
    workflow = compiled(
        Ask={**CALL, "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken", "OutputPath": "$", "Next": "Run"},
        Run={
            "Type": "Task",
            "Resource": "arn:aws:states:::glue:startJobRun.sync",
            "Parameters": {"JobName": "j"},
            "ResultPath": "$.job",
            "End": True,
        },
    )
    returns = {name: {"0": {"Return": value}} for name, value in (("yes", {"ok": 1}), ("done", {"Id": "r"}))}
    config = {
        "StateMachines": {"Flow": {"TestCases": {"one": {"Ask": "yes", "Run": "done"}}}},
        "MockedResponses": returns,
    }
    assert outcome("one", workflow, config) == {"ok": 1, "job": {"Id": "r"}}


def _changed(value: Any, path: tuple[str, ...], to: Any) -> Any:
    return to if not path else {**value, path[0]: _changed(value.get(path[0], {}), path[1:], to)}


PAID = ("MockedResponses", "paid")


@pytest.mark.parametrize(
    ("config", "case", "said"),
    [
        ([], "paid", "$.StateMachines: expected an object, got null"),
        (_changed(CONFIG, ("MockedResponses",), 3), "paid", "$.MockedResponses: expected an object, got 3"),
        (_changed(CONFIG, ("StateMachines", "Flow"), {}), "paid", "$.StateMachines.Flow.TestCases: expected an object"),
        (CONFIG, "nothing", "there is no test case 'nothing'; there are: forgotten, never, paid, paid late"),
        (CONFIG, None, "$.StateMachines.Flow.TestCases: name one of several"),
        (_changed(CONFIG, PAID, {"-1": BUSY}), "paid", "$.MockedResponses.paid['-1']: expected the number"),
        (_changed(CONFIG, PAID, {"2-1": BUSY}), "paid", 'expected the number of an invocation such as "0", or a range'),
        (_changed(CONFIG, PAID, {"0": {}}), "paid", 'expected an object with either "Return" or "Throw", got {}'),
        (_changed(CONFIG, PAID, {"0": {**BUSY, "Return": 1}}), "paid", 'either "Return" or "Throw"'),
        (_changed(CONFIG, PAID, {"0": {"Throw": "x"}}), "paid", 'expected an object with the texts "Error" and'),
        (_changed(CONFIG, PAID, {"0": {"Return": {"paid": 1}}}), "paid", """'Call': expected "Payload" with the"""),
        (
            _changed(CONFIG, ("StateMachines", "Flow", "TestCases", "paid"), {"Call": "lost"}),
            "paid",
            "there is no response 'lost', which 'Call' names",
        ),
        (
            _changed(CONFIG, ("StateMachines", "Flow", "TestCases", "paid"), {"Clal": "paid"}),
            "paid",
            "mocks 'Clal', but the workflow has no such Task; it has: Call, Send",
        ),
        (
            {**CONFIG, "StateMachines": {"A": {}, "B": {}}},
            "paid",
            "there is no state machine 'Flow'; there are: A, B",
        ),
    ],
)
def test_what_is_no_mock_configuration_is_refused_with_its_place(config: Any, case: str | None, said: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the text is compared
        parse_mocks(config, "Flow", case).handlers(WORKFLOW)
    assert said in str(refused.value)


def test_a_failure_is_the_tasks_own() -> None:
    catching = {**CALL, "Catch": [{"ErrorEquals": ["Lambda.TooManyRequestsException"], "Next": "Send"}]}
    assert outcome("never", compiled(Call=catching, Send=SEND)) == {"MessageId": "m"}
    ended = LocalWorkflow(WORKFLOW, parse_mocks(CONFIG, "Flow", "never").handlers(WORKFLOW)).run("e", {})
    assert isinstance(ended.outcome, Failure)
