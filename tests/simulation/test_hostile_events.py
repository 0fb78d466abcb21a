"""Any event at any alias gets a documented answer and has only that alias's effect.

Events are requests with mistakes: fields that are missing, too many, of other types or of other requests, around names
and tokens of executions that exist. What counts is what the store holds afterwards.
"""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pytest

from tests.unit.protocol.callback_platform import Asking, asking
from unum_runtime.errors import (
    ClientError,
    ExecutionAlreadyExists,
    InvalidExecutionInput,
    NotOurEvent,
    RefusedDelivery,
    StartRefused,
    ValidationException,
)
from unum_runtime.functions.operations import control_entry
from unum_runtime.functions.operations.served_workflow import WorkflowContext
from unum_runtime.model.checkpoint import Began, Failure, Success, read_start_record
from unum_runtime.model.naming import Key, start_key
from unum_runtime.protocol.control import describe, operator_requests, pausing
from unum_runtime.protocol.control.control_aliases import ControlAlias
from unum_runtime.protocol.delivery.pause import read_pause
from unum_runtime.protocol.history import start_records
from unum_runtime.protocol.requests import entry_aliases, function_url, respond
from unum_runtime.protocol.runtime import Runtime

Json = Any

FEW, MANY = 600, 100_000
EVENTS_A_WORLD = 50
OWN, RUN = (f"arn:aws:lambda:us-east-1:1:function:entry:{qualifier}" for qualifier in ("7", "run-w"))
WAITS, ENDED = "waits", "ended"
REQUEST_ID = "request-id"
QUEUE = "arn:aws:sqs:us-east-1:1:orders"

OF_TOKENS = {"ValidationException", "InvalidOutput", "InvalidToken", "TaskTimedOut"}
OF_OPERATORS = {"ValidationException", "ExecutionDoesNotExist"}
ERRORS: Mapping[str, set[str]] = {
    "start": {"ValidationException"},
    "run": {"ValidationException", "InvalidName", "InvalidExecutionInput", "ExecutionAlreadyExists"},
    "describe": {"ValidationException", "ExecutionDoesNotExist"},
    "respond": OF_TOKENS,
    "url": OF_TOKENS,
    ControlAlias.STOP: OF_OPERATORS,
    ControlAlias.REDRIVE: OF_OPERATORS | {"ExecutionNotRedrivable"},
    ControlAlias.FORK: OF_OPERATORS | {"ExecutionAlreadyExists", "NodeNotForkable", "StartsPaused"},
    ControlAlias.NUDGE: OF_OPERATORS,
    ControlAlias.PAUSE: {"ValidationException"},
}
"""Documented errors by alias."""

RAISED: Mapping[str, tuple[type[Exception], ...]] = {
    "start": (NotOurEvent, StartRefused),
    "run": (RefusedDelivery, ValidationException, InvalidExecutionInput, ExecutionAlreadyExists),
}
"""Errors that a caller gets as a function error; nothing is done for such an event."""

STARTING = ("start", "run", ControlAlias.FORK)
"""Aliases at which executions begin."""


@dataclass
class World:
    """A workflow with an execution that waits for an answer and one that has ended."""

    asked: Asking
    sent: list[Json] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)

    @classmethod
    def new(cls) -> "World":
        asked = asking(HeartbeatSeconds=60)
        platform = asked.platform
        for name in (ENDED, WAITS):
            platform.start(name, {"n": 1})
            platform.deliver_all()
            if name == ENDED:
                asked.answered(asked.tokens[-1])
        return cls(asked)

    def invoke(self, events: Any) -> None:
        for address, payload in events:
            if address == RUN:
                self.sent.append(json.loads(payload))
            else:
                self.asked.platform.invoke([(address, payload)])

    @property
    def runtime(self) -> Runtime:
        return replace(self.asked.platform.runtime(), invoker=self, own_address=OWN)

    def starts(self) -> dict[str, Any]:
        """The start records by name."""
        items = self.asked.platform.memory._items
        return {key.partition.partition("/")[2]: item for key, (item, _) in items.items() if _is_start(key)}

    def ends(self) -> dict[str, Any]:
        return {name: self.asked.platform.ending(name) for name in (WAITS, ENDED)}


def _is_start(key: Key) -> bool:
    return key.partition.startswith("start:") and key.sort == "start"


