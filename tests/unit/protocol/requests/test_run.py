"""Answers of the run alias, with the state in memory."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.unit.protocol.counting_store import CountingStore
from tests.unit.protocol.platform import Platform, chain
from unum_compiler.options import FunctionOptions
from unum_runtime.cold_start.digest import sha256
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import InvalidExecutionInput, InvokeError, RefusedDelivery, StoreError, ValidationException
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.envelope import start_event, start_request
from unum_runtime.model.naming import start_key
from unum_runtime.model.requests import INPUT, UPLOADED, run_request, upload_request, uploaded_event
from unum_runtime.model.variants import forced
from unum_runtime.protocol.delivery.pause import Pause
from unum_runtime.protocol.delivery.start import resume
from unum_runtime.protocol.requests import entry_aliases
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.large_items import LargeItems
from unum_simulator.memory_store import MemoryObjects


@dataclass
class Alias:
    """The run alias of a workflow: what it sends itself is kept."""

    platform: Platform
    sent: list[Any] = field(default_factory=list)
    objects: MemoryObjects | None = None

    def invoke(self, events: Any) -> None:
        for address, payload in events:
            assert address == "arn:aws:lambda:us-east-1:1:function:entry:run-w"
            self.sent.append(json.loads(payload))

    def runtime(self) -> Runtime:
        own: dict[str, Any] = {"invoker": self, "own_address": "arn:aws:lambda:us-east-1:1:function:entry:7"}
        if self.objects is not None:
            own["store"] = LargeItems(self.platform.memory, self.objects, "w")
        return replace(self.platform.runtime(), **own)

    def upload(self, name: str, *, size: int, sha256: str) -> Any:
        return {"url": f"https://bucket/{name}", "headers": {"size": size, "sha256": sha256}}

    def download(self, name: str) -> str:
        raise AssertionError(name)

    def ask(self, event: Any) -> Any:
        links = None if self.objects is None else self
        return json.loads(
            json.dumps(entry_aliases.run(self.runtime(), json.loads(json.dumps(event)), "request", links))
        )


@pytest.fixture
def alias() -> Alias:
    return Alias(Platform.of(chain("A"), A=lambda event: {"a": event}))


def run(value: Any, name: Any = "e", **more: Any) -> Any:
    return run_request(name, {INPUT: value}, **more)


def test_a_start_is_recorded_answered_and_goes_on_by_itself(alias: Alias) -> None:
    platform = alias.platform
    arn = platform.workflow.home.arn("execution:w:e")
    expected = {"ExecutionArn": arn, "StartDate": platform.clock.ms, "Status": "RUNNING", "IsNew": True}
    assert alias.ask(run({"n": 1})) == expected
    assert platform.calls == {}
    assert alias.sent == [start_request("e")]
    resume(platform.runtime(), "e")
    assert platform.ending().outcome == Success({"a": {"n": 1}})


def test_time_and_retention_are_the_workflow_s(alias: Alias) -> None:
    platform = alias.platform
    rt = replace(alias.runtime(), retention_s=100_000, result_retention_s=200_000)
    entry_aliases.run(rt, run(1), "request")
    key = start_key("w", "e")
    assert platform.memory.read([key])[key]["at"] == platform.clock.ms
    platform.clock.pass_seconds(199_999)
    assert platform.memory.read([key])
    platform.clock.pass_seconds(2)
    assert not platform.memory.read([key])


@pytest.mark.parametrize("draws", [False, True])
def test_an_execution_that_draws_numbers_gets_a_secret(*, draws: bool) -> None:
    state: dict[str, Any] = {"Parameters": {"id.$": "States.UUID()"}} if draws else {}
    definition = {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "A", "End": True, **state}}}
    alias = Alias(Platform.of(definition, A=lambda event: event))
    alias.ask(run({"n": 1}))
    key = start_key("w", "e")
    assert ("secret" in alias.platform.memory.read([key])[key]) is draws


def test_same_name_and_input_are_one_execution_that_is_sent_again(alias: Alias) -> None:
    first = alias.ask(run({"n": 1}))
    alias.platform.clock.pass_seconds(5)
    assert alias.ask(run({"n": 1.0})).get("error") == "ExecutionAlreadyExists"
    assert alias.ask(run({"n": 1})) == {**first, "IsNew": False}
    assert alias.sent == [start_request("e")] * 2


def test_what_runs_is_sent_again_as_running() -> None:
    alias = Alias(Platform.of(chain("A", "B"), A=lambda event: event, B=lambda event: event))
    alias.ask(run(1))
    resume(alias.platform.runtime(), "e")
    assert alias.platform.steps()
    again = alias.ask(run(1))
    assert (again["IsNew"], again["Status"], len(alias.sent)) == (False, "RUNNING", 2)


def test_nothing_is_started_while_the_workflow_is_paused(alias: Alias) -> None:
    alias.platform.options["read_pause"] = lambda: Pause(alias.platform.clock.ms, "why")
    assert alias.ask(run(1))["error"] == "StartsPaused"
    assert not alias.platform.memory.read([start_key("w", "e")])


def test_what_has_ended_is_not_sent_again(alias: Alias) -> None:
    alias.ask(run({"n": 1}))
    resume(alias.platform.runtime(), "e")
    again = alias.ask(run({"n": 1}))
    assert (again["IsNew"], again["Status"]) == (False, "SUCCEEDED")
    assert len(alias.sent) == 1


def test_another_input_is_refused(alias: Alias) -> None:
    alias.ask(run({"n": 1}))
    refused = alias.ask(run({"n": True}))
    assert refused["error"] == "ExecutionAlreadyExists"
    assert "another input" in refused["message"]
    assert len(alias.sent) == 1


def test_a_start_without_an_answer_goes_on_in_the_same_delivery(alias: Alias) -> None:
    assert alias.ask(start_event("e", {"n": 1})) == {"workflow": "w", "execution": "e"}
    assert alias.sent == []
    assert alias.platform.ending().outcome == Success({"a": {"n": 1}})


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("a b", 1, "InvalidName"),
        (None, 1, "InvalidName"),
        (5, 1, "InvalidName"),
        (["e"], 1, "InvalidName"),
        ("a", "x" * 400_000, "InvalidExecutionInput"),
    ],
)
def test_what_cannot_be_started_is_refused(alias: Alias, name: Any, value: Any, error: str) -> None:
    assert alias.ask(run(value, name))["error"] == error
    assert alias.sent == []


@pytest.mark.parametrize(
    "event",
    [
        None,
        5,
        [],
        {},
        {"n": 1},
        {"$unum": 1},
        {"$unum": 1, "start": 5},
        {"$unum": 1, "start": "e", "input": 1, "phase": "retried"},
        {"$unum": 1, "start": "e", "input": 1, "answer": "yes"},
        {"$unum": 1, "start": "e", "answer": True},
        {"start": "e", "input": 1, "answer": True},
        {"upload": "a" * 64, "bytes": 5},
        {"$unum": 1, "start": "e", "input": 1, "input_ref": "w/~uploads/x", "answer": True},
        {"$unum": 1, "start": "e", "input": 1, "answer": True, "at": 1},
        {"$unum": 1, "start": "e", "input": 1, "answer": True, "retention_s": 1},
        {"$unum": 2, "start": "e", "input": 1, "answer": True},
        {"$unum": 1, "token": "t", "output": "1"},
        {"$unum": 1, "describe": "e"},
        {"$unum": 1, "control": "stop", "execution": "e"},
        {"$unum": 1, "upload": "x", "bytes": "y"},
        {"$unum": 1, "upload": "a" * 64, "bytes": 7_000_000, "input": 1},
        {"$unum": 1, "workflow": "w", "ir": "d", "execution": ["e", 5], "frames": [], "step": 1, "state": "A"},
    ],
)
def test_nothing_else_is_executed(alias: Alias, event: Any) -> None:
    if isinstance(event, dict) and "$unum" in event and (event.get("answer") is True or "upload" in event):
        assert alias.ask(event)["error"] == "ValidationException"
    else:
        with pytest.raises(ValidationException, match="nothing was started"):
            alias.ask(event)
    assert alias.sent == []
    assert alias.platform.calls == {}
    assert not alias.platform.memory.read([start_key("w", "e")])


def test_a_forged_start_request_begins_nothing(alias: Alias) -> None:
    with pytest.raises(RefusedDelivery, match="no start record"):
        alias.ask(start_request("nobody-started-it"))


def test_a_start_that_is_not_accepted_is_made_up_for(alias: Alias) -> None:
    class Down:
        def invoke(self, _events: Any) -> None:
            raise InvokeError("throttled")

    with pytest.raises(InvokeError):
        entry_aliases.run(replace(alias.runtime(), invoker=Down()), run(1, lease=True), "request")
    assert alias.ask(run(1, lease=True))["IsNew"] is False
    assert len(alias.sent) == 1


def test_a_lease_keeps_others_from_sending_it_again(alias: Alias) -> None:
    first, second = (alias.ask(run(1, lease=True)) for _ in range(2))
    assert "Waits" not in first
    assert second["Waits"] is True
    assert len(alias.sent) == 1
    resume(alias.platform.runtime(), "e")
    assert alias.ask(run(1, lease=True))["Status"] == "SUCCEEDED"
    assert len(alias.sent) == 1


def test_a_lease_that_the_store_does_not_give_is_logged_and_delays_nobody(
    alias: Alias, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alias.platform.memory, "acquire", _fail)
    assert "Waits" not in alias.ask(run(1, lease=True))
    assert (alias.platform.messages(), len(alias.sent)) == (["lease failed"], 1)


def _fail(*_positional: Any, **_named: Any) -> Any:
    raise StoreError("no answer")


START_COSTS = {
    "submit": (start_event("e", 1), {"create": 2}, 1),
    "start": (run(1), {"create": 2, "read": 2}, 2),
    "run": (run(1, lease=True), {"create": 2, "read": 2, "acquire": 2, "release": 1}, 2),
}
"""Calls of the store and deliveries of a chain of one Task, by the client's call, as docs/performance shows them."""


