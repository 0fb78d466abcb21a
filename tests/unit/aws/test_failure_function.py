"""What Lambda calls with records of events that it has given up; the table is in moto."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from unum_compiler import compile_workflow
from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.client import Client, Description
from unum_runtime.errors import InconsistentHistory, InvokeError, NotOurEvent
from unum_runtime.functions import configuration, definitions, failure_function, function_versions, runtime_factory
from unum_runtime.functions.failure_function import MAX_REDELIVERIES, THROTTLED, UNKNOWN, GivenUp
from unum_runtime.model.checkpoint import Phase, Status, Success, start_record
from unum_runtime.model.envelope import Envelope, start_request
from unum_runtime.model.naming import WORKFLOWS_FOLDER, Execution, start_key
from unum_runtime.model.take_over import TakeOver
from unum_runtime.protocol.delivery.commit import commit
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.planning.plan import Commit

TABLE = "state"
ACCOUNT = "arn:aws:lambda:us-east-1:123456789012:function"
CACHES = [
    each
    for module in (configuration, definitions, runtime_factory, function_versions)
    for each in vars(module).values()
    if hasattr(each, "cache_clear")
]
DIED = {
    "errorType": "Runtime.ExitError",
    "errorMessage": "RequestId: 1 Error: Runtime exited with error: exit status 3",
}
A_TO_B = {
    "StartAt": "A",
    "States": {
        "A": {
            "Type": "Task",
            "Resource": "A",
            "Next": "Held",
            "Retry": [{"ErrorEquals": ["Runtime.OutOfMemory"]}],
            "Catch": [{"ErrorEquals": ["Sandbox.Timedout"], "Next": "B", "ResultPath": "$.error"}],
        },
        "Held": {
            "Type": "Choice",
            "Choices": [{"Variable": "$.hold_s", "IsPresent": True, "Next": "Hold"}],
            "Default": "B",
        },
        "Hold": {"Type": "Wait", "SecondsPath": "$.hold_s", "Next": "B"},
        "B": {"Type": "Task", "Resource": "B", "End": True},
    },
}

Json = Any


@dataclass
class Context:
    """Of Lambda's context, what is looked at."""

    aws_request_id: str = "of the handler"
    invoked_function_arn: str = f"{ACCOUNT}:on-failure:1"

    def get_remaining_time_in_millis(self) -> int:
        return 30_000


AT_START = Context(invoked_function_arn=f"{ACCOUNT}:on-failure:start-intake-Flow")


@dataclass
class Functions:
    """Lambda: what functions are configured with, by qualified ARN, and what they were sent."""

    environments: dict[str, Json] = field(default_factory=dict)
    events: list[tuple[str, Json]] = field(default_factory=list)
    looked_up: list[str] = field(default_factory=list)

    def get_function_configuration(self, **parameters: Any) -> Any:
        address = parameters["FunctionName"]
        self.looked_up.append(address)
        if address not in self.environments:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "GetFunctionConfiguration")
        version = address.rpartition(":")[2]
        return {
            "Version": version if version.isdecimal() else "7",
            "Environment": {"Variables": {"UNUM_WORKFLOWS": json.dumps(self.environments[address])}},
        }

    def invoke(self, **parameters: Any) -> None:
        self.events.append((parameters["FunctionName"], json.loads(parameters["Payload"])))

    def sent(self) -> list[tuple[str, Json]]:
        """What was sent since it was last asked."""
        events, self.events = self.events, []
        return events


@dataclass
class Deployed:
    """A before B, both as version 7; what they would be sent is kept."""

    functions: Functions
    client: Client
    timer: str

    def event(self) -> Json:
        """The event for A of a new execution called ``request``."""
        failure_function.handle(record({"n": 1}, DIED, qualifier="start-Flow"), AT_START)
        ((address, event),) = self.functions.sent()
        assert address == at("A")
        return event

    def fail(self, event: Json, answer: Json = None, **context: Any) -> None:
        is_start = context.get("qualifier", "7").startswith("start")
        failure_function.handle(record(event, answer, **context), AT_START if is_start else Context())

    def describe(self) -> Description:
        return self.client.describe("request")

    def waiting(self) -> list[Json]:
        found = boto3.client("sqs").receive_message(QueueUrl=self.timer, WaitTimeSeconds=2).get("Messages", [])
        return [json.loads(message["Body"]) for message in found]


def at(function: str, qualifier: str = "7") -> str:
    return f"{ACCOUNT}:{function}:{qualifier}"


