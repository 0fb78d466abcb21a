"""Answers of the deployment guard to CloudFormation: it refuses what strands executions, and always answers."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.unit.protocol.control.test_removal import Deployments, begun
from tests.unit.protocol.platform import chain
from unum_runtime.errors import NotOurEvent, StoreError
from unum_runtime.functions import configuration
from unum_runtime.functions.operations import control_entry, refused_removal
from unum_runtime.functions.operations.deployment_answers import LONGEST_REASON
from unum_runtime.protocol.control.deletions.removal import FUNCTION, Version

HANDLER = "arn:aws:lambda:us-east-1:123456789012:function:control"
BOTH = {f"{FUNCTION}A": "arn:A", f"{FUNCTION}B": "arn:B"}
A_ALONE = {f"{FUNCTION}A": "arn:A"}


@dataclass
class Context:
    """Of Lambda's context, what is looked at."""

    invoked_function_arn: str = HANDLER
    function_version: str = "$LATEST"
    aws_request_id: str = "request"

    def get_remaining_time_in_millis(self) -> int:
        return 300_000


@dataclass
class CloudFormation:
    """CloudFormation, as far as the guard sees it: a place for answers, and the stack's status."""

    url: str
    status: str | Exception = "UPDATE_IN_PROGRESS"
    asked: int = 0
    received: list[tuple[Mapping[str, str], Any]] = field(default_factory=list)

    def describe_stacks(self, **parameters: Any) -> Any:
        assert parameters == {"StackName": "arn:stack"}
        self.asked += 1
        if isinstance(self.status, Exception):
            raise self.status
        return {"Stacks": [{"StackStatus": self.status}]}

    def send(self, kind: str, new: Any, old: Any = None, context: Context | None = None) -> Any:
        """Send a request to the control function, and return the answer that came back."""
        names = {"StackId": "arn:stack", "RequestId": "request", "LogicalResourceId": "Guard"}
        event = {**names, "RequestType": kind, "ResponseURL": self.url, "ResourceProperties": {"Parts": new}}
        if old is not None:
            event |= {"OldResourceProperties": {"Parts": old}, "PhysicalResourceId": "the first one"}
        self.received.clear()
        returned = control_entry.handle(event, context or Context())
        if not self.received:
            return returned
        ((_, body),) = self.received
        assert {name: body[name] for name in names} == names
        return body


