"""Possible next moves in a world, and their execution."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from unum_runtime.model.checkpoint import Status
from unum_runtime.model.naming import start_key
from unum_runtime.protocol.control.operator_requests import Control
from unum_simulator import simulated_deliveries
from unum_simulator.faults import EVENT_AGE_S, RUN_S, SKEW_MS, Fault
from unum_simulator.recorded_calls import READS, SENDS, Answer, Primitive
from unum_simulator.scenario import BEGUN_MS
from unum_simulator.simulated_store import REPEATABLE, cuts
from unum_simulator.surroundings.calling_programs import Caller
from unum_simulator.surroundings.copied_steps import fork_request
from unum_simulator.surroundings.redelivery import errors, give_up, give_up_old
from unum_simulator.surroundings.responders import FAILURE, HEARTBEAT, RESULT, response
from unum_simulator.surroundings.signal_senders import signal_event
from unum_simulator.world import Delivery, Event, World


class Kind(StrEnum):
    """Kind of a move."""

    DELIVER = "deliver"
    DUPLICATE = "duplicate"
    PROCEED = "proceed"
    LOSE = "lose"
    VANISH = "vanish"
    GIVE_UP = "give up"
    RESEND = "resend"
    JUMP = "jump"
    RESTART = "restart"
    RESPOND = "respond"
    SIGNAL = "signal"
    CALL = "call"
    FORGET = "forget"
    WAIT = "wait"
    STOP = "stop"
    REQUEST = "request"


_FAULTS = frozenset({Kind.DUPLICATE, Kind.LOSE, Kind.VANISH, Kind.GIVE_UP, Kind.JUMP, Kind.STOP})

REQUESTS = (Control.NUDGE, Control.REDRIVE, Control.FORK)
"""Requests that operators may make."""


@dataclass(frozen=True, slots=True)
class Move:
    """One step of a simulation.

    Attributes:
        kind: the kind.
        index: position of the event, delivery, clock jump, or entry in `REQUESTS`.
        fault: fault of the delivery's call, for `Kind.PROCEED`.
        sent: number of accepted events before a crash; for a throttle or repetition, position of the rejected or
            repeated event; for a split read, see `cuts`; for a given up event, position of its error; for a
            request, position of the execution, or of the fork in the scenario; for a response, its kind; for a
            signal, the number in its id.
        skew_ms: error of the sandbox's clock, for a new delivery.
    """

    kind: Kind
    index: int
    fault: Fault = Fault.NONE
    sent: int = 0
    skew_ms: int = 0

    @property
    def is_fault(self) -> bool:
        """True for a platform fault and for a stop request."""
        return self.fault is not Fault.NONE or self.skew_ms != 0 or self.kind in _FAULTS


def moves(world: World) -> list[Move]:
    """Return all possible next moves; none at the end of a run without remaining faults."""
    for index, delivery in enumerate(world.running):
        if delivery.is_independent:
            # Partial-order reduction: the call commutes with all others, so one order stands for all.
            return list(_call_moves(world, index, delivery))
    return [
        *(move for index, delivery in enumerate(world.running) for move in _call_moves(world, index, delivery)),
        *_delivery_moves(world),
        *_event_moves(world),
        *_jump_moves(world),
        *_restart_moves(world),
        *_stop_moves(world),
        *_request_moves(world),
        *_response_moves(world),
        *_signal_moves(world),
        *_calling_moves(world),
    ]


def make(world: World, move: Move) -> None:
    """Execute `move`.

    Raises:
        Broken: the new world breaks an invariant.
    """
    world.clock.ms += world.scenario.tick_ms
    match move.kind:
        case Kind.DELIVER | Kind.DUPLICATE:
            _deliver(world, move)
        case Kind.PROCEED:
            _answer_call(world, world.running[move.index], move)
        case Kind.LOSE | Kind.VANISH | Kind.GIVE_UP:
            _lose_event(world, move)
        case Kind.RESEND:
            event = world.dead.pop(move.index)
            world.say(event, lambda: "is resent from the dead-letter queue")
            world.waiting.append(event)
        case Kind.JUMP:
            world.left = replace(world.left, jumps=world.left.jumps - 1)
            world.clock.ms += world.left.jump_s[move.index] * 1000
            world.say("clock", lambda: f"{world.left.jump_s[move.index]} s pass")
            give_up_old(world)
        case Kind.STOP | Kind.REQUEST | Kind.RESPOND | Kind.SIGNAL | Kind.CALL | Kind.FORGET | Kind.RESTART:
            _ask(world, move)
        case Kind.WAIT:
            world.clock.ms = max(world.clock.ms, min(event.ready_ms for event in world.waiting))
        case _:
            assert_never(move.kind)


def _ask(world: World, move: Move) -> None:
    """Let an operator, a responder or a client act."""
    left = world.left
    match move.kind:
        case Kind.STOP:
            world.left = replace(left, stops=left.stops - 1)
            name = [*world.observed][move.index].name
            stop = world.request(Control.STOP, name, error="Stopped", cause=f"{world.left.stops} more may follow")
            simulated_deliveries.begin(world, stop, is_copy=True)
        case Kind.REQUEST:
            _begin_request(world, REQUESTS[move.index], move.sent)
        case Kind.SIGNAL:
            world.left = replace(left, signals=left.signals - 1)
            simulated_deliveries.begin(world, signal_event(world, move.index, move.sent), is_copy=False)
        case Kind.CALL:
            world.left = replace(left, calls=left.calls - 1)
            simulated_deliveries.begin(world, Caller(world, move.index).call(left.calls), is_copy=True)
        case Kind.FORGET:
            world.left = replace(left, forgets=left.forgets - 1)
            asked = Caller(world, move.index).forgetting()
            assert asked is not None  # noqa: S101 - see `_calling_moves`
            simulated_deliveries.begin(world, asked, is_copy=True)
        case Kind.RESPOND:
            _respond(world, [*world.tokens][move.index], move.sent)
        case _:
            world.left = replace(left, restarts=left.restarts - 1)
            name, payload = world.scenario.start_events()[0]
            world.waiting.append(Event.started(name, payload, world.clock.ms))
            world.say("client", lambda: f"starts {name} again")


def _delivery_moves(world: World) -> Iterator[Move]:
    if len(world.running) >= world.left.concurrency:
        return
    ready = [index for index, event in _distinct_events(world.waiting).items() if event.ready_ms <= world.clock.ms]
    skews = (0, -SKEW_MS, SKEW_MS) if world.left.skews else (0,)
    yield from (Move(Kind.DELIVER, index, skew_ms=skew_ms) for index in ready for skew_ms in skews)
    # Only then: an earlier skip would hide runs in which a delivery overlaps the wait.
    if world.waiting and not ready and not world.running:
        yield Move(Kind.WAIT, 0)
    if world.left.duplicates:
        yield from (
            Move(Kind.DUPLICATE, index, skew_ms=skew_ms)
            for index, event in _distinct_events(_repeatable_events(world)).items()
            # A start event has no deadline of its own; Lambda keeps it no longer than this.
            if event.envelope is not None or world.clock.ms // 1000 <= event.until_s(world.scenario.retention_s)
            for skew_ms in skews
        )


def _deliver(world: World, move: Move) -> None:
    if move.skew_ms:
        world.left = replace(world.left, skews=world.left.skews - 1)
    if move.kind is Kind.DELIVER:
        simulated_deliveries.begin(world, world.waiting.pop(move.index), is_copy=False, skew_ms=move.skew_ms)
        return
    world.left = replace(world.left, duplicates=world.left.duplicates - 1)
    simulated_deliveries.begin(world, _repeatable_events(world)[move.index], is_copy=True, skew_ms=move.skew_ms)


def _event_moves(world: World) -> Iterator[Move]:
    if world.left.losses:
        yield from (Move(Kind.LOSE, index) for index in _distinct_events(world.waiting))
    if world.left.vanishes and world.observed:  # without a start record, no sweep could find it
        yield from (Move(Kind.VANISH, index) for index in _distinct_events(world.waiting))
    if world.left.give_ups:
        yield from (
            Move(Kind.GIVE_UP, index, sent=number)
            for index, event in _distinct_events(world.waiting).items()
            if event.ready_ms <= world.clock.ms  # before that, a timer keeps it
            for number, _ in enumerate(errors(event))
        )
    if world.left.losses < world.scenario.faults.losses:
        yield from (Move(Kind.RESEND, index) for index in _distinct_events(world.dead))


def _lose_event(world: World, move: Move) -> None:
    left, event = world.left, world.waiting.pop(move.index)
    if move.kind is Kind.VANISH:
        world.left = replace(left, vanishes=left.vanishes - 1)
        world.say(event, lambda: "is lost by the platform without a record")
        return
    if move.kind is Kind.GIVE_UP:
        world.left = replace(left, give_ups=left.give_ups - 1)
        give_up(world, event, [*errors(event)][move.sent])
        return
    world.left = replace(left, losses=left.losses - 1)
    world.say(event, lambda: "is dropped by the platform into the dead-letter queue")
    world.dead.append(event)


def _jump_moves(world: World) -> Iterator[Move]:
    """Yield possible jumps of the clock; while a delivery runs, none beyond a delivery's maximum duration.

    No jump may outlast the retention of an unfinished execution. Without a failure handler, it may not outlast an
    event's maximum age either: Lambda keeps an event for 6 hours, and the record of its failure for as long again.
    """
    if not world.left.jumps:
        return
    now_s = world.clock.ms // 1000
    events = [] if world.scenario.faults.give_ups else [*world.waiting, *world.dead]
    limits = [event.sent_ms // 1000 + 2 * EVENT_AGE_S for event in events]
    if not world.has_ended:
        limits.append(_oldest_ms(world) // 1000 + world.scenario.retention_s - EVENT_AGE_S)
    for index, jump_s in enumerate(world.left.jump_s):
        is_possible = not world.running or jump_s < RUN_S
        if is_possible and all(now_s + jump_s <= limit_s for limit_s in limits):
            yield Move(Kind.JUMP, index)


def _oldest_ms(world: World) -> int:
    """Return the start of the oldest execution that has not ended, in milliseconds since 1970."""
    if len(world.observed) <= 1:
        return BEGUN_MS
    return min(each.execution.started_ms for each in world.observed.values() if each.ending is None)


def _restart_moves(world: World) -> Iterator[Move]:
    """Yield another start of the first execution's name once the name is free again."""
    if world.left.restarts and world.has_ended and not world.store.read([world.scenario.start_key]):
        yield Move(Kind.RESTART, 0)


