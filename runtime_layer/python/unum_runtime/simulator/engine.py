"""How a delivery runs: the real protocol code, from one call to the next."""

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from unum_runtime.errors import (
    ExecutionDoesNotExist,
    ExecutionNotRedrivable,
    InvokeError,
    LeaseHeldError,
    RefusedDelivery,
    StoreError,
)
from unum_runtime.model.checkpoint import Ending, Item
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Json, Task
from unum_runtime.model.naming import aside_key
from unum_runtime.model.pack import ENDS, entry
from unum_runtime.protocol.control.nudge import nudge
from unum_runtime.protocol.control.operator_requests import Control, Request, parse
from unum_runtime.protocol.control.redrive import redrive
from unum_runtime.protocol.control.stop import stop as stop_execution
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.delivery.fusion import Fusion
from unum_runtime.protocol.runtime import Call, Runtime
from unum_runtime.simulator.faults import REDELIVERIES_S
from unum_runtime.simulator.invariants import (
    Broken,
    Invariant,
    check_input,
    check_references,
    check_requested,
    check_retry,
    check_sent,
    check_user_code,
    check_write,
    record_creation,
    record_preserved,
)
from unum_runtime.simulator.ports import Ports, Suspended
from unum_runtime.simulator.recorded_calls import OWN, SENDS, Answer, End, Operation, Primitive, Progress
from unum_runtime.simulator.scenario import REQUEST_ID, Context
from unum_runtime.simulator.world import Delivery, Event, Hop, Record, World

SHOWN = 160
"""How many characters of a value the log shows."""


class InjectedStoreError(StoreError):
    """The simulated platform failed; not the protocol."""


class InjectedInvokeError(InvokeError):
    """The same for an invocation."""


class _BrokenInUserCode(BaseException):
    """An invariant broke inside user code's call; passes through the protocol, which takes exceptions for outcomes."""

    def __init__(self, broken: Broken) -> None:
        self.broken = broken


class _TimedOut(BaseException):
    """User code takes longer than the sandbox may live."""


def begin(world: World, event: Event, *, is_copy: bool) -> None:
    """Begin a delivery of `event`, up to its first call."""
    world.delivered += 1
    hop, progress = world.hop_of(event), world.first_progress(world.delivered, event)
    delivery = Delivery(
        number=world.delivered,
        is_copy=is_copy,
        first_hop=hop,
        hop=hop,
        function=world.function_of(event),
        begun_ms=world.clock.ms,
        committed=frozenset(world.records) if event.control else frozenset(),
        progress=progress,
    )
    if event.control == Control.REDRIVE:
        record_preserved(world)
    world.say(delivery, lambda: "is delivered once more" if is_copy else "is delivered")
    _run(world, delivery, progress)


def proceed(world: World, delivery: Delivery, answer: Answer) -> None:
    """Let `delivery` go on with the answer to what it asked for, up to its next call."""
    world.running.remove(delivery)
    _run(world, delivery, delivery.progress.after(answer))


def stop(world: World, delivery: Delivery) -> None:
    """The sandbox of `delivery` is gone; the platform delivers its event again."""
    world.running.remove(delivery)
    _redeliver(world, delivery)


def apply(world: World, delivery: Delivery) -> Answer:
    """Do what `delivery` asks of the store, with its effect.

    Raises:
        Broken: what is stored now breaks an invariant.
    """
    operation = delivery.pending
    world.say(delivery, lambda: describe(operation))
    try:
        answer = Answer(operation.primitive, operation.on(world.store))
    except StoreError as error:
        return Answer(operation.primitive, error=error)
    try:
        _check(world, delivery, answer)
    except StoreError as error:
        raise Broken(Invariant.NO_LOST_WORK, f"what is committed cannot be read: {error}") from error
    world.say(delivery, lambda: f"  answer: {_shorten(answer.value)}")
    return answer


def _check(world: World, delivery: Delivery, answer: Answer) -> None:
    """After a call of `delivery` was answered."""
    operation = delivery.pending
    if operation.primitive is Primitive.CREATE:
        if answer.value is None:
            check_references(world, *operation.positional)
        world.find_execution()
        if answer.value is None:
            key, item = operation.positional
            record_creation(world, key, Record(world.author(delivery.hop.event), item))
    if operation.primitive is Primitive.EXTEND:
        _record_entry(world, delivery, *answer.value)
    if operation.primitive in (Primitive.CREATE, Primitive.EXTEND, Primitive.ADD):
        check_write(world, delivery, operation.positional[0])


