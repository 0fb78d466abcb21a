"""Every entrance of JSON refuses the same texts: numbers beyond a double, NaN, deep nesting, lone surrogates."""

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from tests.unit.protocol.callback_platform import asking
from unum_cli.ui.operations import _json
from unum_client.stepfunctions import _parse
from unum_compiler.definition import Definition
from unum_runtime.asl.serialize import NotSerializable, dumps
from unum_runtime.errors import InvalidExecutionInput, StatesError
from unum_runtime.features.data_sets.config import ReaderConfig
from unum_runtime.features.data_sets.formats import items
from unum_runtime.features.services.adjust import parse_if_json
from unum_runtime.json_text import MAX_DEPTH, InvalidSyntax, find_fault, parse_foreign, to_readable, to_text
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.envelope import MARK
from unum_runtime.protocol.history.start_records import as_json, checked_input
from unum_runtime.protocol.requests import run
from unum_runtime.protocol.requests.function_url import respond
from unum_runtime.protocol.requests.respond import answer
from unum_simulator.local import LocalWorkflow

SIGNS = st.sampled_from(["", "-"])
NUMBERS = st.builds("{}1e{}".format, SIGNS, st.integers(309, 9999))
INTEGERS = st.builds(lambda sign, digits: f"{sign}{'9' * digits}", SIGNS, st.integers(309, 6000))
CONSTANTS = st.sampled_from(["NaN", "Infinity", "-Infinity"])
SURROGATES = st.builds('"{}\\u{:04x}"'.format, st.sampled_from(["", "a", "\\u00e4"]), st.integers(0xD800, 0xDFFF))
DEPTHS = st.builds(lambda depth: "[" * depth + "]" * depth, st.sampled_from([MAX_DEPTH + 1, 700, 100_000]))
PLACES = st.sampled_from(["{}", "[{}]", '{{"a": {}}}', '[1, {{"b": [{}, "x"]}}]'])
BAD = st.builds(lambda place, bad: place.format(bad), PLACES, NUMBERS | INTEGERS | CONSTANTS | SURROGATES | DEPTHS)


def outcome_of(state: Mapping[str, Any], value: Any, function: Callable[..., Any] | None = None) -> Any:
    """Run an execution of one state; return outcome and stored items."""
    definition = {"StartAt": "A", "States": {"A": {**state, "End": True}}}
    workflow = Definition.from_asl(definition).compile("w", None)
    local = LocalWorkflow(workflow, {"f": function} if function else {})
    return local.run("e", value).outcome


def raise_failure(outcome: Any, error: str) -> None:
    assert isinstance(outcome, Failure), outcome
    assert outcome.error == error, outcome
    raise StatesError(error, outcome.cause or "")


def read_items(kind: str) -> Callable[[str], Any]:
    return lambda text: list(items(io.BytesIO(text.encode()), ReaderConfig(format=kind)))


def answer_token(text: str) -> None:
    waiting = asking()
    token = waiting.begun()
    refused = answer(waiting.platform.runtime(), {MARK: 1, "token": token, "output": text})
    body = json.dumps({"taskToken": token, "output": text})
    http = {"requestContext": {"http": {"method": "POST"}}, "body": body}
    assert respond(waiting.platform.runtime(), http)["statusCode"] == 400
    assert waiting.outcome is None
    assert answer(waiting.platform.runtime(), {MARK: 1, "token": token, "output": "[1.5]"}) == {}
    waiting.platform.deliver_all()
    assert waiting.outcome == Success([1.5])
    assert refused["error"] == "InvalidOutput"
    raise ValueError(refused["message"])


def string_to_json(text: str) -> None:
    state = {"Type": "Pass", "Parameters": {"x.$": "States.StringToJson($)"}}
    raise_failure(outcome_of(state, text), "States.IntrinsicFailure")


def parse_in_jsonata(text: str) -> None:
    state = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": "{% $parse($states.input) %}"}
    raise_failure(outcome_of(state, text), "States.QueryEvaluationError")


def parse_body(text: str) -> None:
    if parse_if_json(text) == text:  # a constant of Python is a text, as is everything else that is no JSON
        raise InvalidSyntax(text)