def _stop_moves(world: World) -> Iterator[Move]:
    """Yield stop requests, possible once the start record exists."""
    if world.left.stops and len(world.running) < world.left.concurrency:
        for index, execution in enumerate(world.observed):
            if world.store.read([start_key(world.scenario.workflow.name, execution.name)]):
                yield Move(Kind.STOP, index)


def _request_moves(world: World) -> Iterator[Move]:
    """Yield nudges and forks at any time, and redrives after a failure or a stop."""
    if len(world.running) >= world.left.concurrency:
        return
    for index, seen in enumerate(world.observed.values()):
        if world.left.nudges:
            yield Move(Kind.REQUEST, REQUESTS.index(Control.NUDGE), sent=index)
        is_redrivable = seen.ending is not None and seen.ending.status in (Status.FAILED, Status.ABORTED)
        if world.left.redrives and (is_redrivable or world.scenario.faults.forks):
            yield Move(Kind.REQUEST, REQUESTS.index(Control.REDRIVE), sent=index)
    if world.left.forks and world.observed:
        yield from (
            Move(Kind.REQUEST, REQUESTS.index(Control.FORK), sent=index) for index in range(len(world.scenario.forks))
        )


def _response_moves(world: World) -> Iterator[Move]:
    """Yield responses to all task tokens that user code ever got."""
    if len(world.running) >= world.left.concurrency:
        return
    kinds = [*([RESULT, FAILURE] if world.left.answers else ()), *([HEARTBEAT] if world.left.heartbeats else ())]
    yield from (Move(Kind.RESPOND, index, sent=kind) for index in range(len(world.tokens)) for kind in kinds)


