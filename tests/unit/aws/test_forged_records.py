"""Failure records that a function of the workflow has forged: names count, contents do not."""

import pytest

from tests.unit.aws.failure_platform import DIED, Context, Deployed, Json, at, record, service_at, take_over
from unum_runtime.errors import NotOurEvent
from unum_runtime.functions.operations import failure_function, runtime_in_place
from unum_runtime.model.checkpoint import Phase, Status, Success
from unum_runtime.model.envelope import Envelope
from unum_runtime.protocol.delivery.commit import commit
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.planning.plan import Commit

FORGED = {"input": {"n": -999}}


def test_an_event_is_sent_again_with_the_input_that_is_committed(intake: Deployed) -> None:
    event = intake.event()
    intake.fail({**event, **FORGED}, {"errorType": "Runtime.OutOfMemory", "errorMessage": "forged"})
    (waiting,) = intake.waiting()
    assert (waiting["address"], waiting["event"]["input"]) == (at("A"), event["input"])
    with_one = intake.functions.environments[at("A")]["Flow"]
    intake.functions.environments[at("A", "8")] = {"Flow": {**with_one, "timer": None}}
    intake.fail({**event, **FORGED}, {"errorType": "StoreError", "errorMessage": "forged"}, qualifier="8")
    assert intake.functions.sent() == [(at("A", "8"), {**event, "redelivered": 1})]


def test_a_failure_that_is_caught_has_the_input_that_is_committed(intake: Deployed) -> None:
    intake.fail({**intake.event(), **FORGED}, {"errorType": "Sandbox.Timedout", "errorMessage": "late"})
    ((_, event),) = intake.functions.sent()
    assert event["input"]["n"] == 1


def test_routes_of_a_record_are_not_used(intake: Deployed) -> None:
    event = {**intake.event(), "routes": {"B": at("Elsewhere")}}
    intake.fail(event, {"errorType": "Sandbox.Timedout", "errorMessage": "late"})
    ((address, _),) = intake.functions.sent()
    assert address == at("B")


@pytest.mark.parametrize(
    "change",
    [{"step": 2}, {"state": "B"}, {"state": "Nowhere"}, {"step": 2, "state": "B"}, {"execution": ["other", 5]}],
)
def test_what_no_committed_outcome_leads_to_does_not_fail(intake: Deployed, change: Json) -> None:
    event = intake.event()
    started_ms = event["execution"][1]
    change = {**change, **({"execution": ["other", started_ms]} if "execution" in change else {})}
    with pytest.raises(NotOurEvent):
        intake.fail({**event, **change}, DIED)
    assert intake.describe().status is Status.RUNNING
    intake.fail(event, DIED)
    assert intake.describe().error == "Runtime.ExitError", "and nothing is in its way"


@pytest.mark.parametrize("error", ["Forged", "StoreError"])
@pytest.mark.parametrize("retries", [[], [1]])
def test_what_is_not_due_has_not_failed(intake: Deployed, error: str, retries: list[int]) -> None:
    event, lasting = intake.event(), {"hold_s": 3_600}
    service = intake.functions.environments[at("A")]["Flow"]
    intake.functions.environments[at("B")] = {"Flow": {**service, "hosts": ["B"], "timer": None}}
    rt = runtime_in_place.runtime_of("Flow", service_at("A"), at("A"), Context())
    commit(rt, Commit(Envelope.from_json(event).name, "A", Phase.LEFT, Success(lasting)), DeliveryState({}))
    forged = {**event, "step": 2, "state": "B", "retries": retries}
    of_b = record(forged, {"errorType": error, "errorMessage": "forged"})
    of_b["requestContext"]["functionArn"] = at("B")
    with pytest.raises(NotOurEvent, match="expected an event that is due"):
        failure_function.handle(of_b, Context())
    name = Envelope.from_json(forged).name
    failure_function.handle(take_over(forged, name=name, state="B", retries=tuple(retries)), Context())
    assert (intake.describe().status, intake.functions.sent()) == (Status.RUNNING, [])


def test_an_intake_that_believes_a_record_would_be_noticed(intake: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failure_function, "planned_event", lambda _rt, event, _routes: event)
    with pytest.raises(AssertionError):
        test_a_failure_that_is_caught_has_the_input_that_is_committed(intake)
