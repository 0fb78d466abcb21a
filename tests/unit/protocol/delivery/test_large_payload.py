"""Values that neither an item nor an event could hold, through the real protocol."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.unit.protocol.platform import exactly
from unum_client import Client
from unum_client.polling import Waiter
from unum_compiler import compile_workflow
from unum_compiler.cost.estimate import least_object_bytes
from unum_compiler.cost.prices import list_prices
from unum_runtime.clock import SystemClock
from unum_runtime.errors import StoreError
from unum_runtime.model.checkpoint import Ending, Failure, Status, Success
from unum_runtime.model.envelope import Envelope, Stored, Value
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.naming import Execution, Name
from unum_runtime.model.states import Json
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.delivery.large_payload import read_stored, store_large_input
from unum_runtime.protocol.delivery.start import start
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.base import MAX_ITEM_BYTES
from unum_runtime.store.large_items import LEAST_BYTES, MAX_EVENT_BYTES, LargeItems, object_lifetime_days
from unum_simulator.local import LocalWorkflow, Queue
from unum_simulator.memory_store import MemoryObjects, MemoryStore

BIG = 1_200_000
"""More than an event may have, and three items."""


def task(following: str | None = None, **fields: Json) -> dict[str, Any]:
    return {"Type": "Task", "Resource": "work", **fields, **({"Next": following} if following else {"End": True})}


def each(**fields: Json) -> dict[str, Any]:
    return {"Type": "Map", "ItemProcessor": {"StartAt": "A", "States": {"A": task()}}, "Next": "B", **fields}


def workflow(**states: Json) -> Workflow:
    return compile_workflow({"StartAt": next(iter(states)), "States": states}, name="wf", functions=None)


CHAIN = workflow(A=task("B"), B=task("C"), C=task())
GATHER = workflow(
    Make=task("Each"),
    Each={"Type": "Map", "ItemProcessor": {"StartAt": "Work", "States": {"Work": task()}}, "Next": "Join"},
    Join=task(),
)


@dataclass
class Local:
    """A workflow with a bucket, and what it stored."""

    workflow: Workflow
    functions: dict[str, Callable[[Json, Any], Json]]
    collection: Collection = Collection.TTL
    fusion: bool = True
    items: MemoryStore = field(default_factory=MemoryStore)
    objects: MemoryObjects = field(default_factory=MemoryObjects)

    @property
    def store(self) -> LargeItems:
        return LargeItems(self.items, self.objects, self.workflow.name)

    def run(self, value: Json) -> Ending:
        local = LocalWorkflow(self.workflow, self.functions, self.store, collection=self.collection, fusion=self.fusion)
        return local.run("one", value)


def grow(event: Json, _context: Any) -> Json:
    return {"text": event["text"] or "x" * BIG, "tasks": event["tasks"] + 1}


def handlers(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names, grow)


@pytest.mark.parametrize("collection", Collection)
def test_5_mb_go_through_a_chain(collection: Collection) -> None:
    ending = Local(CHAIN, handlers("A", "B", "C"), collection).run({"text": "y" * 5_000_000, "tasks": 0})
    assert ending == Ending(Status.SUCCEEDED, Success({"text": "y" * 5_000_000, "tasks": 3}))


@pytest.mark.parametrize("collection", Collection)
def test_a_join_of_50_gets_all_that_its_branches_come_to(collection: Collection) -> None:
    functions: dict[str, Any] = {
        "Make": lambda _event, _context: [*range(50)],
        "Work": lambda number, _context: chr(97 + number % 26) * 200_000,
        "Join": lambda event, _context: [each[0] for each in event if len(each) == 200_000],
    }
    outcome = Local(GATHER, functions, collection).run(None).outcome
    assert outcome == Success([chr(97 + number % 26) for number in range(50)])


def test_branches_get_items_that_are_too_large_for_an_event() -> None:
    functions: dict[str, Any] = {
        "Make": lambda _event, _context: ["a" * BIG, "b" * BIG],
        "Work": lambda text, _context: len(text),
        "Join": lambda event, _context: event,
    }
    assert Local(GATHER, functions).run(None).outcome == Success([BIG, BIG])


def test_variables_may_be_too_large_for_an_event() -> None:
    states = {
        "A": task("B", QueryLanguage="JSONata", Assign={"kept": "{% $states.result.text %}"}, Output="{% 1 %}"),
        "B": task(QueryLanguage="JSONata", Output="{% $length($kept) %}"),
    }
    assert Local(workflow(**states), handlers("A") | {"B": lambda event, _: event}).run(
        {"text": "", "tasks": 0}
    ).outcome == Success(BIG)


def test_a_retry_and_a_catch_keep_a_large_input() -> None:
    failures = iter([RuntimeError("once"), None, RuntimeError("for good")])

    def flaky(event: Json, _context: Any) -> Json:
        error = next(failures)
        if error is not None:
            raise error
        return event

    states = {
        "A": task("B"),
        "B": task("C", Retry=[{"ErrorEquals": ["RuntimeError"], "IntervalSeconds": 1}]),
        "C": task(Catch=[{"ErrorEquals": ["RuntimeError"], "ResultPath": "$.error", "Next": "D"}]),
        "D": task(),
    }
    outcome = Local(workflow(**states), handlers("A", "D") | {"B": flaky, "C": flaky}).run({"text": "", "tasks": 0})
    assert isinstance(outcome.outcome, Success)
    assert len(outcome.outcome.value["text"]) == BIG


CATCH = [{"ErrorEquals": ["RuntimeError"], "Next": "B"}]


@pytest.mark.parametrize(
    ("states", "length", "has_bucket"),
    [
        ({"A": task("B", Catch=CATCH), "B": task()}, 500_000, True),
        ({"A": task("B", Catch=CATCH), "B": task()}, 200_000, False),
        ({"E": each(Catch=CATCH), "B": task()}, 500_000, True),
        ({"E": each(Retry=[{"ErrorEquals": ["RuntimeError"], "IntervalSeconds": 1}]), "B": task()}, 500_000, False),
    ],
    ids=["task", "without a bucket", "map", "retried map"],
)
def test_what_is_caught_may_say_more_than_an_item_holds(
    states: dict[str, Json], length: int, *, has_bucket: bool
) -> None:
    failures = iter(["c" * length])

    def failing_once(event: Json, _context: Any) -> Json:
        for cause in failures:
            raise RuntimeError(cause)
        return event

    local = Local(workflow(**states), {"work": failing_once})
    flow = LocalWorkflow(local.workflow, local.functions, local.store if has_bucket else local.items)
    assert flow.run("one", [1]).status is Status.SUCCEEDED


def test_no_item_and_no_event_is_larger_than_aws_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    keep = Queue._keep
    monkeypatch.setattr(Queue, "_keep", lambda own, due, payload: (sizes.append(len(payload)), keep(own, due, payload)))
    local = Local(CHAIN, handlers("A", "B", "C"), fusion=False)
    local.run({"text": "", "tasks": 0})
    assert max(sizes) <= MAX_EVENT_BYTES
    assert all(len(str(item)) < MAX_ITEM_BYTES for item, _ in local.items._items.values())


def test_each_text_is_stored_once_however_often_it_is_referred_to() -> None:
    local = Local(CHAIN, dict.fromkeys("ABC", lambda event, _: event))
    local.run("x" * BIG)
    texts = set(local.objects._contents.values())
    assert texts == {json.dumps("x" * BIG).encode()}
    folders = sorted(name.rpartition("/")[0].partition(":")[0] for name in local.objects._contents)
    assert folders == ["wf/one", "wf/one"], "below the start record's name, and below the execution's"


def test_small_values_stay_in_their_items() -> None:
    local = Local(CHAIN, dict.fromkeys("ABC", lambda event, _: event))
    local.run("x" * (LEAST_BYTES - 100))
    assert local.objects._contents == {}


def test_without_a_bucket_the_failure_says_how_to_get_one() -> None:
    outcome = LocalWorkflow(CHAIN, handlers("A", "B", "C")).run("one", {"text": "", "tasks": 0}).outcome
    assert isinstance(outcome, Failure)
    assert outcome.error == "States.DataLimitExceeded"
    assert 'at most 380000 are stored: give the workflow a bucket for larger ones, payload="s3"' in str(outcome.cause)


def test_the_limit_of_the_definition_counts_all_the_same() -> None:
    limited = replace(CHAIN, payload_limit=262_144)
    outcome = Local(limited, handlers("A", "B", "C")).run({"text": "", "tasks": 0}).outcome
    assert isinstance(outcome, Failure)
    assert "at most 262144 are allowed" in str(outcome.cause)


def client(store: Any) -> Client:
    return Client(store=store, workflow="wf", waiter=Waiter())


def test_clients_read_results_and_history_of_any_size() -> None:
    local = Local(CHAIN, handlers("A", "B", "C"))
    local.run({"text": "", "tasks": 0})
    reader = client(local.store)
    assert len(reader.describe("one").output["text"]) == BIG
    assert [step.state for step in reader.steps("one")] == ["A", "B", "C"]


def test_a_client_that_knows_no_bucket_says_what_it_needs() -> None:
    local = Local(CHAIN, handlers("A", "B", "C"))
    local.run({"text": "", "tasks": 0})
    with pytest.raises(StoreError, match=r"refers to the object wf/one.*give the client `payload_bucket`"):
        client(local.items).describe("one")


def test_a_lost_object_fails_the_delivery_and_not_the_execution() -> None:
    """Whoever restores the bucket lets the execution go on."""
    local = Local(CHAIN, handlers("A", "B", "C"))
    queue = Queue(LocalWorkflow(CHAIN, local.functions).clock)
    flow = LocalWorkflow(CHAIN, local.functions, local.store)
    start(flow._runtime(queue), "one", {"text": "", "tasks": 0})
    lost = dict(local.objects._contents)
    local.objects._contents.clear()
    event = queue.take()
    queue.invoke([("B", event)])
    with pytest.raises(StoreError, match="was it deleted"):
        deliver(flow, event)
    local.objects._contents.update(lost)
    deliver(flow, event)


def deliver(flow: LocalWorkflow, event: bytes) -> None:
    step(flow._runtime(Queue(flow.clock)), Envelope.from_json(json.loads(event)))


def test_the_threshold_is_what_the_prices_say() -> None:
    assert least_object_bytes(list_prices()) == LEAST_BYTES


@pytest.mark.parametrize(("seconds", "days"), [(1, 2), (86_400, 2), (86_401, 3), (7 * 86_400, 8)])
def test_objects_last_a_day_longer_than_items(seconds: int, days: int) -> None:
    assert object_lifetime_days(seconds) == days


class CountedObjects(MemoryObjects):
    """Tells what was put, and how often."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def put(self, name: str, content: bytes) -> None:
        self.names.append(name)
        super().put(name, content)