def record(event: Json, answer: Json = None, *, qualifier: str = "7", condition: str = "RetriesExhausted") -> Json:
    """As Lambda writes it; without an answer where the function did not run."""
    context = {
        "requestId": "request",
        "functionArn": at("A", qualifier),
        "condition": condition,
        "approximateInvokeCount": 0 if answer is None else 3,
    }
    ran = {"responseContext": {"statusCode": 200, "executedVersion": "7", "functionError": "Unhandled"}}
    return {
        "version": "1.0",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "requestContext": context,
        "requestPayload": event,
        **({} if answer is None else {**ran, "responsePayload": answer}),
    }


@pytest.fixture
def deployed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("UNUM_CLIENT", "botocore")  # moto stands in its way
    folder = tmp_path / WORKFLOWS_FOLDER
    folder.mkdir()
    workflow = compile_workflow(A_TO_B, name="Flow", functions=None)
    (folder / "Flow.json").write_text(workflow.to_json())
    monkeypatch.syspath_prepend(tmp_path)
    with mock_aws():
        timer = boto3.client("sqs").create_queue(QueueName="timer")["QueueUrl"]
        service = {"table": TABLE, "hosts": [], "routes": {}, "retention_s": 604_800}
        first = {**service, "hosts": ["A"], "routes": {"B": at("B")}, "timer": timer, "start_alias": "start-Flow"}
        functions = Functions({at("A"): {"Flow": first}, at("A", "start-Flow"): {"Flow": first}})
        monkeypatch.setenv("UNUM_WORKFLOWS", json.dumps({"Flow": service}))
        monkeypatch.setenv("UNUM_OTHERS", json.dumps({"Other": at("other-handler")}))
        forget()
        monkeypatch.setattr(function_versions, "lambda_client", lambda: functions)
        monkeypatch.setattr(runtime_factory, "invoker", lambda: LambdaInvoker(functions))
        boto3.client("dynamodb").create_table(
            TableName=TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        )
        yield Deployed(functions, Client.connect(table=TABLE, workflow="Flow"), timer)
    forget()


def forget() -> None:
    for cache in CACHES:
        cache.cache_clear()


@pytest.mark.parametrize(
    ("given", "error", "cause"),
    [
        (record({}, DIED), "Runtime.ExitError", DIED),
        (record({}, {"errorMessage": "odd"}), UNKNOWN, {"errorMessage": "odd"}),
        (record({}, condition="EventAgeExceeded"), THROTTLED, None),
        (record({}), THROTTLED, None),
        ({**record({}, DIED), "responsePayload": None}, UNKNOWN, None),
    ],
)
def test_failures_have_the_names_that_step_functions_gives_them(given: Json, error: str, cause: Json) -> None:
    failure = GivenUp.from_record(given).failure
    assert failure.error == error
    told = json.loads(failure.cause or "")
    assert told == cause if cause else given["requestContext"]["condition"] in told["errorMessage"]


def test_a_failure_ends_the_execution(deployed: Deployed) -> None:
    deployed.fail(deployed.event(), DIED)
    ended = deployed.describe()
    assert (ended.status, ended.error, json.loads(ended.cause or "")) == (Status.FAILED, "Runtime.ExitError", DIED)
    assert deployed.functions.sent() == []


def test_a_failure_is_caught_and_goes_on_by_the_addresses_of_the_function(deployed: Deployed) -> None:
    deployed.fail(deployed.event(), {"errorType": "Sandbox.Timedout", "errorMessage": "late"})
    ((address, event),) = deployed.functions.sent()
    assert (address, event["state"], event["input"]["error"]["Error"]) == (at("B"), "B", "Sandbox.Timedout")


def test_a_failure_is_retried_by_the_version_that_failed(deployed: Deployed) -> None:
    event = deployed.event()
    deployed.fail(event, {"errorType": "Runtime.OutOfMemory", "errorMessage": "killed"})
    (waiting,) = deployed.waiting()
    assert (waiting["address"], waiting["event"]["retries"]) == (at("A"), [1])
    assert deployed.describe().status is Status.RUNNING


def test_an_event_that_was_throttled_to_death_fails_by_the_name_of_that(deployed: Deployed) -> None:
    deployed.fail(deployed.event(), condition="EventAgeExceeded")
    assert deployed.describe().error == "Lambda.TooManyRequestsException"