def _signal_moves(world: World) -> Iterator[Move]:
    """Yield signals of the scenario to the first execution: new ones, and repetitions of accepted ones."""
    if not world.left.signals or not world.observed or len(world.running) >= world.left.concurrency:
        return
    numbers = range(world.scenario.faults.signals - world.left.signals + 1)
    yield from (Move(Kind.SIGNAL, which, sent=n) for which in range(len(world.scenario.signals)) for n in numbers)


def _calling_moves(world: World) -> Iterator[Move]:
    """Yield calls and requests to forget; the program that makes one may die with it, and others call again."""
    if len(world.running) >= world.left.concurrency:
        return
    callers = [Caller(world, which) for which in range(len(world.scenario.calls))]
    if world.left.calls:
        yield from (Move(Kind.CALL, each.which) for each in callers)
    if world.left.forgets:
        yield from (Move(Kind.FORGET, each.which) for each in callers if each.forgetting() is not None)


def _respond(world: World, token: str, kind: int) -> None:
    event, left = response(world, token, kind), world.left
    is_heartbeat = kind == HEARTBEAT
    spent = replace(left, heartbeats=left.heartbeats - 1) if is_heartbeat else replace(left, answers=left.answers - 1)
    world.left = spent
    simulated_deliveries.begin(world, event, is_copy=False)