@pytest.mark.parametrize("call", START_COSTS)
def test_what_a_start_costs(alias: Alias, call: str) -> None:
    event, calls, deliveries = START_COSTS[call]
    store = alias.platform.store = CountingStore(alias.platform.memory)
    alias.ask(event)
    for sent in alias.sent:
        assert alias.ask(sent) == {"workflow": "w", "execution": "e"}
    assert alias.platform.ending() is not None
    assert (dict(store.calls), 1 + len(alias.sent)) == (calls, deliveries)


def upload(alias: Alias, value: Any) -> tuple[str, bytes]:
    content = json.dumps(value).encode()
    link = alias.ask(upload_request(sha256(content), len(content)))
    assert link["url"] == f"https://bucket/{link[UPLOADED]}"
    assert link["headers"] == {"size": len(content), "sha256": sha256(content)}
    return link[UPLOADED], content


def test_a_large_input_is_uploaded_and_checked(alias: Alias) -> None:
    alias.objects = objects = MemoryObjects()
    given: list[Any] = []
    alias.platform.functions["A"] = given.append
    large = {"n": "x" * 500_000}
    reference, content = upload(alias, large)
    assert alias.ask(run_request("e", {UPLOADED: reference}))["error"] == "InvalidExecutionInput"  # not there yet
    objects.put(reference, b"something else")
    assert alias.ask(run_request("e", {UPLOADED: reference}))["error"] == "InvalidExecutionInput"
    objects.put(reference, content)
    assert alias.ask(run_request("e", {UPLOADED: reference}))["IsNew"] is True
    resume(alias.runtime(), "e")
    assert alias.ask(uploaded_event("other", reference)) == {"workflow": "w", "execution": "other"}
    assert alias.ask(run_request("other", {UPLOADED: reference}))["Status"] == "SUCCEEDED"
    assert given == [large] * 2


