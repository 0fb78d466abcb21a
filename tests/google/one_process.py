"""A function on Google Cloud in this process: its own code, with a store in memory and a queue that a test delivers.

Cloud Tasks' part is what its documentation says: it repeats what is not answered with 2xx, counts all deliveries, and
those that were answered other than with 5xx. A function that dies answers nothing, which is 5xx.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.unit.protocol.platform import MovableClock
from unum_client.reading import stored_steps
from unum_compiler.definition import Definition
from unum_google import adapters, function
from unum_google.adapters import SERVICE
from unum_google.tasks import EVENTS
from unum_runtime.errors import ExecutionDoesNotExist, StoreError
from unum_simulator.memory_store import MemoryStore

NAME, HERE, ADDRESS, ACCOUNT = "fragile", "tests.google.one_process", "https://here", "fragile@example.com"
behaviour: dict[str, Any] = {}
"""Functions of the input by name, which a test sets."""


class Died(BaseException):
    """Death of a function: no code of the function catches it."""


def work(event: Any, context: Any) -> Any:
    """Do what the test says; remember the attempt."""
    behaviour["attempt"] = context.unum.attempt
    return behaviour["work"](event)


def mend(event: Any, _context: Any) -> Any:
    """Return what was caught."""
    return {"caught": event["Error"]}


@dataclass
class Task:
    """An event in the queue, with Cloud Tasks' counts."""

    address: str
    payload: bytes
    due_ms: int = 0
    tries: int = 0
    answered: int = 0


@dataclass
class Queue:
    """Invoker and timer, and the deliveries."""

    clock: MovableClock
    tasks: list[Task] = field(default_factory=list)

    def invoke(self, events: Any) -> None:
        """Keep events."""
        self.tasks += [Task(*event) for event in events]

    schedule = invoke

    def deliver(self, *, most: int = 100) -> None:
        """Deliver until nothing is left, or `most` deliveries were made; time passes to the next one that is due."""
        for _ in range(most):
            if not self.tasks:
                return
            task = min(self.tasks, key=lambda each: each.due_ms)
            self.tasks.remove(task)
            self.clock.ms = max(self.clock.ms, task.due_ms)
            status = deliver(task)
            if status >= 300:
                answered = task.answered + (status < 500)
                self.tasks.append(Task(task.address, task.payload, self.clock.ms + 100, task.tries + 1, answered))


def deliver(task: Task) -> int:
    """Deliver an event once, by a caller whose token was checked; return the status."""
    headers = {function.TRIES: str(task.tries), function.ANSWERED: str(task.answered)}
    return post(EVENTS, json.loads(task.payload), headers)[0]


def post(path: str, body: Any, headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
    """Send a request; return status and answer."""
    try:
        answer, status = function.handle(Request(path, body, headers or {}))
    except Died:
        return 503, None
    return status, answer


@dataclass
class Request:
    """A request of the framework."""

    path: str
    body: Any
    headers: Mapping[str, str]
    method: str = "POST"
    is_json: bool = True

    def get_data(self) -> bytes:
        """Return the body."""
        return json.dumps(self.body).encode()


@dataclass
class Place:
    """A deployed function.

    Attributes:
        store: its store.
        queue: its queue.
        clock: its clock.
    """

    store: Any
    queue: Queue
    clock: MovableClock

    def start(self, value: Any = None, name: str = "one") -> int:
        """Start an execution; return the status."""
        return post(function.START, {"name": name, "input": value})[0]

    def sweep(self, silent_s: int = 60, give_up_s: int = 600) -> Any:
        """Sweep; return the answer."""
        status, answer = post(function.SWEEP, {"silent_s": silent_s, "give_up_s": give_up_s})
        assert status == 200, answer
        return answer

    def outcome(self, name: str = "one") -> Any:
        """Return the outcome of an execution; None while it runs."""
        try:
            record = stored_steps.start_record(self.store, NAME, name)
        except ExecutionDoesNotExist:
            return None
        ending = stored_steps.ending(self.store, NAME, record.name.execution)
        return ending and ending.outcome


def place(patch: pytest.MonkeyPatch, folder: Path, definition: Mapping[str, Any], store: str = "") -> Place:
    """Deploy `definition`; its functions are `work` and `mend`. The setting `store` names another store than memory."""
    clock = MovableClock()
    queue = Queue(clock)
    file = folder / "workflow.json"
    file.write_text(Definition.from_asl(dict(definition)).compile(NAME, None).to_json(), encoding="utf-8")
    given = {
        "definition": str(file),
        "project": "",
        "hosts": {"Work": f"{HERE}.work", "Mend": f"{HERE}.mend"},
        "routes": {"Work": ADDRESS, "Mend": ADDRESS},
        "address": ADDRESS,
        "queues": {},
        "account": ACCOUNT,
        "starters": [ACCOUNT],
        "store": store,
    }
    patch.setenv(SERVICE, json.dumps(given))
    patch.setattr(adapters, "_CLOCK", clock)
    memory = MemoryStore(clock)
    for module in (adapters, function):
        if not store:
            patch.setattr(module, "store", lambda: memory)
        patch.setattr(module, "events", lambda: queue)
    patch.setattr(function, "caller_of", lambda *_: ACCOUNT)  # tests of tokens are elsewhere
    for cached in (adapters.service, adapters.definition, adapters._stored, adapters._pauses):
        cached.cache_clear()
    adapters._stored_until_ms.clear()
    behaviour.clear()
    if not store:
        return Place(memory, queue, clock)
    adapters.store.cache_clear()
    return Place(adapters.store(), queue, clock)


@dataclass
class Outage:
    """A store that does not answer for a number of calls."""

    store: Any
    calls: int = 0

    def __getattr__(self, name: str) -> Any:
        if self.calls > 0 and not name.startswith("_"):
            self.calls -= 1
            raise StoreError("no answer")
        return getattr(self.store, name)
