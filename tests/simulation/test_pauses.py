"""Pauses: whatever arrives wherever, a paused workflow starts nothing, loses nothing, and continues what exists."""

import json
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain
from unum_runtime.errors import RefusedDelivery, StartsPaused
from unum_runtime.model.checkpoint import Began
from unum_runtime.model.envelope import start_event
from unum_runtime.model.requests import INPUT, run_request
from unum_runtime.protocol.control import operator_requests, pausing
from unum_runtime.protocol.control.forks import fork as forks
from unum_runtime.protocol.control.operator_requests import Control
from unum_runtime.protocol.delivery import pause as pauses
from unum_runtime.protocol.delivery import start as starting
from unum_runtime.protocol.delivery.pause import PauseReader
from unum_runtime.protocol.requests import entry_aliases, messages
from unum_runtime.protocol.requests import run as requests
from unum_runtime.protocol.runtime import Runtime

FUNCTION = "arn:aws:lambda:us-east-1:1:function:entry"
QUEUE = "arn:aws:sqs:us-east-1:1:orders"
KNOWN_MS = 10_000
"""Time after which every sandbox knows of a pause, and of its end."""

SANDBOXES, MOVES = 3, 60
OLD = "old"

Json = Any


@dataclass
class World:
    """A workflow with several sandboxes of its entry function; what nobody has accepted yet is kept by AWS."""

    rng: random.Random
    platform: Platform
    sandboxes: list[Callable[[], Any]] = field(default_factory=list)
    events: list[tuple[str, str, Json]] = field(default_factory=list)
    """Alias, name of the execution and content of each event that Lambda has accepted, and keeps until it is processed.
    """

    queue: list[Json] = field(default_factory=list)
    changed_ms: int = 0
    paused: bool = False
    accepted: set[str] = field(default_factory=set)
    refused: int = 0

    @classmethod
    def of(cls, seed: int) -> "World":
        rng = random.Random(seed)  # noqa: S311 - no secret
        world = cls(rng, Platform.of(chain("A", "B"), A=lambda event: event, B=lambda event: event))
        platform, clock = world.platform, world.platform.clock
        world.sandboxes = [PauseReader(platform.memory, "w", clock).read for _ in range(SANDBOXES)]
        platform.start(OLD, {"n": 0})
        platform.deliver_all()
        return world

    def invoke(self, events: Any) -> None:
        for address, payload in events:
            if address == f"{FUNCTION}:run-w":
                event = json.loads(payload)
                self.events.append(("run", event["start"], event))
            else:
                self.platform.invoke([(address, payload)])

    def runtime(self, read_pause: Callable[[], Any] | None = None) -> Runtime:
        return replace(
            self.platform.runtime(),
            invoker=self,
            own_address=f"{FUNCTION}:7",
            read_pause=read_pause or self.rng.choice(self.sandboxes),
        )

    def names(self) -> set[str]:
        found = self.platform.memory._items
        return {key.partition.partition("/")[2] for key in found if key.sort == "start"}

    @property
    def is_known(self) -> bool:
        return self.platform.clock.ms - self.changed_ms >= KNOWN_MS

    def move(self, number: int) -> None:
        """Let one thing happen, and judge it."""
        before, sent = self.names(), len(self.events)
        move = self.rng.choice(MOVES_OF_A_WORLD)
        move(self, f"e{number}")
        if self.paused and self.is_known:
            assert self.names() == before, f"{move.__name__}: an execution began in a pause"
            new = [name for _, name, _ in self.events[sent:] if name not in before]
            assert new == [] or move is send_event, f"{move.__name__}: a message of a queue was made an event"

    def attempt(self, work: Callable[[], Any]) -> Any:
        """Do `work`, and count a refusal, which only a pause allows."""
        try:
            return work()
        except StartsPaused as refused:
            self.refuse(str(refused))
            return None

    def refuse(self, message: str) -> None:
        assert self.paused or not self.is_known, "a start was refused without a pause"
        assert "why not" in message
        self.refused += 1

    def deliver(self, read_pause: Callable[[], Any] | None = None) -> None:
        """Deliver an event that Lambda has accepted; it is kept until no error is raised."""
        if self.events:
            alias, name, event = self.events[0]
            enter = entry_aliases.run if alias == "run" else entry_aliases.start_by_event
            with suppress(RefusedDelivery):
                if self.attempt(partial(enter, self.runtime(read_pause), event, name)) is None:
                    self.events.append(self.events.pop(0))
                    return
            self.events.pop(0)


def send_event(world: World, name: str) -> None:
    world.events.append(world.rng.choice([("run", name, start_event(name, 1)), ("start", name, {"order": 1})]))
    world.accepted.add(name)


def deliver(world: World, _: str) -> None:
    world.deliver()


def deliver_in_the_intake(world: World, _: str) -> None:
    """The intake acts in place of the function with a sandbox that has read nothing yet."""
    world.deliver(PauseReader(world.platform.memory, "w", world.platform.clock).read)


