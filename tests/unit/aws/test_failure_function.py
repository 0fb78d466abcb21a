"""Failure handler invoked by Lambda with records of events that it gave up; the table is in moto."""

import json
import time
from collections import Counter
from collections.abc import Callable

import pytest

from tests.unit.aws.failure_platform import (
    ACCOUNT,
    AT_START,
    DIED,
    TABLE,
    Context,
    Deployed,
    Json,
    at,
    record,
    take_over,
)
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import (
    ExecutionAlreadyExists,
    ExecutionDoesNotExist,
    InconsistentHistory,
    InvokeError,
    NotOurEvent,
    StartsPaused,
    ValidationException,
)
from unum_runtime.functions import configuration
from unum_runtime.functions.definitions import NO_DEFINITION
from unum_runtime.functions.operations import failure_function, function_versions, runtime_in_place
from unum_runtime.functions.operations.failure_function import MAX_REDELIVERIES, THROTTLED, UNKNOWN, GivenUp
from unum_runtime.model.checkpoint import Failure, Phase, Status, Success, start_record
from unum_runtime.model.envelope import Envelope, start_event, start_request
from unum_runtime.model.naming import Execution, start_key
from unum_runtime.protocol.control import pausing
from unum_runtime.protocol.delivery.commit import commit
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.planning.existing_start import DELETED
from unum_runtime.protocol.planning.plan import Commit
from unum_runtime.protocol.requests.definition_records import write_definition


@pytest.mark.parametrize(
    ("given", "error", "cause"),
    [
        (record({}, DIED), "Runtime.ExitError", DIED),
        (record({}, {"errorMessage": "odd"}), UNKNOWN, {"errorMessage": "odd"}),
        (record({}, condition="EventAgeExceeded"), THROTTLED, None),
        (record({}, condition="ZeroReservedConcurrency"), THROTTLED, None),
        (record({}), THROTTLED, None),
        ({**record({}, DIED), "responsePayload": None}, UNKNOWN, None),
    ],
)
def test_failures_have_the_names_that_step_functions_gives_them(given: Json, error: str, cause: Json) -> None:
    failure = GivenUp.from_record(given).failure
    assert failure.error == error
    reply = json.loads(failure.cause or "")
    assert reply == cause if cause else given["requestContext"]["condition"] in reply["errorMessage"]


def test_a_failure_ends_the_execution(intake: Deployed) -> None:
    intake.fail(intake.event(), DIED)
    ended = intake.describe()
    assert (ended.status, ended.error, json.loads(ended.cause or "")) == (Status.FAILED, "Runtime.ExitError", DIED)
    assert intake.functions.sent() == []


def test_a_failure_is_caught_and_goes_on_by_the_addresses_of_the_function(intake: Deployed) -> None:
    intake.fail(intake.event(), {"errorType": "Sandbox.Timedout", "errorMessage": "late"})
    ((address, event),) = intake.functions.sent()
    assert (address, event["state"], event["input"]["error"]["Error"]) == (at("B"), "B", "Sandbox.Timedout")


def test_a_failure_is_retried_by_the_version_that_failed(intake: Deployed) -> None:
    event = intake.event()
    intake.fail(event, {"errorType": "Runtime.OutOfMemory", "errorMessage": "killed"})
    (waiting,) = intake.waiting()
    assert (waiting["address"], waiting["event"]["retries"]) == (at("A"), [1])
    assert intake.describe().status is Status.RUNNING


@pytest.mark.parametrize("error", ["StoreError", "InvokeError", "LeaseHeldError"])
def test_failures_outside_of_user_code_are_redelivered_for_a_time(intake: Deployed, error: str) -> None:
    event = intake.event()
    answer = {"errorType": error, "errorMessage": "no answer"}
    for before in range(MAX_REDELIVERIES):
        again = {**event, "redelivered": before} if before else event
        intake.fail(again, answer)
    assert intake.describe().status is Status.RUNNING
    with pytest.raises(InvokeError, match=rf"A:7: gave up after 5 redeliveries; {error}: .*no answer"):
        intake.fail({**event, "redelivered": MAX_REDELIVERIES}, answer)