def test_an_upload_that_is_no_json_is_no_input(alias: Alias) -> None:
    alias.objects = MemoryObjects()
    reference = f"w/~uploads/{sha256(b'{')}"
    alias.objects.put(reference, b"{")
    refused = alias.ask(run_request("e", {UPLOADED: reference}))
    assert refused["error"] == "InvalidExecutionInput"
    assert refused["message"].startswith("input: expected JSON text: ")
    with pytest.raises(InvalidExecutionInput, match="expected JSON text"):
        alias.ask(uploaded_event("e", reference))


@pytest.mark.parametrize(
    "reference",
    ["w/other/{}", "other/~uploads/{}", "w/~uploads/../other/{}", "w/~uploads/a/{}", "{}", "w/~uploads/", "", 5, None],
)
def test_nothing_else_in_the_bucket_is_an_input(alias: Alias, reference: Any) -> None:
    alias.objects = MemoryObjects()
    digest = sha256(b"1")
    named = reference.format(digest) if isinstance(reference, str) else reference
    if isinstance(named, str):
        alias.objects.put(named, b"1")
    assert alias.ask(run_request("e", {UPLOADED: named}))["error"] == "InvalidExecutionInput"
    with pytest.raises(InvalidExecutionInput):
        alias.ask({"$unum": 1, "start": "e", UPLOADED: named})
    assert alias.sent == []