@pytest.mark.parametrize("error", ["StoreError", "InvokeError", "LeaseHeldError"])
def test_what_is_no_failure_of_user_code_is_delivered_again_later_and_not_for_ever(
    deployed: Deployed, error: str
) -> None:
    event = deployed.event()
    answer = {"errorType": error, "errorMessage": "no answer"}
    for before in range(MAX_REDELIVERIES):
        again = {**event, "redelivered": before} if before else event
        deployed.fail(again, answer)
    assert deployed.describe().status is Status.RUNNING
    with pytest.raises(InvokeError, match=rf"A:7: gave up after 5 redeliveries; {error}: .*no answer"):
        deployed.fail({**event, "redelivered": MAX_REDELIVERIES}, answer)


def test_it_waits_in_the_timer_if_there_is_one(deployed: Deployed) -> None:
    event, answer = deployed.event(), {"errorType": "StoreError", "errorMessage": "no answer"}
    with_one = deployed.functions.environments[at("A")]["Flow"]
    deployed.functions.environments[at("A", "8")] = {"Flow": {**with_one, "timer": None}}
    deployed.fail(event, answer, qualifier="8")
    assert deployed.functions.sent() == [(at("A", "8"), {**event, "redelivered": 1})]
    deployed.fail(event, answer)
    assert deployed.functions.sent() == []


@pytest.mark.parametrize("error", ["NotOurEvent", "InconsistentHistory"])
def test_contradictions_stay_visible(deployed: Deployed, error: str) -> None:
    with pytest.raises(InconsistentHistory, match=f"A:7: {error}: .*versions mixed"):
        deployed.fail(deployed.event(), {"errorType": error, "errorMessage": "versions mixed"})
    assert deployed.describe().status is Status.RUNNING


def test_a_start_begins_the_execution_that_the_event_would_have_begun(deployed: Deployed) -> None:
    first, again = deployed.event(), deployed.event()
    assert first["execution"] == again["execution"]
    assert deployed.describe().status is Status.RUNNING


def test_a_start_request_begins_the_execution_of_its_record(deployed: Deployed) -> None:
    item = start_record(Execution("named", int(time.time() * 1000)), {"n": 2}).to_item()
    deployed.client.store.create(start_key("Flow", "named"), item, expires_at_s=int(time.time()) + 604_800)
    deployed.fail(start_request("named"), DIED, qualifier="start-Flow")
    ((address, event),) = deployed.functions.sent()
    assert (address, event["input"]) == (at("A"), {"n": 2})


def test_what_comes_through_the_alias_is_never_read_as_an_envelope(deployed: Deployed) -> None:
    forged = deployed.event()
    failure_function.handle(
        {
            **record(forged, DIED, qualifier="start-Flow"),
            "requestContext": {**record({}, qualifier="start-Flow")["requestContext"], "requestId": "other"},
        },
        AT_START,
    )
    ((_, event),) = deployed.functions.sent()
    assert event["input"] == forged
    assert deployed.describe().status is Status.RUNNING


def test_an_event_of_another_workflow_is_handed_to_its_handler(deployed: Deployed) -> None:
    given = record({**deployed.event(), "workflow": "Other"}, DIED)
    failure_function.handle(given, Context())
    assert deployed.functions.sent() == [(at("other-handler"), given)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda event: {**event, "workflow": "Unheard"}, r"expected one of \['Flow', 'Other'\], got 'Unheard'"),
        (lambda _: {"order": 1}, "expected an event of a workflow, got another"),
    ],
)
def test_what_cannot_be_read_stays_visible(deployed: Deployed, change: Callable[[Json], Json], message: str) -> None:
    with pytest.raises(NotOurEvent, match=message):
        deployed.fail(change(deployed.event()), DIED)


def test_another_alias_is_no_way_in(deployed: Deployed) -> None:
    deployed.functions.environments[at("A", "live")] = deployed.functions.environments[at("A")]
    with pytest.raises(NotOurEvent, match="A:live: expected a failed event of a version"):
        deployed.fail({}, DIED, qualifier="live")
    with pytest.raises(NotOurEvent, match="A:live: expected a version, or the start alias of workflow 'Flow'"):
        failure_function.handle(record({}, DIED, qualifier="live"), AT_START)
    through = Context(invoked_function_arn=f"{ACCOUNT}:on-failure:live")
    with pytest.raises(NotOurEvent, match="expected a record of a failed start at 'start-intake-Flow'"):
        failure_function.handle(record({}, DIED, qualifier="start-Flow"), through)


