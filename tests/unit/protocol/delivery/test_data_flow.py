"""The data flow around user code: what a Task's expressions see, and what becomes of its result."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.unit.protocol.callback_platform import asking
from tests.unit.protocol.job_platform import LOOK_S, watching
from tests.unit.protocol.platform import Platform, chain
from unum_compiler.compatibility import PAYLOAD_LIMIT, Compatibility
from unum_compiler.definition import Definition
from unum_runtime.model.checkpoint import Ending, Failure, Status, Success
from unum_runtime.model.states import READ_ITEMS, WRITE_RESULTS
from unum_runtime.protocol.runtime import Call

INVOKE = "arn:aws:states:::lambda:invoke"
JSONATA = {"QueryLanguage": "JSONata"}
SINCE_START = "$millis() - $toMillis($states.context.Execution.StartTime)"


def outcome_of(platform: Platform) -> Any:
    ending = platform.ending()
    assert ending is not None
    return ending.outcome


def result_of(platform: Platform, value: Any = None) -> Any:
    platform.run(value=value)
    outcome = outcome_of(platform)
    assert isinstance(outcome, Success), outcome
    return outcome.value


def test_a_wait_whose_output_fails_ends_its_execution_after_its_time() -> None:
    wait = {**JSONATA, "Type": "Wait", "Seconds": 5, "Output": "{% $number('x') %}", "End": True}
    platform = Platform.of({"StartAt": "W", "States": {"W": wait}})
    platform.start()
    assert platform.ending() is None
    platform.deliver(platform.pass_to_next())
    outcome, last = outcome_of(platform), platform.steps()[-1]
    assert outcome.error == "States.QueryEvaluationError"
    assert "state 'W'" in outcome.cause
    assert (last.state, last.outcome) == ("W", outcome)


@dataclass
class Limited(Platform):
    """A platform that keeps the time limits of user code."""

    limits: list[float | None] = field(default_factory=list)

    def _call(self, call: Call, event: Any) -> Any:
        self.limits.append(call.timeout_s)
        return super()._call(call, event)


def test_expressions_see_the_time_of_the_delivery() -> None:
    fields = {**JSONATA, "Arguments": f"{{% {SINCE_START} %}}", "TimeoutSeconds": f"{{% 1 + {SINCE_START} %}}"}
    workflow = Platform.of(chain("A", "B", B=fields), A=str, B=str).workflow
    platform = Limited(workflow, dict.fromkeys("AB", lambda event: event))
    platform.start()
    platform.clock.pass_seconds(5)
    platform.deliver_all()
    assert outcome_of(platform) == Success(5_000)
    assert platform.limits == [None, 5_001]


def test_the_token_is_for_arguments_alone() -> None:
    """User code and a nudge that bring the same result give the same output."""
    found = asking()
    payload = {"token": "{% $states.context.Task.Token %}"}
    ask = JSONATA | {"Type": "Task", "Resource": f"{INVOKE}.waitForTaskToken", "End": True}
    ask |= {"Arguments": {"FunctionName": "F", "Payload": payload}, "Output": "{% $exists($states.context.Task) %}"}
    definition = chain("F/Before", "Ask")
    definition["States"]["Ask"] = ask
    found.platform.workflow = Platform.of(definition, F=lambda event: event).workflow
    event = found.event()
    found.deliver(event)
    found.answer(found.tokens[-1])
    found.platform.sent.clear()
    found.deliver(event)  # Lambda's repetition finds the answer before the nudge comes
    found.deliver(found.platform.sent.pop())
    assert found.outcome == Success(value=False)


def test_lambdas_service_wraps_the_result_and_sends_nothing_for_no_payload() -> None:
    task = {"Type": "Task", "Resource": INVOKE, "Parameters": {"FunctionName": "F"}, "End": True}
    platform = Platform.of({"StartAt": "A", "States": {"A": task}}, F=lambda event: [event])
    assert result_of(platform, "ignored") == {"ExecutedVersion": "$LATEST", "Payload": [{}], "StatusCode": 200}


STRICT_TASK = {"Type": "Task", "Resource": "f"}


def strict(states: dict[str, Any], value: Any, function: Any) -> Any:
    definition = Definition.from_asl({"StartAt": next(iter(states)), "States": states})
    workflow = replace(definition, compatibility=Compatibility.STRICT).compile("w", None)
    platform = Platform(workflow, {"f": function})
    platform.run(value=value)
    return outcome_of(platform)


@pytest.mark.parametrize("fields", [{}, {"ResultPath": "$.r"}], ids=["result", "output"])
def test_a_strict_result_over_the_quota_is_caught(fields: dict[str, Any]) -> None:
    catch = [{"ErrorEquals": ["States.DataLimitExceeded"], "Next": "B", "ResultPath": "$"}]
    states = {
        "A": {**STRICT_TASK, **fields, "Catch": catch, "Next": "B"},
        "B": {"Type": "Pass", "Parameters": {"error.$": "$.Error"}, "End": True},
    }
    assert strict(states, {}, lambda _event: "x" * PAYLOAD_LIMIT) == Success({"error": "States.DataLimitExceeded"})


def test_errors_over_the_quota_say_which_value_was_too_large() -> None:
    large = "x" * (PAYLOAD_LIMIT - 2)
    states = {"A": {**STRICT_TASK, "Parameters": {"a.$": "$", "b": 1}, "End": True}}
    failure = strict(states, large, len)
    size = len(json.dumps({"a": large, "b": 1}, separators=(",", ":")))
    assert failure == Failure(
        "States.DataLimitExceeded",
        f"state 'A': the input after the arguments has {size} bytes; at most {PAYLOAD_LIMIT} are allowed: "
        "pass large data by reference",
    )


def test_a_poll_is_not_later_than_the_deadline_of_its_execution() -> None:
    definition = chain("Before", "Job") | {"TimeoutSeconds": 100}
    definition["States"]["Job"] |= {
        "Resource": "arn:aws:states:::ecs:runTask.sync",
        "Parameters": {"TaskDefinition": "t"},
    }
    platform = watching(definition, over_s=10_000)
    platform.start()
    platform.pass_time(LOOK_S)
    assert [due_ms - platform.clock.ms for due_ms, _ in platform.later] == [(100 - LOOK_S) * 1000]
    platform.pass_time(100 - LOOK_S)
    assert platform.ending() == Ending(
        Status.TIMED_OUT, Failure("States.Timeout", "the execution took longer than its TimeoutSeconds, 100 s")
    )


def test_checks_of_a_callback_store_nothing_of_jobs() -> None:
    found = asking(TimeoutSeconds=100, HeartbeatSeconds=20)
    token = found.begun()
    for _ in range(3):
        found.pass_time(15)
        found.beat(token)
    assert not [key for key in found.platform.memory._items if key.sort.startswith("job.")]
    assert found.outcome is None
    found.pass_time(60)
    assert found.outcome == Failure("States.HeartbeatTimeout", None)


DATASET = {
    "Type": "Map",
    "ItemReader": {
        "Resource": "arn:aws:states:::s3:getObject",
        "ReaderConfig": {"InputType": "JSON"},
        "Parameters": {"Bucket": "b", "Key": "k"},
    },
    "ItemProcessor": {
        "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
        "StartAt": "F",
        "States": {"F": {"Type": "Task", "Resource": "f", "End": True}},
    },
    "ResultWriter": {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "b", "Prefix": "p"}},
}


class Datasets(Platform):
    """A platform whose service reads three items, and keeps what it is given to write."""

    written: Any = None

    def _call(self, call: Call, event: Any) -> Any:
        if call.resource == READ_ITEMS:
            return [1, 2, 3]
        if call.resource == WRITE_RESULTS:
            self.written = event
            return {"Key": "written"}
        return super()._call(call, event)


def datasets(*, last: bool, **fields: Any) -> Datasets:
    more: dict[str, Any] = {} if last else {"After": {"Type": "Task", "Resource": "f", "End": True}}
    states = {"Each": {**DATASET, **fields, **({"End": True} if last else {"Next": "After"})}, **more}
    workflow = Definition.from_asl({"StartAt": "Each", "States": states}).compile("w", None)
    keys = [task.function for task in workflow.tasks]
    return Datasets(workflow, dict.fromkeys(keys, lambda event: event))


@pytest.mark.parametrize("last", [True, False])
def test_a_map_gets_what_was_read_and_its_writer_what_came_of_it(*, last: bool) -> None:
    platform = datasets(last=last)
    assert result_of(platform, {"a": 1}) == {"Key": "written"}
    assert platform.written["Results"] == [1, 2, 3]
    assert platform.written["Parameters"] == {"Bucket": "b", "Prefix": "p"}
    # What the reader and the writer were given travels no further.
    assert "$items" not in platform.steps()[-1].continuation.variables
    assert "$results" not in platform.steps()[-1].continuation.variables


def test_a_selector_of_items_sees_the_input_of_the_map() -> None:
    platform = datasets(last=True, ItemSelector={"item.$": "$$.Map.Item.Value", "a.$": "$.a"})
    result_of(platform, {"a": 7})
    assert [*platform.written["Results"]] == [{"item": item, "a": 7} for item in (1, 2, 3)]
