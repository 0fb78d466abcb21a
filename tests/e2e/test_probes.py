import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.e2e.conftest import Deployment, deliveries, until
from tests.patience import PATIENCE_S
from unum_client import Description
from unum_emulator.process import Emulator
from unum_runtime.errors import ExecutionAlreadyExists, ExecutionDoesNotExist, InvalidExecutionInput
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.envelope import start_request

pytestmark = pytest.mark.e2e

Probe = Callable[..., Description]


def test_a_fan_out_of_100_is_joined_in_full(probe: Probe) -> None:
    numbers = list(range(100))
    assert probe("wide", numbers=numbers).output == {"count": 100, "sum": sum(number**2 for number in numbers)}


def test_an_empty_fan_out_is_joined(probe: Probe) -> None:
    assert probe("wide", numbers=[]).output == {"count": 0, "sum": 0}


def test_5_mb_go_through_a_chain_and_come_back(probe: Probe) -> None:
    assert probe("large", size=5_000_000).output == {"text": "x" * 5_000_000}


def test_5_mb_are_joined_from_50_branches(probe: Probe) -> None:
    assert probe("gathered", sizes=[100_000 + number for number in range(50)]).output == {
        "sheets": 50,
        "bytes": 50 * 100_000 + sum(range(50)),
    }


def test_an_execution_may_begin_with_5_mb(probe: Probe) -> None:
    assert probe("gathered", sizes=[], more="y" * 5_000_000).output == {"sheets": 0, "bytes": 0}


def test_large_values_are_objects_below_the_workflows_name(deployment: Deployment, probe: Probe) -> None:
    probe("large", size=1_000_001)
    s3 = deployment.session.client("s3")
    bucket, workflow = (deployment.outputs["Probes"][f"Workflow{name}"] for name in ("PayloadBucket", "Workflow"))
    kept = s3.list_objects_v2(Bucket=bucket)["Contents"]
    assert {each["Key"].partition("/")[0] for each in kept} == {workflow}
    assert 1_000_001 + len('{"text":""}') in [each["Size"] for each in kept]


def test_a_loop_runs_as_often_as_its_choice_says(probe: Probe) -> None:
    assert probe("loop", round=0, rounds=5).output == {"case": "loop", "round": 5, "rounds": 5}


def test_a_loop_goes_on_in_one_invocation_of_its_function(bootstrapped: Emulator, probe: Probe) -> None:
    before = deliveries(bootstrapped, "Probes-Advance")
    assert probe("loop", round=0, rounds=5).output["round"] == 5
    until(lambda: deliveries(bootstrapped, "Probes-Advance") > before)
    assert deliveries(bootstrapped, "Probes-Advance") == before + 1


def test_results_of_nested_maps_are_in_their_places(probe: Probe) -> None:
    rows = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert probe("nested", rows=rows).output["squares"] == [[1, 4, 9], [16, 25, 36], [49, 64, 81]]


def test_an_exception_fails_the_execution_at_once_and_tells_where(probe: Probe) -> None:
    ended = probe("reject")
    assert (ended.status, ended.error) == (Status.FAILED, "RejectedError")
    cause = json.loads(ended.cause or "")
    assert cause["errorMessage"] == "cannot take reject"
    assert "probes.py" in cause["stackTrace"][-1]
    assert ended.stopped_at is not None
    assert (ended.stopped_at - ended.started_at).total_seconds() < 15


def test_an_output_that_is_no_json_fails_with_type_and_place(probe: Probe) -> None:
    ended = probe("unserializable")
    assert (ended.status, ended.error) == (Status.FAILED, "Runtime.MarshalError")
    message = json.loads(ended.cause or "")["errorMessage"]
    assert "set" in message
    assert "rows[0].tags" in message


def test_a_choice_without_match_fails_the_execution(probe: Probe) -> None:
    ended = probe("of nothing")
    assert (ended.status, ended.error) == (Status.FAILED, "States.NoChoiceMatched")


def test_a_function_may_do_no_more_than_its_role_was_granted(probe: Probe) -> None:
    ended = probe("trespass")
    assert ended.status is Status.FAILED
    assert "AccessDenied" in (ended.cause or "")


def test_a_name_started_twice_is_one_execution(deployment: Deployment) -> None:
    client = deployment.client("Probes")
    first = client.start({"case": "record"}, name="twice")
    second = client.start({"case": "record"}, name="twice")
    assert (first.is_new, second.is_new) == (True, False)
    assert second.started_at == first.started_at
    ended = client.wait("twice", timeout_s=PATIENCE_S)
    assert ended.status is Status.SUCCEEDED
    assert [step.state for step in client.steps("twice")] == ["Record", "Recorded"]


def test_a_started_name_with_other_input_is_refused(deployment: Deployment) -> None:
    client = deployment.client("Probes")
    client.start({"case": "wide", "numbers": [1]}, name="taken")
    with pytest.raises(ExecutionAlreadyExists, match="taken"):
        client.start({"case": "wide", "numbers": [2]}, name="taken")
    assert client.wait("taken", timeout_s=PATIENCE_S).output == {"count": 1, "sum": 1}


def test_what_no_execution_can_be_started_with_is_refused(deployment: Deployment) -> None:
    client = deployment.client("Probes")
    with pytest.raises(InvalidExecutionInput, match="set"):
        client.start({"tags": {1, 2}}, name="impossible")
    with pytest.raises(ExecutionDoesNotExist, match="impossible"):
        client.describe("impossible")


def test_duplicate_deliveries_change_nothing(deployment: Deployment) -> None:
    client = deployment.client("Probes")
    client.start({"case": "record"}, name="duplicates")
    again = json.dumps(start_request("duplicates"))
    alias = deployment.outputs["Probes"]["WorkflowRunAlias"]
    with ThreadPoolExecutor(5) as pool:
        list(pool.map(lambda _: _deliver(deployment, alias, again), range(5)))
    ended = client.wait("duplicates", timeout_s=PATIENCE_S)
    runs = _runs(deployment)
    _deliver(deployment, alias, again)
    assert _runs(deployment) == runs
    assert client.describe("duplicates") == ended
    assert len(list(client.steps("duplicates"))) == 2


def _deliver(deployment: Deployment, alias: str, event: str) -> None:
    deployment.session.client("lambda").invoke(FunctionName=alias, Payload=event)


def _runs(deployment: Deployment) -> dict[str, Any]:
    return {item["key"]: item["runs"] for item in deployment.table("Probes", "RunsTable").scan()["Items"]}


def test_a_handler_with_powertools_pays_once_and_logs_its_context(
    deployment: Deployment, emulator: Emulator, probe: Probe
) -> None:
    ended = probe("powertools", order={"id": "o-1", "cents": 7})
    assert ended.output == {"order": "o-1", "cents": 7, "receipt": ended.output["receipt"]}
    assert [item["data"] for item in deployment.table("Probes", "RunsTable").scan()["Items"] if "data" in item]
    text = "\n".join(log.read_text() for log in emulator.logs.glob("Probes-Charge*.log"))
    said = next(json.loads(line[line.index("{") :]) for line in text.splitlines() if '"charged"' in line)
    assert (said["state"], said["function_memory_size"]) == ("Charge", "256")
    assert said["function_name"].startswith("Probes-Charge")
    assert '"Namespace":"Shop"' in text
    refused = probe("powertools", order={"id": "o-2", "cents": 0})
    assert (refused.status, refused.error) == (Status.FAILED, "ValidationError")
