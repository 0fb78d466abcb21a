"""Tasks that start executions of a workflow of ours: service function, aliases and workflow are the real ones."""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.session import Session

from tests.unit.protocol.platform import MovableClock, Platform, chain
from unum_runtime.cold_start.records import replace as replace_record
from unum_runtime.errors import StatesError
from unum_runtime.features.services import Clients, service_function
from unum_runtime.model.envelope import named_start
from unum_runtime.model.states import Json, Pattern
from unum_runtime.protocol.control import describe
from unum_runtime.protocol.delivery.start import resume
from unum_runtime.protocol.requests import entry_aliases
from unum_runtime.protocol.runtime import Call, JobPending

FUNCTION = "arn:aws:lambda:us-east-1:123456789012:function:child"
ALIAS = f"{FUNCTION}:start-w"
DESCRIBE = "arn:aws:lambda:us-east-1:123456789012:function:control:describe-w"
HERE = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}
START = "states:startExecution"


class Raw(io.BytesIO):
    """A body as urllib3 has it."""

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield self.read()


@dataclass
class Child:
    """A workflow behind its aliases, which Lambda calls; it may fail to answer."""

    platform: Platform
    failures: list[int | str] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)
    started: list[str] = field(default_factory=list)

    def answer(self, request: Any, **_: Any) -> AWSResponse:
        event = json.loads(request.body)
        self.requests.append(event)
        match self.failures.pop(0) if self.failures else None:
            case int(status):
                return response(status, {"Message": "no"}, {429: "TooManyRequestsException"}.get(status, "Gone"))
            case str(error):
                return response(200, {"errorType": error}, function_error="Unhandled")
        if "function%3Achild%3Arun-w" in request.url:
            rt = replace_record(self.platform.runtime(), invoker=self, own_address=f"{FUNCTION}:3")
            return response(200, {**entry_aliases.run(rt, event, "request"), "DescribeAlias": DESCRIBE})
        assert "function%3Acontrol%3Adescribe-w" in request.url
        return response(200, describe.answer(self.platform.runtime(), event))

    def invoke(self, events: Any) -> None:
        for address, payload in events:
            assert address == f"{FUNCTION}:run-w"
            self.started.append(str(named_start(json.loads(payload))))

    def go_on(self) -> None:
        for name in self.started:
            resume(self.platform.runtime(), name)
        self.platform.deliver_all()


def response(status: int, value: Json, code: str = "", function_error: str = "") -> AWSResponse:
    headers = {"x-amzn-errortype": code, "X-Amz-Function-Error": function_error}
    body = Raw(b"" if value is None else json.dumps(value).encode())
    given: Any = {name: text for name, text in headers.items() if text}
    return AWSResponse("https://lambda", status, given, body)


@pytest.fixture
def child(models: Session, monkeypatch: pytest.MonkeyPatch) -> Child:
    child = Child(Platform.of(chain("A"), A=lambda event: {"a": event}))
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    clients = Clients(models, HERE)
    clients.client("lambda").meta.events.register("before-send.lambda.Invoke", child.answer)
    monkeypatch.setattr(service_function, "_clients", lambda: clients)
    return child


def call(child: Child, suffix: str = "", pattern: Pattern = Pattern.RESPONSE, **fields: Any) -> Call:
    own = child.platform.workflow.home.arn("stateMachine:parent")
    aliases = {"${Child}": ALIAS, own: ALIAS}
    resource = START + suffix
    return Call("e", "e/1", "Ask", "$services", "p/e/1", resource, pattern, start_aliases=aliases, **fields)


def begun(child: Child, clock: MovableClock, suffix: str = "", **fields: Any) -> tuple[Call, JobPending]:
    waiting = call(child, suffix, Pattern.SYNC, **fields)
    found = service_function.handle(waiting, {"StateMachineArn": ALIAS, "Input": {"n": 1}}, clock)
    assert isinstance(found, JobPending)
    return replace(waiting, job=found.job), found


def look(waiting: Call, clock: MovableClock) -> Any:
    return service_function.handle(waiting, {}, clock)


@pytest.fixture
def clock(child: Child) -> MovableClock:
    return child.platform.clock