@pytest.fixture
def cloud() -> Iterator[CloudFormation]:
    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert len(body) <= 4096
            found.received.append((dict(self.headers), json.loads(body)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    found = CloudFormation(f"http://127.0.0.1:{server.server_port}/answer")
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield found
    server.shutdown()
    server.server_close()


@pytest.fixture
def deployments(cloud: CloudFormation, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployments]:
    """A before B, with an execution that waits for B."""
    service = {"table": "state", "hosts": [], "routes": {}, "retention_s": 604_800}
    monkeypatch.setenv("UNUM_WORKFLOWS", json.dumps({"w": service}))
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "control")
    configuration.services.cache_clear()
    deployments = Deployments()
    begun(deployments.deploy(chain("A", "B"), "A", "B"), "first")
    monkeypatch.setattr(refused_removal, "botocore_client", lambda *_, **__: cloud)
    monkeypatch.setattr(refused_removal, "runtime_of", lambda *_: deployments.newest.runtime())
    monkeypatch.setattr(refused_removal, "index_of", lambda _: deployments.memory)
    arns = lambda _, retention_s, began: Version(deployments.arns[began.address], retention_s)  # noqa: E731 - one line
    monkeypatch.setattr(refused_removal, "_version", arns)
    yield deployments
    configuration.services.cache_clear()


@pytest.mark.usefixtures("deployments")
def test_an_update_that_strands_executions_is_refused(cloud: CloudFormation) -> None:
    found = cloud.send("Update", A_ALONE, BOTH)
    assert (found["Status"], found["PhysicalResourceId"]) == ("FAILED", "the first one")
    for text in ("function B", "need: 1 (first)", "2027-01-", "keep=Keep(...)", "fail-executions"):
        assert text in found["Reason"]


def test_it_is_accepted_when_they_have_ended(cloud: CloudFormation, deployments: Deployments) -> None:
    deployments.newest.deliver_all()
    assert cloud.send("Update", A_ALONE, BOTH)["Status"] == "SUCCESS"


@pytest.mark.usefixtures("deployments")
@pytest.mark.parametrize(
    ("kind", "new", "old"),
    [("Create", BOTH, None), ("Delete", BOTH, None), ("Update", BOTH, A_ALONE), ("Update", BOTH, {})],
    ids=["first deployment", "deletion", "addition", "properties of another release"],
)
def test_what_removes_nothing_is_accepted_unseen(cloud: CloudFormation, kind: str, new: Any, old: Any) -> None:
    assert cloud.send(kind, new, old)["Status"] == "SUCCESS"
    assert cloud.asked == 0


@pytest.mark.usefixtures("deployments")
@pytest.mark.parametrize("status", ["UPDATE_ROLLBACK_IN_PROGRESS", PermissionError("denied"), KeyError("nothing")])
def test_a_rollback_is_accepted_and_what_may_be_one(cloud: CloudFormation, status: str | Exception) -> None:
    cloud.status = status
    assert cloud.send("Update", A_ALONE, BOTH)["Status"] == "SUCCESS"


def test_what_cannot_be_known_is_refused(
    cloud: CloudFormation, deployments: Deployments, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(_: Any) -> Any:
        raise StoreError("no answer")

    monkeypatch.setattr(refused_removal, "index_of", denied)
    found = cloud.send("Update", A_ALONE, BOTH)
    assert found["Status"] == "FAILED"
    assert "StoreError: no answer" in found["Reason"]
    assert cloud.send("Update", {**BOTH, "timer": "url"}, BOTH)["Status"] == "SUCCESS", "nothing is removed"
    assert deployments.newest.ending("first") is None


def test_too_little_time_is_a_reason(
    cloud: CloudFormation, deployments: Deployments, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployments.newest.deliver_all()
    hurried = replace(deployments.newest.runtime(), remaining_ms=lambda: 0)
    monkeypatch.setattr(refused_removal, "runtime_of", lambda *_: hurried)
    assert "too many executions" in cloud.send("Update", A_ALONE, BOTH)["Reason"]


@pytest.mark.usefixtures("deployments")
def test_an_answer_comes_even_if_the_layer_lacks_a_module(
    cloud: CloudFormation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "unum_runtime.functions.operations.refused_removal", None)
    assert cloud.send("Update", A_ALONE, BOTH)["Status"] == "SUCCESS", "it may be a rollback"
    assert cloud.send("Delete", A_ALONE)["Status"] == "SUCCESS"


@pytest.mark.usefixtures("deployments")
def test_a_reason_is_short_however_much_is_removed(cloud: CloudFormation) -> None:
    many = {f"{FUNCTION}{'x' * 200}{number}": f"arn:{number}" for number in range(100)}
    found = cloud.send("Update", {}, {**many, **BOTH})
    assert "function B" in found["Reason"]
    assert len(found["Reason"]) <= LONGEST_REASON


@pytest.mark.usefixtures("deployments")
def test_the_signature_covers_an_empty_content_type(cloud: CloudFormation) -> None:
    cloud.send("Create", BOTH)
    ((headers, body),) = cloud.received
    assert headers["Content-Type"] == ""
    assert body["PhysicalResourceId"] == "control"


@pytest.mark.usefixtures("deployments")
@pytest.mark.parametrize("qualifier", ["nudge-w", "3"])
def test_only_who_may_invoke_the_unpublished_function_is_answered(cloud: CloudFormation, qualifier: str) -> None:
    with suppress(NotOurEvent):
        cloud.send("Create", BOTH, context=Context(f"{HANDLER}:{qualifier}", "3"))
    assert cloud.received == []
