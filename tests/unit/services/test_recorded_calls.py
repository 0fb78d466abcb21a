"""Calls of services that AWS Step Functions recorded: their parameters are taken, their results are shaped so.

The recordings lie beside the checkout, or where UNUM_ASL_CASES says; without them these tests are skipped.
"""

import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.stub import Stubber

from unum_runtime.errors import StatesError
from unum_runtime.features.services import Clients, call, poll
from unum_runtime.features.services.jobs import JOBS
from unum_runtime.features.services.operation import parse
from unum_runtime.features.services.spelling import fold_name

BESIDE = Path(__file__).parents[4] / "shared" / "asl-cases"
RECORDINGS = Path(os.environ.get("UNUM_ASL_CASES", BESIDE)) / "executions.jsonl"
ENVELOPE = {"SdkHttpMetadata", "SdkResponseMetadata"}
CAUSE = re.compile(r"(?P<message>.*) \(Service: \w+; Status Code: (?P<status>\d+); Error Code: (?P<code>\w+); .*\)")


def traces() -> Iterator[Any]:
    lines = RECORDINGS.read_text(encoding="utf-8").splitlines() if RECORDINGS.exists() else []
    for case in map(json.loads, lines):
        for number, trace in enumerate(case["task_stubs"]["trace"] or ()):
            if trace["kind"] == "service" and trace["resourceType"] != "lambda":
                yield pytest.param(trace, id=f"{case['name']}-{number}")


TRACES = list(traces())
pytestmark = pytest.mark.skipif(not TRACES, reason=f"no recordings at {RECORDINGS}; set UNUM_ASL_CASES")


def shape_of(trace: dict[str, Any], operation: str | None = None) -> Any:
    called = parse(named(trace))
    model = ServiceModel(Loader().load_service_model(called.service, "service-2"))
    return model.operation_model(operation or called.operation).output_shape


def named(trace: dict[str, Any]) -> str:
    action, _, suffix = trace["resource"].partition(".")
    version = ":2" if suffix.endswith(":2") else ""
    return f"{trace['resourceType']}:{action}{version}"


def as_answered(value: Any, shape: Any) -> Any:  # noqa: PLR0911 - one for each type
    """Return the service's answer from which Step Functions makes `value`."""
    match shape.type_name:
        case "structure":
            names = {fold_name(name): name for name in shape.members}
            known = {names[fold_name(key)]: item for key, item in value.items() if key not in ENVELOPE}
            return {name: as_answered(item, shape.members[name]) for name, item in known.items()}
        case "list":
            return [as_answered(item, shape.member) for item in value]
        case "map":
            return {key: as_answered(item, shape.value) for key, item in value.items()}
        case "blob":
            return io.BytesIO(value.encode())
        case "timestamp":
            return 1_800_000_000
        case "string" if not isinstance(value, str):
            return json.dumps(value)
        case _:
            return value


def without_dates(value: Any) -> Any:
    """`value` without what the recorder hid."""
    if isinstance(value, dict):
        return {key: without_dates(item) for key, item in value.items() if not key.endswith(("Date", "Modified"))}
    if isinstance(value, list):
        return [without_dates(item) for item in value]
    return without_dates(json.loads(value)) if isinstance(value, str) and value.startswith("{") else value


@pytest.mark.parametrize("trace", TRACES)
def test_parameters_and_response(clients: Clients, trace: dict[str, Any]) -> None:
    outcome = trace.get("submitted_output") or trace["outcome"].get("output")
    if outcome is None:
        pytest.skip("it failed, see below")
    name = named(trace).removesuffix(":2")
    with Stubber(clients.client(parse(name).service)) as stub:
        stub.add_response(method(trace), as_answered(outcome, shape_of(trace)))
        result = call(name, trace["input"], clients=clients)
    assert without_dates({key: result[key] for key in result.keys() - ENVELOPE}) == without_dates(
        {key: outcome[key] for key in outcome.keys() - ENVELOPE}
    )
    assert ENVELOPE.isdisjoint(outcome) or result.keys() >= ENVELOPE


def method(trace: dict[str, Any]) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", trace["resource"].partition(".")[0]).lower()


@pytest.mark.parametrize("trace", [trace for trace in TRACES if "sync" in trace.values[0]["resource"].split(".")[-1]])
def test_the_end_of_a_job(clients: Clients, trace: dict[str, Any]) -> None:
    outcome = trace["outcome"]
    recorded = outcome.get("cause") or outcome.get("output")
    if not isinstance(recorded, dict):
        pytest.skip("only a part of the result was recorded")
    name = named(trace)
    shape = shape_of(trace, JOBS[name.removesuffix(":2")].describe)
    with Stubber(clients.client(parse(name).service)) as stub:
        stub.add_response("describe_execution", as_answered(recorded, shape))
        handle = {"ExecutionArn": recorded["ExecutionArn"]}
        if "error" not in outcome:
            assert without_dates(poll(name, handle, clients=clients)) == without_dates(recorded)
            return
        with pytest.raises(StatesError) as caught:
            poll(name, handle, clients=clients)
    assert caught.value.error == outcome["error"]
    assert without_dates(json.loads(caught.value.cause)) == without_dates(recorded)


@pytest.mark.parametrize("trace", [trace for trace in TRACES if "Proxy: null" in str(trace.values[0]["outcome"])])
def test_errors(clients: Clients, trace: dict[str, Any]) -> None:
    recorded = trace["outcome"]["cause"]
    match = CAUSE.fullmatch(recorded)
    assert match
    with Stubber(clients.client(parse(named(trace)).service)) as stub:
        stub.add_client_error(method(trace), match["code"], match["message"], int(match["status"]))
        with pytest.raises(StatesError) as caught:
            call(named(trace), trace["input"], clients=clients)
    assert caught.value.error == trace["outcome"]["error"]
    assert caught.value.cause == recorded.replace("<request_id>", "None")