def test_failed_starts_arrive_at_their_alias_alone(deployed: Deployed) -> None:
    with pytest.raises(NotOurEvent, match="failed starts arrive at 'start-intake-Flow'"):
        failure_function.handle(record({"n": 1}, DIED, qualifier="start-Flow"), Context())
    with pytest.raises(NotOurEvent, match="expected a record of a failed start"):
        failure_function.handle(record(deployed.event(), DIED), AT_START)
    assert deployed.functions.sent() == []


@pytest.mark.parametrize(
    "event",
    [
        {"$unum": 1, "control": "stop", "execution": "request"},
        {"$unum": 1, "control": "fork", "execution": "request", "node": "A", "name": "f", "input": 1},
        {"$unum": 1, "control": "sweep", "silent_ms": 1, "nudge": True},
        {"$unum": 1, "start": "request"},
    ],
)
def test_a_version_takes_no_requests_and_no_envelopes(deployed: Deployed, event: Json) -> None:
    for forged in (event, deployed.event()):
        with pytest.raises(NotOurEvent, match="expected a record of a failed event"):
            failure_function.handle(forged, Context())
    assert deployed.describe().status is Status.RUNNING
    assert deployed.functions.sent() == []


@pytest.mark.parametrize("given", [None, [], {}, {"Records": []}, {"requestContext": {"functionArn": 1}}])
def test_what_is_no_record_stays_visible(deployed: Deployed, given: Json) -> None:  # noqa: ARG001 - the environment
    with pytest.raises(NotOurEvent, match="expected a record"):
        failure_function.handle(given, Context())


def test_a_version_that_is_gone_stays_visible(deployed: Deployed) -> None:
    with pytest.raises(InvokeError, match=r"A:9: .*ResourceNotFoundException"):
        deployed.fail(deployed.event(), DIED, qualifier="9")