def _record_entry(world: World, delivery: Delivery, is_set: bool, pack: Item) -> None:  # noqa: FBT001 - the answer
    """Remember what an entry of a pack, if one was set, makes the outcome of its branch."""
    key, slot = delivery.pending.positional[0], ENDS.index(delivery.pending.named["unless"])
    assert world.execution is not None  # noqa: S101 - a branch of it has ended
    found = entry(key, pack, slot, world.execution) if is_set else None
    if found is not None:
        own, item = found
        aside = world.records.get(aside_key(own))
        record = aside if item is None else Record(world.author(delivery.hop.event), item)
        if record is None:
            raise Broken(Invariant.CONSISTENT, f"{key}: says that something is set aside at {own}, but nothing is")
        record_creation(world, own, record)


def send(world: World, delivery: Delivery, chosen: Collection[int]) -> Answer:
    """Accept those of the events that `delivery` sends whose positions are in `chosen`.

    Raises:
        Broken: an event may outlive what it refers to, or is another try that should not be.
    """
    for position, (_, payload, *due_ms) in enumerate(delivery.pending.positional[0]):
        event = Event.of(payload, world.clock.ms, *due_ms)
        is_accepted = position in chosen
        world.say(delivery, partial(_describe_sending, world, delivery, event, is_accepted=is_accepted))
        check_retry(world, delivery, event)
        check_requested(world, delivery, event)
        check_input(world, event)
        if is_accepted:
            world.waiting.append(event)
            world.record_poll(event)
    check_sent(world)
    return Answer(delivery.pending.primitive)


def refusal(operation: Operation) -> Answer:
    """The platform's refusal of `operation`."""
    kind = InjectedInvokeError if operation.primitive in SENDS else InjectedStoreError
    return Answer(operation.primitive, error=kind(f"{operation.primitive}: the platform failed"))


def describe(operation: Operation) -> str:
    """What `operation` asks for."""
    return f"{operation.primitive} {' '.join(_shorten(value) for value in operation.positional)}"


def _run(world: World, delivery: Delivery, progress: Progress) -> None:
    """Let `delivery`, which has come as far as `progress`, go on by itself."""
    own = _OwnCalls(world, delivery)
    try:
        progress = _advance(progress, own)
    except _TimedOut:
        world.say(delivery, lambda: "is killed: its time is over")
        _redeliver(world, delivery)
        return
    except _BrokenInUserCode as found:
        raise found.broken from None
    if isinstance(progress.pending, End):
        _end(world, delivery, progress.pending)
    else:
        world.running.append(replace(own.delivery, progress=progress))


def _advance(progress: Progress, own: "_OwnCalls") -> Progress:
    """How far a delivery comes by itself: to its next call on what all share, or to its end."""
    while isinstance(progress.pending, Operation) and progress.pending.primitive in OWN:
        progress = progress.after(own(progress.pending.kept()))
    if progress.pending is not None:
        return progress
    ports = Ports(progress, own)
    try:
        end = End(_run_protocol(own.world, own.delivery, ports))
    except Suspended:
        return ports.progress
    except Exception as error:  # noqa: BLE001 - told apart where the delivery ends
        end = End(error=error)
    ports.progress.pending = end
    return ports.progress


def _end(world: World, delivery: Delivery, end: End) -> None:
    match end.error:
        case None:
            _check_stop_answer(world, delivery, end.ending)
            world.say(delivery, lambda: "succeeds")
            _finish(world, delivery)
        case InjectedStoreError() | InjectedInvokeError() as error:
            world.say(delivery, lambda: f"fails: {error}")
            _redeliver(world, delivery)
        case LeaseHeldError() as held:
            world.say(delivery, lambda: f"is sent back: {held}")
            _send_back(world, delivery)
        case RefusedDelivery() | ExecutionNotRedrivable() as refused:
            world.say(delivery, lambda: f"is refused: {refused}")
            _finish(world, delivery)
        case ExecutionDoesNotExist() as unknown if not world.store.read([world.start_key]):
            world.say(delivery, lambda: f"is told: {unknown}")
            _finish(world, delivery)
        case error:
            raise Broken(
                Invariant.NO_LOST_WORK, f"{delivery} fails, and so will every other: {type(error).__name__}: {error}"
            ) from error


@dataclass
class _OwnCalls:
    """What a delivery shares with no other: the time, user code, and whether it goes on with the next event itself.

    Attributes:
        world: where it runs.
        delivery: the delivery, with what it is at.
    """

    world: World
    delivery: Delivery

    def __call__(self, operation: Operation) -> Answer:
        """The answer to `operation`."""
        try:
            return Answer(operation.primitive, self._value(operation))
        except Exception as error:  # noqa: BLE001 - whatever user code raises is what the protocol has to see
            return Answer(operation.primitive, error=error, frames=error.__traceback__)

    def _value(self, operation: Operation) -> Any:
        match operation.primitive:
            case Primitive.CLOCK:
                return self.world.clock.ms
            case Primitive.USER_CODE:
                return _run_user_code(self.world, self.delivery, *operation.positional)
        hop = _fuse(self.world, self.delivery, *operation.positional)
        if hop is not None:
            self.delivery = replace(self.delivery, hop=hop)
        return hop