@pytest.mark.parametrize("named", [ALIAS, "${Child}", "arn:aws:states:local:000000000000:stateMachine:parent"])
def test_an_execution_is_started_and_goes_on_by_itself(child: Child, clock: MovableClock, named: str) -> None:
    parameters = {"stateMachineArn": named, "Input": {"n": 1}, "Name": "mine"}
    started = service_function.handle(call(child), parameters, clock)
    arn = child.platform.workflow.home.arn("execution:w:mine")
    assert started == {"ExecutionArn": arn, "StartDate": clock.ms}
    assert child.platform.calls == {}
    child.go_on()
    assert child.platform.calls == {"A": 1}


def test_a_second_delivery_starts_no_second_execution(child: Child, clock: MovableClock) -> None:
    first, again = (service_function.handle(call(child), {"StateMachineArn": ALIAS}, clock) for _ in range(2))
    assert first == again
    child.go_on()
    assert child.platform.calls == {"A": 1}


def test_a_delivery_that_died_before_the_start_is_made_up_for(child: Child, clock: MovableClock) -> None:
    registering = {"StateMachineArn": ALIAS}
    service_function.handle(call(child), registering, clock)
    child.started.clear()  # as if the first had died in between
    service_function.handle(call(child), registering, clock)
    child.go_on()
    assert child.platform.calls == {"A": 1}


def test_another_try_is_another_execution(child: Child, clock: MovableClock) -> None:
    for attempt in (0, 1):
        service_function.handle(call(child, attempt=attempt), {"StateMachineArn": ALIAS}, clock)
    child.go_on()
    assert child.platform.calls == {"A": 2}


@pytest.mark.parametrize(("suffix", "output"), [("", '{"a":{"n":1}}'), (":2", {"a": {"n": 1}})])
def test_a_task_waits_for_the_end(child: Child, clock: MovableClock, suffix: str, output: Json) -> None:
    waiting, found = begun(child, clock, suffix)
    assert found.delay_ms == 1_000
    later = look(waiting, clock)
    assert isinstance(later, JobPending)
    assert later.job == {**found.job, "polls": 1}
    child.go_on()
    ended = look(waiting, clock)
    assert ended["Output"] == output
    assert ended["Status"] == "SUCCEEDED"


def test_a_failure_fails_the_task(child: Child, clock: MovableClock) -> None:
    child.platform.functions["A"] = lambda event: event["n"] / 0
    waiting, _ = begun(child, clock)
    child.go_on()
    with pytest.raises(StatesError, match=r"States\.TaskFailed") as failed:
        look(waiting, clock)
    assert json.loads(failed.value.cause)["Error"] == "ZeroDivisionError"


def test_an_execution_that_takes_too_long_goes_on(child: Child, clock: MovableClock) -> None:
    waiting, _ = begun(child, clock, timeout_s=2.0)
    clock.pass_seconds(2)
    with pytest.raises(StatesError, match=r"States\.Timeout"):
        look(waiting, clock)
    child.go_on()
    assert child.platform.calls == {"A": 1}


def test_another_input_under_the_same_name_fails_the_task(child: Child, clock: MovableClock) -> None:
    for n in (1, 1):
        service_function.handle(call(child), {"StateMachineArn": ALIAS, "Name": "mine", "Input": {"n": n}}, clock)
    with pytest.raises(StatesError) as failed:
        service_function.handle(call(child), {"StateMachineArn": ALIAS, "Name": "mine", "Input": {"n": 2}}, clock)
    assert failed.value.error == "StepFunctions.ExecutionAlreadyExistsException"


@pytest.mark.parametrize("failure", [429, "StoreError"])
def test_who_gets_no_answer_looks_again(child: Child, clock: MovableClock, failure: int | str) -> None:
    waiting, _ = begun(child, clock)
    child.failures = [failure]
    assert isinstance(look(waiting, clock), JobPending)


@pytest.mark.parametrize(
    ("failure", "error"),
    [("StoreError", "AWSStepFunctionsException"), (403, "AWSStepFunctionsException"), (429, "ThrottlingException")],
)
def test_what_cannot_be_started_fails_the_task(
    child: Child, clock: MovableClock, failure: int | str, error: str
) -> None:
    child.failures = [failure]
    with pytest.raises(StatesError) as failed:
        service_function.handle(call(child), {"StateMachineArn": ALIAS}, clock)
    assert failed.value.error == f"StepFunctions.{error}"


def test_an_api_of_the_sdk_is_left_alone(child: Child, clock: MovableClock) -> None:
    sdk = replace(call(child), resource="aws-sdk:sfn:startExecution")
    with pytest.raises(StatesError, match="Nmae"):
        service_function.handle(sdk, {"StateMachineArn": ALIAS, "Nmae": "typo"}, clock)
    assert child.requests == []