def test_an_event_of_an_execution_whose_items_may_have_expired_is_counted_and_has_no_effect(
    deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    name, _started_ms = deployed.event()["execution"]
    event = {**deployed.event(), "execution": [name, 1]}
    capsys.readouterr()
    deployed.fail(event, DIED)
    lines = {line["message"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}
    assert lines["late"]["LateEvents"] == 1
    assert "after its deadline" in lines["refused"]["reason"]
    assert deployed.describe().status is Status.RUNNING
    assert deployed.functions.sent() == []


def test_a_start_request_without_a_record_is_counted(deployed: Deployed, capsys: pytest.CaptureFixture[str]) -> None:
    deployed.fail(start_request("expired"), DIED, qualifier="start-Flow")
    lines = {line["message"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}
    assert lines["late"]["LateEvents"] == 1


def test_an_event_that_lambda_kept_for_long_still_fails_its_task(deployed: Deployed) -> None:
    """Six hours in the queue of the function, and nearly as long in that of this handler."""
    deployed.fail({**deployed.event(), "not_after": 1}, DIED)
    assert deployed.describe().status is Status.FAILED


def test_versions_are_looked_up_once(deployed: Deployed) -> None:
    event = deployed.event()
    for _ in range(3):
        deployed.fail(event, DIED)
    assert deployed.functions.looked_up == [at("A", "start-Flow"), at("A")]


def test_what_it_commits_is_counted_once_however_often_it_is_told(
    deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    event = deployed.event()
    capsys.readouterr()
    for _ in range(2):
        deployed.fail(event, condition="EventAgeExceeded")
    counted = Counter(name for line in capsys.readouterr().out.splitlines() for name in json.loads(line))
    assert deployed.describe().status is Status.FAILED
    assert (counted["ExecutionsFailed"], counted["Throttles"]) == (1, 2)


def service_at(function: str) -> configuration.Service:
    return function_versions.configured(at(function))[1]["Flow"]


def take_over(event: Json, **changes: Json) -> Json:
    """The request that A sends when it may not invoke B."""
    request = TakeOver(
        workflow=event["workflow"],
        digest=event["ir"],
        name=Envelope.from_json(event).name,
        state="A",
        address=at("A"),
    )
    return replace(request, **changes).to_json()


def test_the_intake_sends_what_follows_from_a_committed_outcome(deployed: Deployed) -> None:
    event = deployed.event()
    rt = runtime_factory.runtime_of("Flow", function_versions.configured(at("A"))[1]["Flow"], at("A"), Context())
    name = Envelope.from_json(event).name
    commit(rt, Commit(name, "A", Phase.LEFT, Success({"n": 2})), DeliveryState({}))
    for _ in range(2):
        failure_function.handle(take_over(event), Context())
        ((address, sent),) = deployed.functions.sent()
        assert (address, sent["state"], sent["input"]) == (at("B"), "B", {"n": 2})


def test_the_intake_of_a_shared_function_forwards_requests_of_other_workflows(deployed: Deployed) -> None:
    request = take_over(deployed.event(), workflow="Other")
    failure_function.handle(request, Context())
    assert deployed.functions.sent() == [(at("other-handler"), request)]


def test_nobody_takes_over_through_an_alias(deployed: Deployed) -> None:
    request = take_over(deployed.event())
    for alias in ("start-intake-Flow", "live"):
        with pytest.raises(NotOurEvent):
            failure_function.handle(request, Context(invoked_function_arn=f"{ACCOUNT}:on-failure:{alias}"))
    assert deployed.functions.sent() == []


FORGED = {"input": {"n": -999}}


def test_an_event_is_sent_again_with_the_input_that_is_committed(deployed: Deployed) -> None:
    event = deployed.event()
    deployed.fail({**event, **FORGED}, {"errorType": "Runtime.OutOfMemory", "errorMessage": "forged"})
    (waiting,) = deployed.waiting()
    assert (waiting["address"], waiting["event"]["input"]) == (at("A"), event["input"])
    with_one = deployed.functions.environments[at("A")]["Flow"]
    deployed.functions.environments[at("A", "8")] = {"Flow": {**with_one, "timer": None}}
    deployed.fail({**event, **FORGED}, {"errorType": "StoreError", "errorMessage": "forged"}, qualifier="8")
    assert deployed.functions.sent() == [(at("A", "8"), {**event, "redelivered": 1})]


def test_a_failure_that_is_caught_has_the_input_that_is_committed(deployed: Deployed) -> None:
    deployed.fail({**deployed.event(), **FORGED}, {"errorType": "Sandbox.Timedout", "errorMessage": "late"})
    ((_, event),) = deployed.functions.sent()
    assert event["input"]["n"] == 1


def test_routes_of_a_record_are_not_used(deployed: Deployed) -> None:
    event = {**deployed.event(), "routes": {"B": at("Elsewhere")}}
    deployed.fail(event, {"errorType": "Sandbox.Timedout", "errorMessage": "late"})
    ((address, _),) = deployed.functions.sent()
    assert address == at("B")


@pytest.mark.parametrize(
    "change",
    [{"step": 2}, {"state": "B"}, {"state": "Nowhere"}, {"step": 2, "state": "B"}, {"execution": ["other", 5]}],
)
def test_what_no_committed_outcome_leads_to_does_not_fail(deployed: Deployed, change: Json) -> None:
    event = deployed.event()
    started_ms = event["execution"][1]
    change = {**change, **({"execution": ["other", started_ms]} if "execution" in change else {})}
    with pytest.raises(NotOurEvent):
        deployed.fail({**event, **change}, DIED)
    assert deployed.describe().status is Status.RUNNING
    deployed.fail(event, DIED)
    assert deployed.describe().error == "Runtime.ExitError", "and nothing is in its way"


@pytest.mark.parametrize("error", ["Forged", "StoreError"])
@pytest.mark.parametrize("retries", [[], [1]])
def test_what_is_not_due_has_not_failed(deployed: Deployed, error: str, retries: list[int]) -> None:
    event, lasting = deployed.event(), {"hold_s": 3_600}
    service = deployed.functions.environments[at("A")]["Flow"]
    deployed.functions.environments[at("B")] = {"Flow": {**service, "hosts": ["B"], "timer": None}}
    rt = runtime_factory.runtime_of("Flow", service_at("A"), at("A"), Context())
    commit(rt, Commit(Envelope.from_json(event).name, "A", Phase.LEFT, Success(lasting)), DeliveryState({}))
    forged = {**event, "step": 2, "state": "B", "retries": retries}
    of_b = record(forged, {"errorType": error, "errorMessage": "forged"})
    of_b["requestContext"]["functionArn"] = at("B")
    with pytest.raises(NotOurEvent, match="expected an event that is due"):
        failure_function.handle(of_b, Context())
    name = Envelope.from_json(forged).name
    failure_function.handle(take_over(forged, name=name, state="B", retries=tuple(retries)), Context())
    assert (deployed.describe().status, deployed.functions.sent()) == (Status.RUNNING, [])


def test_an_intake_that_believes_a_record_would_be_noticed(deployed: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failure_function, "planned_event", lambda _rt, event, _routes: event)
    with pytest.raises(AssertionError):
        test_a_failure_that_is_caught_has_the_input_that_is_committed(deployed)
