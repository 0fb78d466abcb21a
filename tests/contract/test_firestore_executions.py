"""Whole executions with their state in Firestore, while it crowds writes out and loses answers."""

import uuid
from typing import Any

import pytest
from grpc import StatusCode

from tests.google.firestore_server import FirestoreServer
from tests.simulation.definitions import machine, map_, parallel, task
from unum_compiler.definition import Definition
from unum_google.firestore import FirestoreStore
from unum_runtime.clock import SkippingClock
from unum_runtime.model.ir import Collection
from unum_simulator.local import LocalWorkflow

INNER = machine(Columns=map_(machine(Cell=task("cell"))))
DEFINITION = machine(
    Rows=map_(INNER, "Both"),
    Both=parallel(machine(Left=task("sum")), machine(Right=task("sum")), following="End"),
    End=task("end"),
)
FUNCTIONS: dict[str, Any] = {
    "cell": lambda event, _: event * 2,
    "sum": lambda event, _: sum(map(sum, event)),
    "end": lambda event, _: {"sums": event},
}


@pytest.mark.parametrize("collection", Collection)
@pytest.mark.parametrize(
    ("code", "applied"), [(StatusCode.ABORTED, False), (StatusCode.UNAVAILABLE, False), (StatusCode.UNAVAILABLE, True)]
)
def test_an_execution_ends_with_its_result(
    google_firestore: FirestoreServer, collection: Collection, code: StatusCode, *, applied: bool
) -> None:
    client, clock = google_firestore.client(), SkippingClock()
    store: Any = FirestoreStore(lambda: client, clock, root=f"executions-{uuid.uuid4()}")
    workflow = Definition.from_asl(DEFINITION).compile("w", None)
    google_firestore.fail("Commit", code, times=1_000, every=4, applied=applied)
    try:
        local = LocalWorkflow(workflow, FUNCTIONS, store=store, clock=clock, collection=collection, fusion=False)
        ending = local.run("e", [[1, 2, 3], [4], [5, 6]])
    finally:
        google_firestore.fail("Commit", StatusCode.OK, times=0)
    assert ending.outcome.value == {"sums": [42, 42]}
