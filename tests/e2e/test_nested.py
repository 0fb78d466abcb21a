"""Tasks that start executions of another workflow, and of their own, with nothing allowed but the start aliases."""

import json
import time
from dataclasses import replace
from typing import Any

import pytest

from tests.e2e.conftest import Deployment
from tests.e2e.timers import forwarder_of, idle
from tests.patience import PATIENCE_S
from unum_cli.main import main
from unum_client import Client, Description
from unum_client.reading import stored_steps
from unum_runtime.model.checkpoint import Status, Success
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.protocol.history.pending import WaitsFor

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def client(deployment: Deployment) -> Client:
    return deployment.client("Nested")


def run(client: Client, case: str, n: int, key: str) -> Description:
    return client.run({"case": case, "n": n, "key": key}, timeout_s=PATIENCE_S)


def runs(deployment: Deployment, key: str) -> int:
    item = deployment.table("Nested", "RunsTable").get_item(Key={"key": key}).get("Item")
    return 0 if item is None else int(item["runs"])


def test_a_task_waits_for_the_child_and_has_its_result(deployment: Deployment, client: Client) -> None:
    ended = run(client, "json", 5, "json")
    assert ended.status is Status.SUCCEEDED, ended
    assert ended.output["Status"] == "SUCCEEDED"
    assert ended.output["Output"] == {"n": 20, "key": "json child"}
    assert ended.output["Input"] == {"n": 10, "key": "json child"}
    assert ":execution:NestedChild" in ended.output["ExecutionArn"].replace("-", "")
    assert (runs(deployment, "json"), runs(deployment, "json child")) == (1, 1)


def test_parent_and_child_have_traces_that_name_each_other(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    client.start({"case": "json", "n": 1, "key": "traced"}, name="traced")
    client.wait("traced", timeout_s=PATIENCE_S)
    assert main(["trace", "traced", "--stack", "Nested", "--workflow", client.workflow, "--json"]) == 0
    traces = json.loads(capsys.readouterr().out)["resourceSpans"]
    parent, child = (trace["scopeSpans"][0]["spans"] for trace in traces)
    (started,) = (span for span in parent if span["name"] == "Json")

    def linked(span: Any) -> list[tuple[str, str]]:
        return [(link["traceId"], link["spanId"]) for link in span["links"]]

    assert linked(started) == [(child[0]["traceId"], child[0]["spanId"])]
    assert linked(child[0]) == [(started["traceId"], started["spanId"])]


def test_a_second_delivery_starts_no_second_child(deployment: Deployment, client: Client) -> None:
    first = client.start({"case": "json", "n": 1, "key": "first"}, name="first")
    client.wait("first", timeout_s=PATIENCE_S)
    known = next(step.checkpoint for step in client.steps(first.name) if step.state == "Json")
    client.start({"case": "json", "n": 1, "key": "twice"}, name="twice")
    execution = stored_steps.start_record(client.store, client.workflow, "twice").name.execution
    event = Envelope(
        workflow=client.workflow,
        digest=known.digest,
        name=replace(known.name, execution=execution),
        state="Json",
        input=Value(Success({"case": "json", "n": 2, "key": "twice"}), execution.started_ms),
        sent_s=int(time.time()),
        routes={},
    )
    services = deployment.outputs["Nested"]["Services"]
    for _ in range(2):
        assert deployment.invoke(services, event.to_json()) is None
    assert client.wait("twice", timeout_s=PATIENCE_S).output["Output"] == {"n": 4, "key": "twice child"}
    assert runs(deployment, "twice child") == 1


def test_a_look_that_was_lost_is_told_and_made_up_for_by_a_nudge(
    deployment: Deployment, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    with idle(deployment, forwarder_of(deployment, "Nested")) as url:
        client.start({"case": "json", "n": 4, "key": "lost"}, name="lost")
        lose_one(deployment, url)
    (found,) = client.why("lost").missing
    assert (found.state, found.waits_for) == ("Json", WaitsFor.JOB)
    assert ":execution:NestedChild" in found.job["handle"]["ExecutionArn"].replace("-", "")
    assert main(["steps", "lost", "--stack", "Nested", "--workflow", client.workflow]) == 0
    assert f"Json started {found.job['handle']['ExecutionArn'].split(':execution:')[1].replace(':', '/')}\n" in (
        capsys.readouterr().out
    )
    client.nudge("lost")
    assert client.wait("lost", timeout_s=PATIENCE_S).output["Output"] == {"n": 16, "key": "lost child"}
    assert (runs(deployment, "lost"), runs(deployment, "lost child")) == (1, 1)


def lose_one(deployment: Deployment, url: str) -> None:
    """Wait for a message in a queue and remove it."""
    queue, names = deployment.session.resource("sqs").Queue(url), ("", "Delayed")
    for _ in range(120):
        queue.load()
        attributes: Any = queue.attributes
        if sum(int(attributes[f"ApproximateNumberOfMessages{name}"]) for name in names):
            queue.purge()
            return
        time.sleep(0.5)
    raise AssertionError("no look was sent")


def test_the_result_is_text_where_step_functions_has_it_so(client: Client) -> None:
    ended = run(client, "text", 3, "text")
    assert json.loads(ended.output["output"]) == {"n": 6, "key": "text"}


def test_a_child_that_fails_fails_the_task(client: Client) -> None:
    ended = run(client, "text", -1, "bad")
    assert (ended.status, ended.error) == (Status.FAILED, "States.TaskFailed")
    child = json.loads(str(ended.cause))
    assert (child["Name"], child["Status"], child["Error"]) == ("bad", "FAILED", "ValueError")


def test_a_workflow_starts_itself(client: Client) -> None:
    ended = run(client, "itself", 2, "again")
    assert ended.output["ExecutionArn"].endswith(":again-2")
    assert client.wait("again-2", timeout_s=PATIENCE_S).output["ExecutionArn"].endswith(":again-1")
    last = client.wait("again-1", timeout_s=PATIENCE_S).output
    assert last.pop("AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID").endswith(":again-2")
    assert last == {"case": "itself", "n": 0, "key": "again"}


def test_commands_name_parents_and_children(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    client.start({"case": "itself", "n": 1, "key": "related"}, name="related")
    client.wait("related", timeout_s=PATIENCE_S)
    client.wait("related-1", timeout_s=PATIENCE_S)
    at = ("--stack", "Nested", "--workflow", client.workflow)

    def said(*command: str) -> str:
        assert main([*command, *at]) == 0
        return capsys.readouterr().out

    assert f"Itself started {client.workflow}/related-1\n" in said("steps", "related")
    assert f"parent   {client.workflow}/related\n" in said("describe", "related-1")
    assert json.loads(said("describe", "related-1", "--json"))["started_by"]["confirmed"] is True
    arn = client.describe("related-1").input["AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID"]
    for name, named in {"forged": arn, "orphan": f"{arn}-gone"}.items():
        value = {"case": "itself", "n": 0, "key": name, "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID": named}
        client.start(value, name=name)
        client.wait(name, timeout_s=PATIENCE_S)
    assert f"parent   unknown: the input names {client.workflow}/related, whose steps " in said("describe", "forged")
    assert f"parent   {client.workflow}/related-gone, as the input says\n" in said("describe", "orphan")
    assert "started" not in said("steps", "related-1").splitlines()[-1]
    assert "parent" not in said("describe", "related")
