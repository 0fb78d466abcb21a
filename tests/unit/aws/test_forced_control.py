"""Operators' requests about forced executions, which run on a variant of the deployed definition."""

import json
import time
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.aws.control_platform import Deployed, at, definition
from unum_runtime.clock import SystemClock
from unum_runtime.model.checkpoint import start_record
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Execution
from unum_runtime.model.variants import forced
from unum_runtime.protocol.control.operator_requests import On
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.delivery.start import resume
from unum_runtime.protocol.history.start_records import record_start
from unum_runtime.protocol.requests.definition_records import write_definition
from unum_runtime.protocol.runtime import Runtime

LATER = 2_000_000_000


def begin(deployed: Deployed) -> Runtime:
    """Store the start record and the definition of the forced execution `e`."""
    rt = Runtime(
        workflow=forced(Workflow.from_json(definition("A", "B"))),
        store=deployed.client.store,
        invoker=Kept(),
        clock=SystemClock(),
        call=lambda _call, event: event,
        hosts=frozenset({"A"}),
        routes={"A": at("A", 1), "B": at("B", 1)},
        own_address=at("A", 1),
    )
    write_definition(rt)
    draft = start_record(Execution("e", int(time.time() * 1000)), {"n": 1}).saying(digest=rt.workflow.digest)
    record_start(rt.store, "Flow", draft, expires_at_s=LATER)
    return rt


class Kept:
    def __init__(self) -> None:
        self.events: list[Any] = []

    def invoke(self, events: Any) -> None:
        self.events += [json.loads(payload) for _, payload in events]


def fail(rt: Runtime) -> None:
    def refuse(*_: object) -> None:
        raise ValueError

    resume(rt, "e")
    (event,) = rt.invoker.events  # type: ignore[attr-defined]
    step(replace(rt, hosts=frozenset({"B"}), call=refuse), Envelope.from_json(event))


def test_a_nudge_before_the_first_step_knows_the_definition(deployed: Deployed) -> None:
    rt = begin(deployed)
    assert deployed.client.nudge("e").count == 1
    ((address, event),) = deployed.functions.sent()
    assert (address, event["ir"]) == (at("A", 1), rt.workflow.digest)


@pytest.mark.parametrize("newest", ["old", "new"])
def test_a_redrive_of_a_forced_execution_stays_forced(deployed: Deployed, newest: str) -> None:
    rt = begin(deployed)
    fail(rt)
    deployed.functions.deploy(2, newest)
    redriven = deployed.client.redrive("e")
    ((address, event),) = deployed.functions.sent()
    states = ("A", "B") if newest == "old" else ("A", "B", "B2")
    own = forced(Workflow.from_json(definition(*states)))
    assert (redriven.on, address, event["ir"]) == (On.CURRENT, at("B", 2), own.digest)
    assert deployed.client.definition("e").digest == own.digest


def test_a_redrive_on_the_original_versions_stays_forced(deployed: Deployed) -> None:
    rt = begin(deployed)
    fail(rt)
    deployed.functions.deploy(2, "new")
    deployed.client.redrive("e", on="original")
    ((address, event),) = deployed.functions.sent()
    assert (address, event["ir"]) == (at("B", 1), rt.workflow.digest)
