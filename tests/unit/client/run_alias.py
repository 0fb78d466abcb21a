"""The run alias of a workflow, in this process: requests of clients come to the code that the function runs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from unum_client.starting import Starts
from unum_runtime.clock import Clock, SystemClock
from unum_runtime.model.envelope import named_start
from unum_runtime.model.ir import Workflow
from unum_runtime.protocol.history.start_records import start_record
from unum_runtime.protocol.requests import entry_aliases
from unum_runtime.protocol.runtime import Invoker, Runtime
from unum_runtime.store.base import Store
from unum_simulator.local import LocalWorkflow

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:entry"
RUN = f"{FUNCTION}:run-w"


class Nowhere:
    """Invoker that fails on use."""

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        raise AssertionError(events)


@dataclass
class Answering:
    """The run alias for requests with an answer: what it sends itself goes to `invoker`."""

    workflow: Workflow
    store: Store
    invoker: Invoker
    clock: Clock = field(default_factory=SystemClock)

    def runtime(self) -> Runtime:
        def refuse(*_: Any) -> Any:
            raise AssertionError("no user code runs while a caller waits for the answer")

        return Runtime(
            workflow=self.workflow,
            store=self.store,
            invoker=self.invoker,
            clock=self.clock,
            call=refuse,
            hosts=frozenset(),
            routes={},
            own_address=f"{FUNCTION}:1",
        )

    def call(self, address: str, payload: bytes) -> Any:
        assert address == RUN
        return json.loads(json.dumps(entry_aliases.run(self.runtime(), json.loads(payload), "request")))


@dataclass
class RunAlias:
    """Stand-in for the run alias that runs starts in this process."""

    local: LocalWorkflow
    is_open: bool = True
    started: list[str] = field(default_factory=list)

    def call(self, address: str, payload: bytes) -> Any:
        return Answering(self.local.workflow, self.local.store, self, self.local.clock).call(address, payload)

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        for address, payload in events:
            assert address == RUN
            event = json.loads(payload)
            self.started.append(event["start"])
            if self.is_open:
                self.local.run(
                    event["start"], self._stored_input(event["start"]) if named_start(event) else event["input"]
                )

    def _stored_input(self, name: str) -> Any:
        return start_record(self.local.store, self.local.workflow.name, name).outcome.value

    @property
    def starts(self) -> Starts:
        return Starts(caller=self, invoker=self, run_alias=RUN)