def _begin_request(world: World, asked: Control, which: int) -> None:
    """Start a delivery of a request; a redrive or fork without an answer is repeated."""
    left = world.left
    match asked:
        case Control.NUDGE:
            world.left = replace(left, nudges=left.nudges - 1)
        case Control.REDRIVE:
            world.left = replace(left, redrives=left.redrives - 1)
        case _:
            world.left = replace(left, forks=left.forks - 1)
            simulated_deliveries.begin(world, fork_request(world, world.scenario.forks[which]), is_copy=False)
            return
    name = [*world.observed][which].name
    simulated_deliveries.begin(world, world.request(asked, name), is_copy=asked is Control.NUDGE)


def _call_moves(world: World, index: int, delivery: Delivery) -> Iterator[Move]:
    yield Move(Kind.PROCEED, index)
    if delivery.pending.primitive is Primitive.USER_CODE:
        return
    if delivery.pending.primitive in SENDS:
        yield from _sending_faults(world, index, len(delivery.pending.positional[0]))
        return
    if world.left.splits and delivery.part is None:
        splits = cuts(world.store, delivery.pending)
        yield from (Move(Kind.PROCEED, index, Fault.SPLIT, cut) for cut in splits)
    if world.left.repeats and delivery.pending.primitive in REPEATABLE:
        yield Move(Kind.PROCEED, index, Fault.REPEATED)
    if world.left.freezes and not delivery.freezes and delivery.function is not None:
        yield Move(Kind.PROCEED, index, Fault.FROZEN)
    is_write = delivery.pending.primitive not in READS
    if world.left.crashes:
        yield Move(Kind.PROCEED, index, Fault.CRASH_BEFORE)
        # A crash after a read has no effect to keep, so it equals a crash before it.
        if is_write:
            yield Move(Kind.PROCEED, index, Fault.CRASH_AFTER)
    if world.left.throttles:
        yield Move(Kind.PROCEED, index, Fault.THROTTLED)
        if is_write:
            yield Move(Kind.PROCEED, index, Fault.UNANSWERED)