def enter(world: World, alias: str, event: Json) -> Json:
    """Do with `event` what the function behind `alias` does."""
    rt = world.runtime
    match alias:
        case "start":
            return entry_aliases.start_by_event(
                rt, event, f"{REQUEST_ID}-{next(world.numbers)}", queues={QUEUE: "$.order.id"}
            )
        case "run":
            return entry_aliases.run(rt, event, f"{REQUEST_ID}-{next(world.numbers)}")
        case "describe":
            return describe.answer(rt, event)
        case "respond":
            return respond.answer(rt, event) if respond.is_request(event) else function_url.respond(rt, event)
        case "url":
            answer = function_url.respond(
                rt, {"requestContext": {"http": {"method": "POST"}}, "body": json.dumps(event)}
            )
            body = json.loads(answer["body"])
            return {"error": body["__type"], "message": body["message"]} if answer["statusCode"] == 400 else body
    return control_entry._refusal(event, alias, WorkflowContext(None, "w")) or _operate(rt, event)


def _operate(rt: Runtime, event: Json) -> Json:
    try:
        if pausing.is_request(event):
            return pausing.answer(rt, event)
        asked = operator_requests.parse(event)
        return operator_requests.answer(rt, asked, Began(OWN, {}))
    except ClientError as error:
        return {"error": type(error).__name__, "message": str(error)}


def templates(world: World) -> list[Json]:
    """Return a valid request of each kind."""
    token, known = world.asked.tokens[-1], random.choice([WAITS, ENDED])  # noqa: S311 - seeded by the caller
    source = {"eventSource": "aws:sqs", "eventSourceARN": QUEUE}
    batch = [{**source, "messageId": f"m{n}", "body": json.dumps({"order": {"id": n}})} for n in range(2)]
    mark = {"$unum": 1}
    return [
        {**mark, "start": known, "input": {"n": 2}},
        {**mark, "start": "new", "input": {"n": 1}, "answer": True},
        {**mark, "start": "new", "input": {"n": 1}, "answer": True, "lease": True},
        {**mark, "start": known},
        {**mark, "start": known, "writer": ["me", 5]},
        {**mark, "start": "new", "input_ref": "w/~uploads/" + "a" * 64, "answer": True},
        {**mark, "upload": "a" * 64, "bytes": 5},
        {**mark, "describe": known},
        {**mark, "describe": known, "status": True},
        {**mark, "register": "new", "input": "{}"},
        {**mark, "token": token, "output": "1", "request": "r"},
        {**mark, "token": token, "error": "E", "cause": None},
        {**mark, "token": token, "heartbeat": True},
        {**mark, "token": token, "worker": "me"},
        {"taskToken": token, "output": "1"},
        {"requestContext": {"http": {"method": "POST"}}, "body": json.dumps({"taskToken": token, "heartbeat": True})},
        *({**mark, "control": kind, "execution": known} for kind in ("stop", "redrive", "nudge", "why", "definition")),
        {**mark, "control": "pause", "reason": "why not"},
        {**mark, "control": "resume"},
        {**mark, "pause": True},
        {**mark, "control": "fork", "execution": known, "node": "Ask", "name": "forked", "input": {}},
        {**mark, "control": "sweep", "silent_ms": 1, "nudge": True},
        {**mark, "workflow": "w", "digest": "d", "execution": [known, 1], "frames": [], "step": 1, "state": "After"},
        {"Records": batch},
        {"order": 1},
    ]


VALUES: tuple[Json, ...] = (
    *(None, True, False, 0, -1, 1, 2, 10**30, 1.5, "", "new", WAITS, ENDED, "a b", "../x", "\ud800", "\x00", "x" * 300),
    *([], {}, [WAITS], {"$unum": 1}, {"start": WAITS}, [[]] * 3, {"http": {"method": "POST"}}, "w/waits/" + "a" * 64),
    json.loads("[" * 500 + "]" * 500),
)
NAMES = (
    *("$unum", "start", "input", "input_ref", "answer", "lease", "writer", "upload", "bytes", "describe", "status"),
    *("token", "output", "error", "cause", "heartbeat", "worker", "request", "control", "execution", "node", "name"),
    *("visit", "silent_ms", "on", "phase", "state", "value", "at", "ttl", "retention_s", "Records", "body", "x"),
)


def mutated(rng: random.Random, events: list[Json]) -> Json:
    """Return a request with up to four mistakes."""
    event = dict(rng.choice(events))
    for _ in range(rng.randrange(5)):
        match rng.randrange(5):
            case 0 if event:
                del event[rng.choice([*event])]
            case 1 if event:
                event[rng.choice([*event])] = rng.choice(VALUES)
            case 2:
                event[rng.choice(NAMES)] = rng.choice(VALUES)
            case 3:
                event |= rng.choice(events)
            case 4 if rng.random() < 0.1:
                return rng.choice(VALUES)
    return event


