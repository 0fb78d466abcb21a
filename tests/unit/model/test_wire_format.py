import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unum_runtime.errors import NotOurEvent
from unum_runtime.json_text import to_text
from unum_runtime.model.checkpoint import Checkpoint, Continuation, Ending, Failure, Phase, Status, Success
from unum_runtime.model.envelope import (
    Envelope,
    Neighbours,
    Results,
    Siblings,
    Value,
    is_envelope,
    named_start,
    start_request,
)
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Execution, Frame, Name, Scope
from unum_runtime.model.states import Catcher, Form, Language, Map, Retrier, Task, Wait

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8,
)
NAME = Name(Execution("e", 5), (Frame("M", 2, 0, 1, 3),), 4)
SCOPE = Scope(NAME.execution, NAME.frames, "N", 5, 1, 7)
outcomes = st.one_of(
    json_values.map(Success),
    st.builds(Failure, st.none() | st.text(), st.none() | st.text()),
)


@given(json_values | st.just("\ud800"), st.dictionaries(st.text(), st.text(), max_size=2))
def test_an_envelope_comes_back_as_it_was(value: object, routes: dict[str, str]) -> None:
    values = (Value(Success(value), 8), Value(Success(1), 8, {"x": value}))
    for source in (*values, Results(SCOPE), Neighbours(), Siblings(9)):
        envelope = Envelope(
            workflow="w",
            digest="d",
            name=NAME,
            state="S",
            input=source,
            sent_s=9,
            routes=routes,
            retries=(1, 0) if routes else (),
            job=value,
        )
        event = json.loads(envelope.to_bytes())
        assert is_envelope(event)
        assert Envelope.from_json(event) == envelope


@given(json_values, st.dictionaries(st.text(), st.text(), max_size=2))
def test_an_event_s_bytes_are_those_of_its_data(value: object, routes: dict[str, str]) -> None:
    given: dict[str, Any] = {
        "workflow": "w",
        "digest": "d",
        "name": NAME,
        "state": "S",
        "sent_s": 9,
        "routes": routes,
        "job": value,
    }
    for known_as in (Success(value), Success.from_text(Success(value).text)):
        envelope = Envelope(input=Value(known_as, 8, {"x": value}), **given)
        whole = to_text(envelope.to_json()).encode()
        assert len(envelope.to_bytes()) == len(whole)
        assert json.loads(envelope.to_bytes()) == json.loads(whole)


@given(outcomes, st.none() | st.builds(Ending, st.sampled_from(Status), outcomes), st.sampled_from([None, SCOPE]))
def test_a_checkpoint_comes_back_as_it_was(
    outcome: Success | Failure, ending: Ending | None, opens: Scope | None
) -> None:
    checkpoint = Checkpoint(
        name=NAME,
        state="S",
        phase=Phase.LEFT,
        outcome=outcome,
        digest="d",
        committed_ms=7,
        duration_ms=3,
        attempt=1,
        opens=opens,
        ending=ending,
    )
    assert Checkpoint.from_item(NAME, checkpoint.to_item()) == checkpoint


@pytest.mark.parametrize(
    "continuation",
    [
        Continuation(variables={"x": [1], "$input": None}),
        Continuation(goes_to="Z", caught=Failure("E", None)),
        Continuation(retries=(1, 0), until_ms=9, caught=Failure(None, "why"), variables={"y": "ü"}),
    ],
)
def test_how_control_goes_on_comes_back_as_it_was(continuation: Continuation) -> None:
    checkpoint = Checkpoint(
        name=NAME,
        state="S",
        phase=Phase.RETRIED,
        outcome=Success(1),
        digest="d",
        committed_ms=7,
        continuation=continuation,
    )
    assert Checkpoint.from_item(NAME, checkpoint.to_item()) == checkpoint


def test_an_event_of_another_wire_version_is_refused_by_its_number() -> None:
    with pytest.raises(NotOurEvent, match="expected wire version 1, got 99"):
        Envelope.from_json({"$unum": 99, "workflow": "w"})


@pytest.mark.parametrize(
    "event", [None, [], "x", {}, {"$unum": 1}, {"$unum": 1, "start": 3}, {"$unum": 1, "start": "n", "more": 1}]
)
def test_only_an_exact_start_request_names_an_execution(event: object) -> None:
    assert named_start(event) is None
    assert named_start(start_request("n")) == "n"


def test_the_ir_comes_back_as_it_was() -> None:
    states = {
        "A": Task(
            name="A",
            scope=None,
            data={"ResultPath": None},
            next="M",
            function="f",
            form=Form.INVOKE,
            retry=(Retrier(errors=("States.Timeout", "X"), max_attempts=9), Retrier(errors=("Y",), jitter=True)),
            catch=(Catcher(errors=("States.ALL",), next="M", data={"ResultPath": "$.error"}),),
        ),
        "M": Map(name="M", scope=None, data={}, next="W", pure=False, join=None, start="B", has_limit=True),
        "W": Wait(name="W", scope=None, data={"Seconds": "{% 3 %}"}, next=None, language=Language.JSONATA),
        "B": Task(name="B", scope="M", data={"Parameters": {"ü": 1}}, next=None, function="g", form=Form.DIRECT),
    }
    workflow = Workflow("w", "A", states, timeout_s=7, keeps_input=True)
    again = Workflow.from_json(workflow.to_json())
    assert again.states == states
    assert (again.name, again.start_at, again.digest) == ("w", "A", workflow.digest)
    assert (again.timeout_s, again.keeps_input, again.payload_limit) == (7, True, None)


def test_an_ir_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="IR version 2; this runtime reads version 1"):
        Workflow.from_json('{"version": 2}')
