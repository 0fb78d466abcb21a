"""Collection: what is left of an execution, and what late duplicates find."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from unum_client.reading import stored_steps
from unum_compiler import compile_workflow
from unum_runtime.clock import SystemClock
from unum_runtime.errors import RefusedDelivery
from unum_runtime.model.checkpoint import Collected, Ending, Status, Success
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Collection
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.delivery.start import start
from unum_runtime.protocol.runtime import Call, Runtime
from unum_simulator.memory_store import MemoryStore

if TYPE_CHECKING:
    from unum_runtime.model.naming import Key

TASK = {"Type": "Task", "Resource": "F"}
SQUARES = {
    "StartAt": "Source",
    "States": {
        "Source": {**TASK, "Next": "Outer"},
        "Outer": {
            "Type": "Map",
            "MaxConcurrency": 2,
            "ItemProcessor": {
                "StartAt": "Before",
                "States": {
                    "Before": {**TASK, "Next": "Inner"},
                    "Inner": {
                        "Type": "Map",
                        "ItemProcessor": {"StartAt": "Item", "States": {"Item": {**TASK, "End": True}}},
                        "End": True,
                    },
                },
            },
            "Next": "Join",
        },
        "Join": {**TASK, "Next": "Last"},
        "Last": {**TASK, "End": True},
    },
}
INPUT = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]


@dataclass
class Execution:
    """Delivers events one after the other, and keeps every one for a second delivery."""

    collection: Collection
    store: MemoryStore = field(default_factory=MemoryStore)
    sent: list[bytes] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.runtime = Runtime(
            workflow=compile_workflow(SQUARES, name="w", functions=["F"]),
            store=self.store,
            invoker=self,
            clock=SystemClock(),
            call=self.call,
            hosts=frozenset({"F"}),
            routes={"F": "F"},
            collection=self.collection,
        )

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        self.sent += [payload for _, payload in events]

    def call(self, call: Call, event: Any) -> Any:
        self.calls[call.invocation] += 1
        return event

    def deliver(self, event: bytes) -> None:
        step(self.runtime, Envelope.from_json(json.loads(event)))

    def run(self) -> Ending | None:
        start(self.runtime, "e", INPUT)
        delivered = 0
        while delivered < len(self.sent):
            self.deliver(self.sent[delivered])
            delivered += 1
        return self.ending()

    def ending(self) -> Ending | None:
        record = stored_steps.start_record(self.store, "w", "e")
        return stored_steps.ending(self.store, "w", record.name.execution)


@pytest.mark.parametrize("collection", Collection)
def test_collection_does_not_change_the_result(collection: Collection) -> None:
    assert Execution(collection).run() == Ending(Status.SUCCEEDED, Success(INPUT))


def test_eager_leaves_only_tombstones_the_start_and_the_result() -> None:
    execution = Execution(Collection.EAGER)
    execution.run()
    record = stored_steps.start_record(execution.store, "w", "e")
    steps = list(stored_steps.steps(execution.store, "w", record.name.execution))
    left = [step.state for step in steps if not isinstance(step.outcome, Collected)]
    assert left == ["Last"]
    assert {step.state for step in steps} == {"Source", "Before", "Inner", "Item", "Join", "Last"}
    assert all(not members for members, _ in execution.store._sets.values())


def test_ttl_never_deletes_anything() -> None:
    execution = Execution(Collection.TTL)
    execution.run()
    assert all("collected" not in item for item, _ in execution.store._items.values())


@pytest.mark.parametrize("collection", Collection)
def test_late_duplicates_of_all_events_change_nothing_and_run_no_user_code(collection: Collection) -> None:
    execution = Execution(collection)
    ending = execution.run()
    before: dict[Key, Any] = dict(execution.store._items)
    calls = Counter(execution.calls)
    for event in [*execution.sent, *reversed(execution.sent)]:
        try:
            execution.deliver(event)
        except RefusedDelivery as refused:
            assert collection is Collection.EAGER
            assert "was collected" in str(refused)  # noqa: PT017 - the same
    assert execution.ending() == ending
    assert execution.calls == calls
    assert execution.store._items.keys() == before.keys()