def test_it_waits_in_the_timer_if_there_is_one(intake: Deployed) -> None:
    event, answer = intake.event(), {"errorType": "StoreError", "errorMessage": "no answer"}
    with_one = intake.functions.environments[at("A")]["Flow"]
    intake.functions.environments[at("A", "8")] = {"Flow": {**with_one, "timer": None}}
    intake.fail(event, answer, qualifier="8")
    assert intake.functions.sent() == [(at("A", "8"), {**event, "redelivered": 1})]
    intake.fail(event, answer)
    assert intake.functions.sent() == []


@pytest.mark.parametrize("error", ["NotOurEvent", "InconsistentHistory"])
def test_contradictions_stay_visible(intake: Deployed, error: str) -> None:
    with pytest.raises(InconsistentHistory, match=f"A:7: {error}: .*versions mixed"):
        intake.fail(intake.event(), {"errorType": error, "errorMessage": "versions mixed"})
    assert intake.describe().status is Status.RUNNING


def test_a_start_begins_the_execution_that_the_event_would_have_begun(intake: Deployed) -> None:
    first, again = intake.event(), intake.event()
    assert first["execution"] == again["execution"]
    assert intake.describe().status is Status.RUNNING


@pytest.mark.parametrize("qualifier", ["start-Flow", "run-Flow"])
def test_a_start_stays_a_letter_while_the_workflow_is_paused(intake: Deployed, qualifier: str) -> None:
    event = start_event("request", {"n": 1}) if qualifier == "run-Flow" else {"n": 1}
    failed = record(event, DIED, qualifier=qualifier)
    rt = runtime_in_place.runtime_of(
        "Flow",
        configuration.Service(table=TABLE, hosts=(), routes={}, retention_s=604_800),
        at("A"),
        Context(),
        NO_DEFINITION,
    )
    pausing.answer(rt, pausing.request("pause", reason="why not"))
    with pytest.raises(StartsPaused, match="why not"):
        failure_function.handle(failed, AT_START)
    with pytest.raises(ExecutionDoesNotExist):
        intake.describe()
    pausing.answer(rt, pausing.request("resume"))
    failure_function.handle(failed, AT_START)
    assert intake.describe().status is Status.RUNNING


def test_a_start_request_begins_the_execution_of_its_record(intake: Deployed) -> None:
    item = start_record(Execution("named", int(time.time() * 1000)), {"n": 2}).to_item()
    intake.client.store.create(start_key("Flow", "named"), item, expires_at_s=int(time.time()) + 604_800)
    intake.fail(start_request("named"), DIED, qualifier="run-Flow")
    ((address, event),) = intake.functions.sent()
    assert (address, event["input"]) == (at("A"), {"n": 2})


@pytest.mark.parametrize(
    ("event", "refusal"),
    [({"foo": 1}, ValidationException), (start_event("named", {"n": 2}), ExecutionAlreadyExists)],
)
def test_refused_start_becomes_a_dead_letter(intake: Deployed, event: Json, refusal: type[Exception]) -> None:
    intake.fail(start_event("named", {"n": 1}), DIED, qualifier="run-Flow")
    intake.functions.sent()
    with pytest.raises(refusal, match="nothing was st"):
        intake.fail(event, {"errorType": refusal.__name__, "errorMessage": "refused"}, qualifier="run-Flow")
    assert intake.functions.sent() == []


@pytest.mark.parametrize("event", [start_event("named", {"n": 1}), start_request("named"), start_request("nobody")])
def test_start_of_what_was_deleted_or_never_stored_leaves_no_dead_letter(intake: Deployed, event: Json) -> None:
    gone = start_record(Execution("named", 5), None).saying(outcome=Failure(DELETED, None))
    expires_at_s = int(time.time()) + 604_800
    intake.client.store.create(start_key("Flow", "named"), gone.to_item(), expires_at_s=expires_at_s)
    intake.fail(event, {"errorType": "ExecutionAlreadyExists", "errorMessage": "deleted"}, qualifier="run-Flow")
    assert intake.functions.sent() == []