def judge(world: World, alias: str, event: Json) -> None:
    """Send `event`, and raise AssertionError if answer or effect is none that `alias` documents."""
    starts, ends, pause = world.starts(), world.ends(), read_pause(world.asked.platform.memory, "w")
    answer: Json = {"error": None}  # of an event that raises
    with suppress(*RAISED.get(alias, ())):
        answer = enter(world, alias, event)
    text, after = json.dumps(event), world.starts()
    if isinstance(answer, dict) and "error" in answer:
        assert answer["error"] in {None, *ERRORS[alias]}, answer
        assert after == starts, answer
    assert all(after[name] == item for name, item in starts.items()), "a start record was changed"
    for name in after.keys() - starts.keys():
        assert alias in STARTING, f"{name} was started"
        record = read_start_record(name, after[name])
        assert (record.fork is not None) == (alias == ControlAlias.FORK)
        if alias == "start":
            # Half of a character, and what is nested too deeply, is no input: such an execution fails, and says so.
            shown = json.dumps(event, ensure_ascii=False)
            is_text, is_deep = not any("\ud800" <= each <= "\udfff" for each in shown), "[" * 400 in shown
            fails = isinstance(record.outcome, Failure)
            assert (fails and (is_deep or not is_text)) or (is_text and record.outcome == Success(event))
            assert name == answer["execution"]
    if world.ends() != ends:
        answered = alias in ("respond", "url") and world.asked.tokens[-1] in text
        assert answered or (alias in (ControlAlias.STOP, ControlAlias.REDRIVE) and WAITS in text), (
            "an execution has ended, or goes on"
        )
    assert world.ends()[ENDED] == ends[ENDED]
    assert alias == ControlAlias.PAUSE or read_pause(world.asked.platform.memory, "w") == pause, "paused or resumed"
    json.dumps(answer)


def search(seed: int, events: int) -> dict[str, int]:
    """Send random events to random aliases; return how many had an answer without an error, by alias."""
    rng, taken = random.Random(seed), dict.fromkeys(ERRORS, 0)  # noqa: S311 - no secret
    random.seed(seed)
    world = World.new()
    for number in range(events):
        if number % EVENTS_A_WORLD == 0:
            world = World.new()
        alias, event = rng.choice([*ERRORS]), mutated(rng, templates(world))
        try:
            judge(world, alias, event)
        except Exception as found:
            raise AssertionError(f"seed {seed}, event {number} at {alias}: {json.dumps(event)[:500]}") from found
        taken[alias] += 1
    return taken


@pytest.fixture(autouse=True)
def of_this_workflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_entry, "services", lambda: {"w": None})


def test_a_few_events() -> None:
    assert min(search(1, FEW).values()) > 0


def commands_at_the_start_alias(patch: pytest.MonkeyPatch) -> None:
    own = entry_aliases.start_by_event

    def start_by_event(rt: Runtime, event: Json, request_id: str, **options: Any) -> Json:
        if isinstance(event, dict) and "token" in event:
            return respond.answer(rt, event)
        if isinstance(event, dict) and "describe" in event:
            return describe.answer(rt, event)
        return own(rt, event, request_id, **options)

    patch.setattr(entry_aliases, "start_by_event", start_by_event)


def starts_at_the_start_alias(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(entry_aliases, "start_by_event", entry_aliases.run)


def all_requests_at_each_alias_of_operators(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(control_entry, "_refusal", lambda *_: None)


def starts_at_the_describe_alias(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(describe, "answer", lambda rt, event: entry_aliases.run(rt, event, REQUEST_ID))


def records_by_callers(patch: pytest.MonkeyPatch) -> None:
    def run(rt: Runtime, event: Json, request_id: str) -> Json:
        if isinstance(event, dict) and "phase" in event and isinstance(event.get("start"), str):
            item = {"state": "", "ir": "", "at": 1, "ms": 0, "attempt": 0, "value": "1", "phase": event["phase"]}
            rt.store.create(start_key("w", event["start"]), item, expires_at_s=10**12)
        return own(rt, event, request_id)

    own = entry_aliases.run
    patch.setattr(entry_aliases, "run", run)


def errors_that_escape(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(start_records, "is_name", lambda _: True)
    patch.setattr(function_url, "_content", lambda event: json.loads(event["body"]))


HOLES = (
    commands_at_the_start_alias,
    starts_at_the_start_alias,
    all_requests_at_each_alias_of_operators,
    starts_at_the_describe_alias,
    records_by_callers,
    errors_that_escape,
)


@pytest.mark.parametrize("hole", HOLES)
def test_a_hole_is_found(hole: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    hole(monkeypatch)
    with pytest.raises(AssertionError, match="seed 2, event"):
        search(2, 3_000)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100))
def test_many_events(seed: int) -> None:
    taken = search(seed, MANY // 100)
    assert sum(taken.values()) == MANY // 100
    assert min(taken.values()) > 0, "no alias is left out"