def test_another_delivery_to_the_same_sandbox_stores_objects_anew() -> None:
    """Objects expire by when they were put, which may be long before; that of the start's item is not put again."""
    objects, clock = CountedObjects(), SystemClock()
    sandbox = Runtime(
        workflow=CHAIN,
        store=LargeItems(MemoryStore(), objects, CHAIN.name),
        invoker=Queue(clock),  # type: ignore[arg-type]  # a clock, too
        clock=clock,
        call=lambda _call, value: value,
        hosts=frozenset(),
        routes={"work": "work"},
    )
    for _ in range(2):
        start(sandbox.in_delivery(), "one", "x" * BIG)
    of_start, *first = objects.names[: len(objects.names) // 2 + 1]
    assert objects.names[1 + len(first) :] == first != []
    assert of_start not in first


@pytest.mark.parametrize("variables", [{}, {"v": "é"}])
def test_a_stored_input_is_read_as_it_was_sent(variables: dict[str, Json]) -> None:
    objects = MemoryObjects()
    large = LargeItems(MemoryStore(), objects, "w", least_bytes=10, event_bytes=500)
    name = Name(Execution("one", 5), (), 1)
    given = Value(Success("x" * 500), 7, variables)
    sent = Envelope(workflow="w", digest="d", name=name, state="A", input=given, sent_s=3, routes={})
    event = Envelope.from_json(json.loads(store_large_input(large, sent)))
    assert isinstance(event.input, Stored)
    assert (event.input.variables is None) is (not variables)
    assert len(objects._contents) == 1 + bool(variables)
    assert {text.partition("/")[0] for text in objects._contents} == {"w"}
    runtime = Runtime(
        workflow=CHAIN,
        store=large,
        invoker=Queue(SystemClock()),  # type: ignore[arg-type]  # a clock, too
        clock=SystemClock(),
        call=lambda _call, value: value,
        hosts=frozenset(),
        routes={},
    )
    assert read_stored(runtime, event.input) == sent.input
    small = sent.with_input(Value(Success("x"), 7, variables))
    assert store_large_input(large, small) == small.to_bytes()
    said = f"object {event.input.value}: an event refers to it, but this function knows no bucket for payloads"
    with pytest.raises(StoreError, match=exactly(said)):
        read_stored(replace(runtime, store=MemoryStore()), event.input)