def test_what_comes_through_the_alias_is_never_read_as_an_envelope(intake: Deployed) -> None:
    forged = intake.event()
    failure_function.handle(
        {
            **record(forged, DIED, qualifier="start-Flow"),
            "requestContext": {**record({}, qualifier="start-Flow")["requestContext"], "requestId": "other"},
        },
        AT_START,
    )
    ((_, event),) = intake.functions.sent()
    assert event["input"] == forged
    assert intake.describe().status is Status.RUNNING


def test_an_event_of_another_workflow_is_handed_to_its_handler(intake: Deployed) -> None:
    given = record({**intake.event(), "workflow": "Other"}, DIED)
    failure_function.handle(given, Context())
    assert intake.functions.sent() == [(at("other-handler"), given)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda event: {**event, "workflow": "Unheard"}, r"expected one of \['Flow', 'Other'\], got 'Unheard'"),
        (lambda _: {"order": 1}, "expected an event of a workflow, got another"),
    ],
)
def test_what_cannot_be_read_stays_visible(intake: Deployed, change: Callable[[Json], Json], message: str) -> None:
    with pytest.raises(NotOurEvent, match=message):
        intake.fail(change(intake.event()), DIED)


def test_another_alias_is_no_way_in(intake: Deployed) -> None:
    intake.functions.environments[at("A", "live")] = intake.functions.environments[at("A")]
    with pytest.raises(NotOurEvent, match="A:live: expected a failed event of a version"):
        intake.fail({}, DIED, qualifier="live")
    with pytest.raises(NotOurEvent, match="A:live: expected a version, or an alias of workflow 'Flow' for starts"):
        failure_function.handle(record({}, DIED, qualifier="live"), AT_START)
    through = Context(invoked_function_arn=f"{ACCOUNT}:on-failure:live")
    with pytest.raises(NotOurEvent, match="expected a record of a failed start at 'start-intake-Flow'"):
        failure_function.handle(record({}, DIED, qualifier="start-Flow"), through)


def test_failed_starts_arrive_at_their_alias_alone(intake: Deployed) -> None:
    with pytest.raises(NotOurEvent, match="failed starts arrive at 'start-intake-Flow'"):
        failure_function.handle(record({"n": 1}, DIED, qualifier="start-Flow"), Context())
    with pytest.raises(NotOurEvent, match="expected a record of a failed start"):
        failure_function.handle(record(intake.event(), DIED), AT_START)
    assert intake.functions.sent() == []


@pytest.mark.parametrize(
    "event",
    [
        {"$unum": 1, "control": "stop", "execution": "request"},
        {"$unum": 1, "control": "fork", "execution": "request", "node": "A", "name": "f", "input": 1},
        {"$unum": 1, "control": "sweep", "silent_ms": 1, "nudge": True},
        {"$unum": 1, "start": "request"},
    ],
)
def test_a_version_takes_no_requests_and_no_envelopes(intake: Deployed, event: Json) -> None:
    for forged in (event, intake.event()):
        with pytest.raises(NotOurEvent, match="expected a record of a failed event"):
            failure_function.handle(forged, Context())
    assert intake.describe().status is Status.RUNNING
    assert intake.functions.sent() == []


@pytest.mark.parametrize("given", [None, [], {}, {"Records": []}, {"requestContext": {"functionArn": 1}}])
def test_what_is_no_record_stays_visible(intake: Deployed, given: Json) -> None:  # noqa: ARG001 - the environment
    with pytest.raises(NotOurEvent, match="expected a record"):
        failure_function.handle(given, Context())


def test_a_version_that_is_gone_stays_visible(intake: Deployed) -> None:
    with pytest.raises(InvokeError, match=r"A:9: .*ResourceNotFoundException"):
        intake.fail(intake.event(), DIED, qualifier="9")