def _sending_faults(world: World, index: int, size: int) -> Iterator[Move]:
    if world.left.crashes:
        # The sandbox may die after any number of accepted events; each prefix is a run of its own.
        yield from (Move(Kind.PROCEED, index, Fault.CRASH_AFTER, sent) for sent in range(size + 1))
    if world.left.throttles:
        yield from (Move(Kind.PROCEED, index, Fault.THROTTLED, missing) for missing in range(size))
        yield Move(Kind.PROCEED, index, Fault.UNANSWERED)
    if world.left.repeats:
        yield from (Move(Kind.PROCEED, index, Fault.REPEATED, position) for position in range(size))


def _answer_call(world: World, delivery: Delivery, move: Move) -> None:
    _spend_fault(world, move.fault)
    if delivery.pending.primitive is Primitive.USER_CODE:
        simulated_deliveries.thaw(world, delivery)
        return
    world.focus_on(delivery.event)
    if move.fault is Fault.SPLIT:
        world.say(delivery, lambda: f"{simulated_deliveries.describe(delivery.pending)}: {move.fault}")
        simulated_deliveries.split(world, delivery, move.sent)
        return
    if delivery.pending.primitive in SENDS:
        answer = _send(world, delivery, move)
    elif move.fault in (Fault.CRASH_BEFORE, Fault.THROTTLED):
        answer = simulated_deliveries.refusal(delivery.pending)
    else:
        answer = simulated_deliveries.apply(world, delivery, repeated=move.fault is Fault.REPEATED)
    if move.fault is not Fault.NONE:
        world.say(delivery, lambda: f"{simulated_deliveries.describe(delivery.pending)}: {move.fault}")
    match move.fault:
        case Fault.NONE | Fault.REPEATED | Fault.FROZEN:
            simulated_deliveries.proceed(world, delivery, answer, freezes=move.fault is Fault.FROZEN)
        case Fault.CRASH_BEFORE | Fault.CRASH_AFTER:
            simulated_deliveries.stop(world, delivery)
        case Fault.THROTTLED | Fault.UNANSWERED:
            simulated_deliveries.proceed(world, delivery, simulated_deliveries.refusal(delivery.pending))
        case _:
            assert_never(move.fault)


def _send(world: World, delivery: Delivery, move: Move) -> Answer:
    positions = range(len(delivery.pending.positional[0]))
    match move.fault:
        case Fault.CRASH_BEFORE | Fault.CRASH_AFTER:
            return simulated_deliveries.send(world, delivery, positions[: move.sent])
        case Fault.THROTTLED:
            return simulated_deliveries.send(
                world, delivery, [position for position in positions if position != move.sent]
            )
        case Fault.REPEATED:
            return simulated_deliveries.send(world, delivery, [*positions, move.sent])
    return simulated_deliveries.send(world, delivery, positions)


def _spend_fault(world: World, fault: Fault) -> None:
    left = world.left
    if fault in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER):
        world.left = replace(left, crashes=left.crashes - 1)
    elif fault is Fault.REPEATED:
        world.left = replace(left, repeats=left.repeats - 1)
    elif fault is Fault.FROZEN:
        world.left = replace(left, freezes=left.freezes - 1)
    elif fault is Fault.SPLIT:
        world.left = replace(left, splits=left.splits - 1)
    elif fault is not Fault.NONE:
        world.left = replace(left, throttles=left.throttles - 1)


def _repeatable_events(world: World) -> list[Event]:
    """Return the events that may arrive once more: running and completed ones."""
    return [*(delivery.event for delivery in world.running if not delivery.is_copy), *world.done]


def _distinct_events(events: list[Event]) -> dict[int, Event]:
    """Return the first position of each distinct event; equal events are one choice."""
    first: dict[Event, int] = {}
    for index, event in enumerate(events):
        first.setdefault(event, index)
    return {index: event for event, index in first.items()}