@pytest.mark.parametrize(
    ("digest", "size"), [("x" * 64, 5), ("X" * 64, 5), ("a" * 63, 5), ("../" * 20 + "aaaa", 5), ("a" * 64, 0)]
)
def test_no_link_leads_elsewhere(alias: Alias, digest: str, size: int) -> None:
    alias.objects = MemoryObjects()
    assert alias.ask(upload_request(digest, size))["error"] == "InvalidExecutionInput"


def test_smallest_input_may_be_uploaded_and_its_execution_be_named(alias: Alias) -> None:
    alias.objects = MemoryObjects()
    reference, content = upload(alias, 5)
    alias.objects.put(reference, content)
    assert alias.ask({"$unum": 1, "start": "", UPLOADED: reference}) == {"workflow": "w", "execution": "request"}


def test_a_start_with_an_empty_name_is_named_by_the_request(alias: Alias) -> None:
    assert alias.ask(start_event("", 5)) == {"workflow": "w", "execution": "request"}


def test_without_a_bucket_there_is_no_upload(alias: Alias) -> None:
    with_links = entry_aliases.run(alias.runtime(), upload_request("a" * 64, 7), "request", alias)
    assert with_links["error"] == "InvalidExecutionInput"
    large = replace(alias.runtime(), store=LargeItems(alias.platform.memory, MemoryObjects(), "w"))
    assert entry_aliases.run(large, upload_request("a" * 64, 7), "request")["error"] == "InvalidExecutionInput"
    refused = alias.ask(upload_request("a" * 64, 7_000_000))
    assert refused["error"] == "InvalidExecutionInput"
    assert 'payload="s3"' in refused["message"]


@pytest.mark.parametrize(("memoized", "error"), [("A", None), ("", "ClientError")])
def test_a_forced_start_needs_a_task_that_remembers_results(memoized: str, error: str | None) -> None:
    options = {name: FunctionOptions(memoize=True) for name in memoized}
    alias = Alias(Platform.of(chain("A", "B"), options, A=lambda event: event, B=lambda event: event))
    alias.platform.workflow = forced(alias.platform.workflow)
    assert alias.ask(run(1, force=True)).get("error") == error