def _fuse(world: World, delivery: Delivery, address: str, ahead: Envelope, task: Task) -> Hop | None:
    """What `delivery` is at if it may go on with the event `ahead` for `task` at `address`; else None."""
    if not world.scenario.fusion or delivery.function is None:
        return None
    timeout_ms = world.scenario.timeout_s * 1000
    fusion = Fusion(delivery.function, lambda: timeout_ms - (world.clock.ms - delivery.begun_ms), timeout_ms)
    if not fusion(address, ahead, task):
        return None
    event = Event.of(ahead.to_bytes(), world.clock.ms)
    world.say(delivery, lambda: f"goes on with {event}")
    return world.hop_of(event)


def _run_protocol(world: World, delivery: Delivery, ports: Ports) -> Ending | None:
    """Let the real code run; how the execution ended, as whoever stops it is told."""
    scenario = world.scenario
    runtime = Runtime(
        workflow=scenario.workflow,
        store=scenario.protocol_store(ports, ports),
        invoker=ports,
        timer=ports,
        clock=ports,
        call=ports.call,
        hosts=scenario.hosts,
        routes=scenario.routes,
        retention_s=scenario.retention_s,
        result_retention_s=scenario.result_retention_s,
        collection=scenario.collection,
        delivery=delivery.id,
        fuses=ports.fuses,
        most_begun=scenario.most_begun,
    )
    if delivery.event.control == Control.NUDGE:
        nudge(runtime, scenario.execution_name, silent_ms=_request_of(delivery).silent_ms)
    elif delivery.event.control == Control.REDRIVE:
        redrive(runtime, scenario.execution_name)
    elif delivery.event.control == Control.STOP:
        assert world.execution is not None  # noqa: S101 - only what has begun is stopped
        return stop_execution(runtime, world.execution, _request_of(delivery).failure).ending
    elif delivery.event.envelope is None:
        scenario.entry(runtime, REQUEST_ID, json.loads(delivery.event.payload))
    else:
        step(runtime, Envelope.from_json(json.loads(delivery.event.payload)))  # user code may change what is read
    return None


def _request_of(delivery: Delivery) -> Request:
    """The request that `delivery` is of."""
    return parse(json.loads(delivery.event.payload))


def _check_stop_answer(world: World, delivery: Delivery, ending: Ending | None) -> None:
    if delivery.event.control != Control.STOP:
        return
    was_redriven = world.left.redrives < world.scenario.faults.redrives  # since the end that was found, perhaps
    if ending != world.ending and not was_redriven:
        detail = f"whoever stopped the execution was told {ending}, but it ended with {world.ending}"
        raise Broken(Invariant.ONE_RESULT, detail)


def _run_user_code(world: World, delivery: Delivery, call: Call, event: Json) -> Any:
    invocation = world.own_name(delivery.hop.event)
    assert invocation is not None  # noqa: S101 - user code runs in executions that are recorded
    work = (invocation, call.state)
    run = world.runs.get(work, 0)
    world.runs = world.runs.plus(work, run + 1)
    world.say(delivery, lambda: f"user code of {call.state} with {_shorten(event)}")
    try:
        check_user_code(world, delivery, call, event)
    except Broken as broken:
        raise _BrokenInUserCode(broken) from None
    context = Context(call, run, world.clock, call.function, str(delivery.event))
    try:
        return world.scenario.handler(call.state)(event, context)
    finally:
        if world.clock.ms - delivery.begun_ms > world.scenario.timeout_s * 1000:
            raise _TimedOut


def _describe_sending(world: World, delivery: Delivery, event: Event, *, is_accepted: bool) -> str:
    when = f" in {(event.ready_ms - world.clock.ms) / 1000:g} s" if event.ready_ms else ""
    return f"{delivery.pending.primitive} {event}{when}{'' if is_accepted else ': not accepted'}"


def _finish(world: World, delivery: Delivery) -> None:
    if not delivery.is_copy:
        world.done.append(delivery.event)


def _redeliver(world: World, delivery: Delivery) -> None:
    if not delivery.is_copy:
        world.waiting.append(delivery.event)


def _send_back(world: World, delivery: Delivery) -> None:
    event = delivery.event
    if delivery.is_copy:
        return
    if event.returned == len(REDELIVERIES_S):
        world.say(event, lambda: "was sent back too often and is given up by the platform")
        world.dead.append(event)
        return
    ready_ms = world.clock.ms + REDELIVERIES_S[event.returned] * 1000
    world.waiting.append(replace(event, ready_ms=ready_ms, returned=event.returned + 1))


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"
