"""The intake as functions find it, and what it says of places that have left the deployment; Lambda is a table here."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.unit.aws.failure_platform import Context
from tests.unit.features.status_events.test_status_events import announcing
from tests.unit.protocol.platform import chain
from unum_compiler import compile_workflow
from unum_runtime.errors import DefinitionNotStored, InvokeError, NotOurEvent, RouteGone
from unum_runtime.functions import configuration, own_intake, runtime_factory
from unum_runtime.functions.configuration import ENTRY
from unum_runtime.functions.operations import failure_function, function_versions, runtime_in_place
from unum_runtime.model.checkpoint import Began, Failure
from unum_runtime.model.naming import Execution, Frame, Name
from unum_runtime.model.take_over_request import TakeOver, is_take_over
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.runtime import NoTimer
from unum_simulator.memory_store import MemoryStore

ACCOUNT = "arn:aws:lambda:us-east-1:123456789012:function"
HANDLER = f"{ACCOUNT}:on-failure:3"
QUEUE = "https://sqs/timer"
WORKFLOW = compile_workflow(chain("A", "B"), name="w", functions=None)

Json = Any


def at(function: str, qualifier: str = "7") -> str:
    return f"{ACCOUNT}:{function}:{qualifier}"


@dataclass
class Lambda:
    """Versions with their services and destinations; configurations of others, such as B, are denied."""

    services: dict[str, Json] = field(default_factory=dict)
    events: list[tuple[str, Json]] = field(default_factory=list)
    asked: int = 0

    def get_function_configuration(self, **parameters: Any) -> Json:
        address = parameters["FunctionName"]
        if address not in self.services:
            raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "GetFunctionConfiguration")
        variables = {"UNUM_WORKFLOWS": json.dumps({"w": self.services[address]})}
        return {"Version": "7", "Environment": {"Variables": variables}}

    def get_function_event_invoke_config(self, **parameters: Any) -> Json:
        self.asked += 1
        if parameters["FunctionName"] == at("Bare"):
            return {}
        return {"DestinationConfig": {"OnFailure": {"Destination": HANDLER}}}

    def get_alias(self, **_: Any) -> Json:
        return {"Description": at("A", "start-w")}

    def invoke(self, **parameters: Any) -> None:
        self.events.append((parameters["FunctionName"], json.loads(parameters["Payload"])))


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lambda]:
    service = {"table": "t", "hosts": ["A"], "retention_s": 604800}
    a = {**service, "routes": {"C": at("C")}, "timer": QUEUE}
    older = {**a, "routes": {"B": at("B"), "C": at("C")}}
    found = Lambda(
        {at("A"): a, at("A", "start-w"): a, at("A", "6"): older, at("C"): {**service, "hosts": ["C"], "routes": {}}}
    )
    caches = (function_versions.configured, own_intake._destination, configuration.services)
    for each in caches:
        each.cache_clear()
    monkeypatch.setattr(function_versions, "lambda_client", lambda: found)
    monkeypatch.setattr(own_intake, "lambda_client", lambda: found)
    monkeypatch.setenv("UNUM_DIRECTORY", "start-intake")
    monkeypatch.setenv("UNUM_WORKFLOWS", json.dumps({"w": {**service, "hosts": [], "routes": {}, "definition": ENTRY}}))
    yield found
    for each in caches:
        each.cache_clear()


def request() -> TakeOver:
    name = Name(Execution("e", 5), (), 1)
    return TakeOver(workflow="w", digest=WORKFLOW.digest, name=name, state="A", address=at("A"))


def denied(place: str, *, is_deleted: bool = False) -> RouteGone:
    return RouteGone(place, PermissionError("denied"), is_deleted=is_deleted)


def test_a_function_finds_its_intake_once_as_its_own_destination(platform: Lambda) -> None:
    own_intake.send(at("A"), request())
    own_intake.send(at("A"), request())
    ((address, event), second) = platform.events
    assert (address, platform.asked) == (HANDLER, 1)
    assert is_take_over(event)
    assert (TakeOver.from_json(event), second) == (request(), (HANDLER, event))


def test_a_version_without_a_destination_has_no_intake(platform: Lambda) -> None:
    with pytest.raises(NotOurEvent, match="on-failure destination"):
        own_intake.send(at("Bare"), request())
    assert platform.events == []


@pytest.mark.parametrize(
    ("refusal", "error"),
    [
        (denied(at("B"), is_deleted=True), runtime_in_place.FUNCTION_GONE),
        (denied(at("C"), is_deleted=True), runtime_in_place.FUNCTION_GONE),
        (denied(at("Other")), runtime_in_place.FUNCTION_GONE),
        (denied(QUEUE, is_deleted=True), runtime_in_place.TIMER_GONE),
        (denied("https://sqs/other"), runtime_in_place.TIMER_GONE),
        (denied(at("C")), None),
        (denied(at("A", "6")), None),
        (denied(QUEUE), None),
    ],
)
def test_a_refusal_is_final_unless_the_place_is_deployed(
    platform: Lambda, refusal: RouteGone, error: str | None
) -> None:
    assert platform
    failure = runtime_in_place.gone_failure("w", HANDLER, refusal)
    assert (failure and failure.error) == error


def test_a_function_that_left_does_not_hide_the_others(platform: Lambda) -> None:
    assert platform
    found = function_versions.addresses("w", Began(at("A", "6"), {}))
    assert found == {"A": at("A", "6"), "B": at("B"), "C": at("C")}


def test_a_request_with_an_unknown_digest_is_refused(platform: Lambda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_factory, "state_store", lambda _: MemoryStore())
    monkeypatch.setattr(runtime_factory, "timer", lambda _: NoTimer())
    monkeypatch.setattr(runtime_factory, "invoker", object)
    with pytest.raises(DefinitionNotStored, match="digest another"):
        failure_function.answer(replace(request(), digest="another"), Context(invoked_function_arn=HANDLER))
    assert platform.events == []


@pytest.mark.parametrize("has_events", [True, False])
def test_the_redrives_before_an_invocation_travel_with_its_execution(has_events: bool) -> None:  # noqa: FBT001
    workflow, _ = announcing("A", "B")
    if not has_events:
        del workflow.options["statuses"]
    workflow.start(value=1)
    execution = Execution("e", workflow.clock.ms)
    for _ in range(2):
        stop(workflow.runtime(), execution, Failure(None, None))
        workflow.clock.pass_seconds(1)
        redrive(workflow.runtime(), "e")

    def reply(name: Name) -> Json:
        return failure_function.execution_routes(workflow.runtime(), name).get("$redriven")

    own = [reply(Name(execution, (), step)) for step in range(1, 7)]  # A, stop, redrive, stop, redrive, B
    branch = reply(Name(execution, (Frame("M", 6, 0, 1, 2),), 0))
    once, twice = (f"{n} {execution.started_ms + 1000 * n}" for n in (1, 2))
    assert (own, branch) == (([None, None, None, once, once, twice], twice) if has_events else ([None] * 6, None))


@pytest.mark.parametrize(
    "wrong",
    [replace(request(), workflow="x"), replace(request(), address=at("A", "start-w"))],
    ids=["workflow", "alias"],
)
def test_a_request_that_names_no_version_of_the_workflow_is_an_error(platform: Lambda, wrong: TakeOver) -> None:
    with pytest.raises(NotOurEvent):
        failure_function.answer(wrong, None)
    assert platform.events == []


def test_a_function_outside_of_the_workflow_is_not_taken_over(platform: Lambda) -> None:
    with pytest.raises(InvokeError):
        failure_function.answer(replace(request(), address=at("Foreign")), None)
    assert platform.events == []


@pytest.mark.parametrize(
    "change", [{"frames": 5}, {"execution": ["e"]}, {"step": "1"}, {"retries": ["x"]}, {"state": None}]
)
def test_a_malformed_request_is_an_error(change: Json) -> None:
    event = request().to_json()
    event["take_over"] |= change
    with pytest.raises(NotOurEvent, match="take_over"):
        TakeOver.from_json(event)
