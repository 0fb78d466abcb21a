"""Events at a function of another version run by their own definition, or fail."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Stack
from moto import mock_aws

from tests.unit.aws.test_task_function import CACHES, TABLE, Context, make_table
from unum_compiler import compile_workflow
from unum_constructs.layer.features import LayerFacts
from unum_constructs.layer.workflow_layer import WorkflowLayers
from unum_runtime.aws.client_factory import client
from unum_runtime.clock import SystemClock
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import InconsistentHistory, NotOurEvent, StoreError
from unum_runtime.functions import definitions, runtime_factory, task_function
from unum_runtime.functions.configuration import INLINE, STORE
from unum_runtime.model.checkpoint import Checkpoint, Success
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import (
    WORKFLOWS_FOLDER,
    Execution,
    Name,
    checkpoint_key,
    definition_key,
    definition_partition,
)
from unum_runtime.protocol.requests import definition_records
from unum_runtime.protocol.requests.definition_records import BODY, write_definition
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.dynamodb import DynamoStore

FAR = 10**10
NOW_MS = time.time_ns() // 10**6
NOTHING: Any = {"invoker": None, "call": None, "hosts": frozenset(), "routes": {}}


def a_chain(*, result_path: str) -> Workflow:
    """A Task and the end; only the data flow differs from one definition to another."""
    state = {"Type": "Task", "Resource": "F", "ResultPath": result_path, "End": True}
    return compile_workflow({"StartAt": "T", "States": {"T": state}}, name="Flow", functions=None)


HERE, THERE = a_chain(result_path="$.here"), a_chain(result_path="$.there")


@dataclass
class Node:
    """A function with the definition `HERE`, and its store."""

    store: DynamoStore

    def keep(self, workflow: Workflow) -> None:
        """Store a definition, as the function does in which its executions start."""
        write_definition(Runtime(workflow=workflow, store=self.store, clock=SystemClock(), **NOTHING))

    def forge(self, digest: str, text: str) -> None:
        """Store another text under a digest, later than all true copies."""
        (body,) = definition_records._parts(text)
        self.store.create(definition_key("Flow", digest, 999_999, 0), {BODY: body}, expires_at_s=FAR)

    def deliver(self, workflow: Workflow) -> None:
        """Deliver the event of an execution on `workflow` that is called as its digest."""
        source = Value(Success({}), time.time_ns() // 10**6)
        name = _name(workflow.digest)
        envelope = Envelope(
            workflow="Flow",
            digest=workflow.digest,
            name=name,
            state="T",
            input=source,
            sent_s=int(time.time()),
            routes={},
        )
        task_function.handle(json.loads(envelope.to_bytes()), Context("7"))

    def committed(self, workflow: Workflow) -> tuple[Any, str] | None:
        """Return what that execution has committed, and on which definition."""
        name = _name(workflow.digest)
        key = checkpoint_key("Flow", name)
        item = self.store.read([key]).get(key)
        if item is None:
            return None
        found = Checkpoint.from_item(name, item)
        assert isinstance(found.outcome, Success)
        return found.outcome.value, found.digest


def _name(execution: str) -> Name:
    return Name(Execution(execution, NOW_MS), (), 1)


@pytest.fixture(params=["layer", INLINE, STORE])
def node(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(variable, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("UNUM_CLIENT", "botocore")  # moto stands in its way
    service = {"table": TABLE, "hosts": ["F"], "routes": {}, "retention_s": 604_800}
    if request.param == STORE:
        service["definition"] = STORE
    elif request.param == INLINE:
        service["definition"] = WorkflowLayers(Stack(), facts=LayerFacts(HERE), python="python3.13").inline_definition
    else:
        folder = tmp_path / WORKFLOWS_FOLDER
        folder.mkdir()
        (folder / "Flow.json").write_text(HERE.to_json())
        monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("UNUM_WORKFLOWS", json.dumps({"Flow": service}))
    monkeypatch.setattr(runtime_factory, "user_handler", lambda _key=None: lambda _event, _context: 1)
    forget()
    with mock_aws():
        make_table()
        task_function._initialize()
        made = Node(DynamoStore(client("dynamodb"), TABLE))
        if request.param == STORE:
            made.keep(HERE)
        yield made
    forget()


def forget() -> None:
    definitions._due_ms.clear()
    definitions._stored.clear()
    definitions._kept.clear()
    for cache in CACHES:
        cache.cache_clear()


def test_an_execution_stays_on_the_definition_that_its_events_name(node: Node) -> None:
    node.keep(THERE)
    for workflow in (THERE, HERE):
        node.deliver(workflow)
    assert node.committed(THERE) == ({"there": 1}, THERE.digest)
    assert node.committed(HERE) == ({"here": 1}, HERE.digest)


def test_a_sandbox_reads_a_definition_once(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    node.keep(THERE)
    read: list[str] = []
    query = DynamoStore.query

    def counted(store: DynamoStore, partition: str, **options: Any) -> Any:
        read.append(partition)
        return query(store, partition, **options)

    monkeypatch.setattr(DynamoStore, "query", counted)
    node.deliver(HERE)
    assert read == ([] if definitions.has_own_definition("Flow") else [definition_partition("Flow", HERE.digest)])
    read.clear()
    for _ in range(2):
        node.deliver(THERE)
        node.deliver(HERE)
    assert read == [definition_partition("Flow", THERE.digest)]


def test_a_definition_that_is_not_stored_runs_nothing(node: Node) -> None:
    with pytest.raises(NotOurEvent, match=f"expected the definition with digest {THERE.digest}"):
        node.deliver(THERE)
    assert node.committed(THERE) is None


def test_a_forged_definition_runs_nothing(node: Node) -> None:
    node.forge(THERE.digest, HERE.to_json())
    with pytest.raises(InconsistentHistory, match="forged"):
        node.deliver(THERE)
    assert node.committed(THERE) is None


def test_a_forged_copy_hides_no_true_one(node: Node) -> None:
    node.keep(THERE)
    node.forge(THERE.digest, HERE.to_json())
    node.deliver(THERE)
    assert node.committed(THERE) == ({"there": 1}, THERE.digest)


def test_a_definition_of_another_workflow_is_none_of_this_one(node: Node) -> None:
    other = replace(THERE, name="Other")
    node.forge(other.digest, other.to_json())
    with pytest.raises(NotOurEvent, match="Other"):
        node.deliver(other)
    assert node.committed(other) is None


def test_while_the_store_throttles_the_event_is_put_off(
    node: Node, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    node.keep(THERE)

    def throttled(_store: DynamoStore, partition: str, **_options: Any) -> Any:
        raise StoreError(f"query {partition}: throttled")

    with monkeypatch.context() as patch:
        patch.setattr(DynamoStore, "query", throttled)
        with pytest.raises(StoreError):
            node.deliver(THERE)
    assert "put off" in capsys.readouterr().out
    assert node.committed(THERE) is None
    node.deliver(THERE)
    assert node.committed(THERE) == ({"there": 1}, THERE.digest)


@pytest.mark.parametrize("node", ["layer"], indirect=True)
def test_a_function_that_takes_its_own_definition_is_caught(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken variant: it believes that each event is of its own version, and commits as if it was."""

    def believe(envelope: Envelope, context: Any) -> None:
        own = runtime_factory.runtime_here("Flow", context)
        task_function.step(own, replace(envelope, digest=own.workflow.digest))

    monkeypatch.setattr(task_function, "_step", believe)
    with pytest.raises(AssertionError):
        test_an_execution_stays_on_the_definition_that_its_events_name(node)


def test_a_function_that_does_not_verify_is_caught(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken variant: it takes what it finds under the digest. The protocol then refuses it as another version."""

    def believed(store: DynamoStore, workflow: str, digest: str) -> Workflow:
        found = store.query(definition_partition(workflow, digest), newest=1)
        return Workflow.from_json(definition_records._content(found.values()).decode())

    monkeypatch.setattr(definition_records, "read_definition", believed)
    with pytest.raises(NotOurEvent):
        test_a_forged_definition_runs_nothing(node)