def run(world: World, name: str) -> None:
    again = world.rng.random() < 0.3
    before = world.names()
    answer = entry_aliases.run(world.runtime(), run_request(OLD if again else name, {INPUT: {"n": 0}}), "request")
    if again:
        assert answer.get("Status") == "SUCCEEDED", "a repeated start is no new one"
    elif "error" in answer:
        assert (answer["error"], world.names()) == ("StartsPaused", before)
        world.refuse(answer["message"])
    else:
        world.accepted.add(name)


def fork(world: World, name: str) -> None:
    event = operator_requests.request(Control.FORK, OLD, node="B", name=name)
    rt = replace(
        world.runtime(), read_pause=lambda: None
    )  # the control function has no sandboxes where executions start
    asked = operator_requests.parse(event)
    assert asked.fork is not None
    if world.attempt(partial(forks.fork, rt, asked.fork, Began("v", {}))) is not None:
        world.accepted.add(name)
        assert forks.fork(rt, asked.fork).name == name, "a repeated fork is no new one"


def send_messages(world: World, name: str) -> None:
    world.queue += [
        {"eventSource": "aws:sqs", "eventSourceARN": QUEUE, "body": "{}", "messageId": f"{name}{n}"} for n in range(2)
    ]
    receive(world, name)


def receive(world: World, _: str) -> None:
    """Lambda's poller takes a batch, and deletes what is not reported as failed."""
    batch = world.queue[:3]
    if batch:
        reply = entry_aliases.start_by_event(world.runtime(), {"Records": batch}, "request", queues={QUEUE: ""})
        again = {each["itemIdentifier"] for each in reply["batchItemFailures"]}
        for record, name in zip(batch, reply["executions"], strict=True):
            if record["messageId"] not in again:
                world.queue.remove(record)
                world.accepted.add(name)


def go_on(world: World, _: str) -> None:
    if world.platform.sent:
        world.platform.deliver(world.platform.sent.pop(0))


def pause(world: World, _: str) -> None:
    pausing.answer(world.runtime(), pausing.request(pausing.PAUSE, reason="why not"))
    world.changed_ms = world.changed_ms if world.paused else world.platform.clock.ms
    world.paused = True


def resume(world: World, _: str) -> None:
    ended = pausing.answer(world.runtime(), pausing.request(pausing.RESUME))["pause"]
    assert (ended is not None) == world.paused
    world.changed_ms = world.platform.clock.ms if world.paused else world.changed_ms
    world.paused = False


def wait(world: World, _: str) -> None:
    world.platform.clock.ms += world.rng.choice([1, 3_000, 9_999, 10_000, 60_000])


MOVES_OF_A_WORLD: tuple[Callable[[World, str], None], ...] = (
    *(send_event, deliver, deliver, deliver_in_the_intake, run, fork, send_messages, receive, go_on),
    *(pause, resume, wait, wait, wait),
)


def explore(seed: int) -> World:
    """Return the world after a random sequence, which ends with a resumption and all deliveries."""
    world = World.of(seed)
    for number in range(MOVES):
        world.move(number)
    resume(world, "")
    world.platform.clock.ms += KNOWN_MS
    while world.events or world.queue:
        left = len(world.events) + len(world.queue)
        deliver(world, "")
        receive(world, "")
        assert len(world.events) + len(world.queue) != left or world.events, "starts stay refused after a pause"
    world.platform.deliver_all()
    return world


def lost(world: World) -> list[str]:
    """The accepted starts without a record, and those whose executions have not ended."""
    started = world.names()
    return [name for name in world.accepted if name not in started or world.platform.ending(name) is None]


@pytest.mark.parametrize("seed", range(40))
def test_a_paused_workflow_starts_nothing_and_loses_nothing(seed: int) -> None:
    assert lost(explore(seed)) == []


def test_searches_see_starts_that_are_refused() -> None:
    assert sum(explore(seed).refused for seed in range(40, 50)) > 50


def it_reads_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pauses, "MAX_AGE_MS", 10**15)


def it_reads_rarely(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pauses, "MAX_AGE_MS", KNOWN_MS + 2_000)


def it_asks_nowhere(module: Any, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(module, "check_pause", lambda *_: None)


def forks_begin(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(forks, "read_pause", lambda *_: None)


def it_refuses_what_exists(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pauses, "is_name", lambda _: False)


def it_drops_what_it_refuses(patch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise RefusedDelivery("paused: why not")

    patch.setattr(pauses, "refuse_start", refuse)


def it_reports_no_messages(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(messages, "_is_started", lambda *_: True)


def it_stays_paused(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pausing, "resumption", lambda now_ms: {"since_ms": now_ms, "reason": "why not"})


MISTAKES: tuple[Callable[[pytest.MonkeyPatch], None], ...] = (
    it_reads_once,
    it_reads_rarely,
    partial(it_asks_nowhere, starting),
    partial(it_asks_nowhere, requests),
    partial(it_asks_nowhere, messages),
    forks_begin,
    it_refuses_what_exists,
    it_drops_what_it_refuses,
    it_reports_no_messages,
    it_stays_paused,
)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_is_found(
    mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    with pytest.raises((AssertionError, StartsPaused, RefusedDelivery)):
        assert not any(lost(explore(seed)) for seed in range(40))