ENTRANCES: Mapping[str, tuple[Callable[[str], Any], type[Exception]]] = {
    "answers with a task token": (answer_token, ValueError),
    "States.StringToJson": (string_to_json, StatesError),
    "$parse of JSONata": (parse_in_jsonata, StatesError),
    "JSON data sets": (read_items("JSON"), ValueError),
    "JSONL data sets": (read_items("JSONL"), ValueError),
    "bodies of services": (parse_body, (StatesError, InvalidSyntax)),  # type: ignore[dict-item]
    "uploaded inputs": (run._parsed, InvalidExecutionInput),
    "inputs of boto3's look-alike": (_parse, InvalidExecutionInput),
    "forms of the page": (lambda text: _json("input", text), HTTPException),
}
"""Entrances of text, each with the errors by which it refuses."""


@pytest.mark.parametrize("name", ENTRANCES)
@settings(max_examples=25, deadline=None)
@given(text=BAD)
def test_entrance_of_text_refuses_what_is_no_json(name: str, text: str) -> None:
    enter, error = ENTRANCES[name]
    with pytest.raises(error):
        enter(text)


def code_result(value: Any) -> None:
    state = {"Type": "Task", "Resource": "f"}
    raise_failure(outcome_of(state, None, lambda *_: value), "Runtime.MarshalError")


def start_event(value: Any) -> None:
    raise_failure(outcome_of({"Type": "Pass"}, value), "States.Runtime")


VALUES: Mapping[str, tuple[Callable[[Any], Any], type[Exception]]] = {
    "results of user code": (code_result, StatesError),
    "events that start": (start_event, StatesError),
    "inputs at the run alias": (checked_input, InvalidExecutionInput),
    "inputs of the client": (as_json, InvalidExecutionInput),
    "values of signals": (dumps, NotSerializable),
}
"""Entrances of values that others have read, such as Lambda's runtime, whose reader accepts Infinity."""

FAULTY = st.one_of(
    st.sampled_from([float("inf"), float("-inf"), float("nan"), 10**309, -(10**400), "\ud800", "a\udfff"]),
    st.builds(lambda depth: json.loads("[" * depth + "]" * depth), st.integers(MAX_DEPTH + 1, 600)),
)
WRAPPED = st.builds(
    lambda wrap, bad: wrap(bad), st.sampled_from([lambda x: x, lambda x: [1, x], lambda x: {"a": x}]), FAULTY
)


@pytest.mark.parametrize("name", VALUES)
@settings(max_examples=25, deadline=None)
@given(value=WRAPPED)
def test_entrance_of_values_refuses_what_is_no_json(name: str, value: Any) -> None:
    enter, error = VALUES[name]
    with pytest.raises(error):
        enter(value)


FINITE = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**1023), 2**1023)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(JSON)
def test_json_is_read_as_it_was_written(value: Any) -> None:
    text = to_text(value)
    assert find_fault(value, text) is None
    for form in (text, to_readable(value), to_readable(value, indent=2), text.encode()):
        assert to_text(parse_foreign(form)) == text


@pytest.mark.parametrize("numeral", ["1.7976931348623157e308", "1" + "0" * 308, "-1e308", "1e-999", "5e-324"])
def test_numbers_at_the_edge_of_a_double_are_json(numeral: str) -> None:
    assert to_text(parse_foreign(numeral)) == to_text(json.loads(numeral))


def test_nesting_at_the_limit_passes_each_step_of_an_execution() -> None:
    deep = json.loads("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert outcome_of({"Type": "Task", "Resource": "f"}, deep, lambda event, _: event) == Success(deep)
    nests = {"Type": "Pass", "Parameters": {"x.$": "$"}}
    outcome = outcome_of(nests, deep)
    assert outcome.error == "States.Runtime"
    assert "nested too deeply" in outcome.cause


def test_writer_never_writes_what_is_no_json() -> None:
    for value in (float("inf"), [float("nan")], {"a": float("-inf")}):
        with pytest.raises(ValueError, match="not JSON compliant"):
            to_text(value)
    assert json.loads(to_text("\ud800")) == "\ud800"