def test_event_of_an_expired_execution_is_counted_without_effect(
    intake: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    name, _started_ms = intake.event()["execution"]
    event = {**intake.event(), "execution": [name, 1]}
    capsys.readouterr()
    intake.fail(event, DIED)
    lines = {line["message"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}
    assert lines["late"]["LateEvents"] == 1
    assert "after its deadline" in lines["refused"]["reason"]
    assert intake.describe().status is Status.RUNNING
    assert intake.functions.sent() == []


def test_a_start_request_without_a_record_is_counted(intake: Deployed, capsys: pytest.CaptureFixture[str]) -> None:
    intake.fail(start_request("expired"), DIED, qualifier="run-Flow")
    lines = {line["message"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}
    assert lines["late"]["LateEvents"] == 1


def test_an_event_that_lambda_kept_for_long_still_fails_its_task(intake: Deployed) -> None:
    """Six hours in the queue of the function, and nearly as long in that of this handler."""
    intake.fail({**intake.event(), "not_after": 1}, DIED)
    assert intake.describe().status is Status.FAILED


def test_versions_are_looked_up_once(intake: Deployed) -> None:
    event = intake.event()
    for _ in range(3):
        intake.fail(event, DIED)
    assert intake.functions.looked_up == [at("A", "start-Flow"), at("A")]


def test_what_it_commits_is_counted_once_however_often_it_is_told(
    intake: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    event = intake.event()
    capsys.readouterr()
    for _ in range(2):
        intake.fail(event, DIED)
        intake.fail(event, condition="EventAgeExceeded")
    counted = Counter(name for line in capsys.readouterr().out.splitlines() for name in json.loads(line))
    assert intake.describe().status is Status.FAILED
    assert (counted["ExecutionsFailed"], counted["Throttles"]) == (1, 2)


def test_the_intake_sends_what_follows_from_a_committed_outcome(intake: Deployed) -> None:
    event = intake.event()
    rt = runtime_in_place.runtime_of("Flow", function_versions.configured(at("A"))[1]["Flow"], at("A"), Context())
    name = Envelope.from_json(event).name
    commit(rt, Commit(name, "A", Phase.LEFT, Success({"n": 2})), DeliveryState({}))
    for _ in range(2):
        failure_function.handle(take_over(event), Context())
        ((address, sent),) = intake.functions.sent()
        assert (address, sent["state"], sent["input"]) == (at("B"), "B", {"n": 2})


def test_intake_of_a_version_takes_over_by_the_requested_definition(intake: Deployed) -> None:
    event = intake.event()
    rt = runtime_in_place.runtime_of("Flow", function_versions.configured(at("A"))[1]["Flow"], at("A"), Context())
    there = replace(rt, workflow=replace(rt.workflow, hop_budget=rt.workflow.hop_budget + 1))
    digest = there.workflow.digest
    request = take_over({**event, "ir": digest})
    write_definition(there)
    commit(there, Commit(Envelope.from_json(event).name, "A", Phase.LEFT, Success({"n": 2})), DeliveryState({}))
    failure_function.handle(request, Context())
    ((address, sent),) = intake.functions.sent()
    assert (address, sent["ir"], sent["state"], sent["input"]) == (at("B"), digest, "B", {"n": 2})


def test_intake_of_a_shared_function_forwards_requests_of_other_workflows(intake: Deployed) -> None:
    request = take_over(intake.event(), workflow="Other")
    failure_function.handle(request, Context())
    assert intake.functions.sent() == [(at("other-handler"), request)]


def test_nobody_takes_over_through_an_alias(intake: Deployed) -> None:
    request = take_over(intake.event())
    for alias in ("start-intake-Flow", "live"):
        with pytest.raises(NotOurEvent):
            failure_function.handle(request, Context(invoked_function_arn=f"{ACCOUNT}:on-failure:{alias}"))
    assert intake.functions.sent() == []
