"""Simulated deliveries: the real protocol code, run from one call of a port to the next.

A delivery is a pure function of its calls' answers, so it needs no thread. To find its next call, the simulator runs
the protocol code again from the beginning with the recorded answers. A suspended delivery is plain data, and a copy of
the world copies it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from unum_runtime import coroutines
from unum_runtime.errors import (
    ExecutionAlreadyExists,
    ExecutionDoesNotExist,
    ExecutionNotRedrivable,
    InvokeError,
    LeaseHeldError,
    NodeNotForkable,
    RefusedDelivery,
    SignalRefused,
    StoreError,
)
from unum_runtime.features.signals import signal, signal_by_key
from unum_runtime.functions.operations import failure_function
from unum_runtime.functions.operations.failure_function import GivenUp, no_code
from unum_runtime.json_text import parse_json
from unum_runtime.model.checkpoint import Ending, Item
from unum_runtime.model.delivery_record import Arrival
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.naming import Key, aside_key, start_key
from unum_runtime.model.pack import ENDS, entry
from unum_runtime.model.states import Json, Task
from unum_runtime.protocol.control.forks.fork import fork
from unum_runtime.protocol.control.nudge import nudge
from unum_runtime.protocol.control.operator_requests import Control, Request, parse
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_runtime.protocol.control.stop import stop as stop_execution
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.delivery.fusion import Fusion
from unum_runtime.protocol.requests import respond
from unum_runtime.protocol.runtime import Call, CallbackPending, Runtime
from unum_simulator import invariants
from unum_simulator.invariants import Broken, Invariant
from unum_simulator.recorded_calls import OWN, SENDS, Answer, End, Operation, Primitive, Progress
from unum_simulator.scenario import BEGUN_MS, Context
from unum_simulator.simulated_store import read_first, read_rest
from unum_simulator.surroundings import calling_programs, told_statuses
from unum_simulator.surroundings.copied_steps import record_of_fork
from unum_simulator.surroundings.redelivery import (
    TIMED_OUT,
    check_record,
    check_sent_again,
    check_tries,
    finish,
    redeliver,
    send_back,
)
from unum_simulator.surroundings.responders import check_answered, check_response
from unum_simulator.surroundings.signal_senders import check_heard, check_refused_signal, note_signal
from unum_simulator.world import Delivery, Event, Given, Hop, Record, World

LEASED_MS = 90_000
"""Lifetime of leases, which no thread renews here: long enough for waiters, and short enough for few looks."""

SHOWN = 160
"""Maximum length of a value in the log, in characters."""


class Suspended(BaseException):
    """The delivery's next call has no answer yet."""


class Diverged(Exception):
    """The code made another call after equal answers, so it depends on more than its ports."""


def _shared_call(primitive: Primitive, *, is_batch: bool = False) -> Callable[..., Any]:
    """Return the method for `primitive` of a port; a batch has one iterable argument."""

    def call(self: "Ports", *positional: Any, **named: Any) -> Any:
        # A pending call is shared by all copies of the world, so it must not contain an iterator, which works once.
        return self._shared(primitive, *map(tuple, positional) if is_batch else positional, **named)

    return call


class Ports:
    """Ports of one delivery, answered from its recorded history.

    Attributes:
        progress: the delivery's calls so far; extended by calls that concern this delivery alone.
    """

    def __init__(self, progress: Progress, own: Callable[[Operation], Answer]) -> None:
        self.progress = progress
        self._own_answer = own
        self._left = iter(progress.history)
        self._stopped: BaseException | None = None

    create = _shared_call(Primitive.CREATE)
    extend = _shared_call(Primitive.EXTEND)
    add = _shared_call(Primitive.ADD)
    acquire = _shared_call(Primitive.ACQUIRE)
    renew = _shared_call(Primitive.RENEW)
    release = _shared_call(Primitive.RELEASE)
    put = _shared_call(Primitive.PUT)
    replace = _shared_call(Primitive.REPLACE)
    announce = _shared_call(Primitive.ANNOUNCE)

    query = _shared_call(Primitive.QUERY)
    page = _shared_call(Primitive.PAGE)
    read = _shared_call(Primitive.READ, is_batch=True)
    get = _shared_call(Primitive.GET, is_batch=True)
    invoke = _shared_call(Primitive.INVOKE, is_batch=True)
    schedule = _shared_call(Primitive.SCHEDULE, is_batch=True)

    def collect(self, keys: Iterable[Key]) -> None:
        """See `Store.collect`; one call per key, because a crash may come between any two."""
        for key in keys:
            self._shared(Primitive.COLLECT, (key,))

    def now_ms(self) -> int:
        """See `Clock.now_ms`."""
        now_ms: int = self._own(Operation(Primitive.CLOCK, (), {}))
        return now_ms

    def call(self, call: Call, event: Json) -> Any:
        """See `Runtime.call`."""
        return self._own(Operation(Primitive.USER_CODE, (call, event), {}))

    def fuses(self, address: str, event: Envelope, task: Task) -> bool:
        """See `Runtime.fuses`."""
        return self._own(Operation(Primitive.FUSE, (address, event, task), {})) is not None

    def _shared(self, primitive: Primitive, *positional: Any, **named: Any) -> Any:
        known = self._known(primitive)
        if known is not None:
            return known.give()
        self.progress.pending = Operation(primitive, positional, named)
        self._stopped = Suspended()
        raise self._stopped

    def _own(self, operation: Operation) -> Any:
        known = self._known(operation.primitive)
        if known is not None:
            return known.give()
        self.progress.pending = operation.kept()
        try:
            answer = self._own_answer(operation)
        except BaseException as stopped:
            self._stopped = stopped
            raise
        self.progress = self.progress.after(answer)
        return answer.give()

    def _known(self, primitive: Primitive) -> Answer | None:
        """Return the recorded answer to the call, or None for a new call."""
        # Stay stopped: while the exception passes, `finally` blocks may call again, for example to release a lease.
        if self._stopped is not None:
            raise self._stopped
        answer = next(self._left, None)
        if answer is not None and answer.primitive is not primitive:
            raise Diverged(f"replayed calls: expected {answer.primitive} as in the recording, got {primitive}")
        return answer


class InjectedStoreError(StoreError):
    """Injected failure of the store, distinct from errors that the protocol raises."""


class InjectedInvokeError(InvokeError):
    """Injected failure of the invoker."""


class _BrokenInUserCode(BaseException):
    """An invariant broke inside user code's call.

    A BaseException: the protocol records every Exception of user code as the invocation's outcome.
    """

    def __init__(self, broken: Broken) -> None:
        self.broken = broken


class _TimedOut(BaseException):
    """User code exceeded the function's timeout."""


def begin(world: World, event: Event, *, is_copy: bool, skew_ms: int = 0) -> None:
    """Start a delivery of `event` in a sandbox with the clock error `skew_ms`, and run it up to its first call."""
    world.delivered += 1
    world.focus_on(event)
    hop, progress = world.hop_of(event), world.first_progress(world.delivered, event)
    delivery = Delivery(
        number=world.delivered,
        is_copy=is_copy,
        first_hop=hop,
        hop=hop,
        function=world.function_of(event),
        begun_ms=world.clock.ms,
        # Requests may only resend events without an outcome at this time; `check_requested` compares.
        committed=frozenset(world.records) if event.is_request or event.is_record else frozenset(),
        progress=progress,
        skew_ms=skew_ms,
        results=calling_programs.results(world),
    )
    if event.control == Control.REDRIVE:
        invariants.record_preserved(world)
    clock = f", its clock {skew_ms / 1000:+g} s" if skew_ms else ""
    world.say(delivery, lambda: f"starts{', as a duplicate' if is_copy else ''}{clock}")
    _run(world, delivery, progress)


def proceed(world: World, delivery: Delivery, answer: Answer, *, freezes: bool = False) -> None:
    """Answer the pending call of `delivery` and run it up to the next call, or to user code if it `freezes` there."""
    world.running.remove(delivery)
    world.focus_on(delivery.event)
    if freezes or delivery.part is not None:  # seldom, and a copy of each delivery takes a tenth of a search
        delivery = replace(delivery, part=None, freezes=freezes or delivery.freezes)
    _run(world, delivery, delivery.progress.after(answer))


def thaw(world: World, delivery: Delivery) -> None:
    """Let a frozen sandbox run user code."""
    world.running.remove(delivery)
    world.focus_on(delivery.event)
    world.say(delivery, lambda: "continues after it was frozen")
    _run(world, replace(delivery, freezes=False), delivery.progress)


def stop(world: World, delivery: Delivery) -> None:
    """Discard the sandbox of `delivery`; the platform redelivers the event."""
    world.running.remove(delivery)
    redeliver(world, delivery)


def apply(world: World, delivery: Delivery, *, repeated: bool = False) -> Answer:
    """Execute the pending store operation of `delivery` and return the answer.

    Args:
        world: the delivery's world.
        delivery: the delivery.
        repeated: True if the AWS client repeats the call and returns the second answer.

    Raises:
        Broken: the new content of the store breaks an invariant.
    """
    operation = delivery.pending
    world.focus_on(delivery.event)
    world.say(delivery, lambda: describe(operation))
    try:
        answer = Answer(operation.primitive, _call_store(world, delivery))
    except StoreError as error:
        return Answer(operation.primitive, error=error)
    try:
        _check(world, delivery, answer)
    except StoreError as error:
        raise Broken(Invariant.NO_LOST_WORK, f"committed data cannot be read: {error}") from error
    if repeated:
        answer = Answer(operation.primitive, _call_store(world, delivery))
    world.say(delivery, lambda: f"  answer: {_shorten(answer.value)}")
    return answer


def _call_store(world: World, delivery: Delivery) -> Any:
    """Return the store's value for the pending call; conditions on times use the sandbox's clock."""
    with world.clock.skewed(delivery.skew_ms):
        if delivery.part is not None:
            return read_rest(world.store, delivery.pending, delivery.part)
        return delivery.pending.on(world.store)


def split(world: World, delivery: Delivery, cut: int) -> None:
    """Read the first part of the pending read of `delivery`; the next call of `apply` reads the rest."""
    with world.clock.skewed(delivery.skew_ms):
        part = read_first(world.store, delivery.pending, cut)
    world.running[world.running.index(delivery)] = replace(delivery, part=part)


def _check(world: World, delivery: Delivery, answer: Answer) -> None:
    """Check the invariants after a successful store operation."""
    operation = delivery.pending
    if operation.primitive is Primitive.ANNOUNCE:
        told_statuses.check_event(world, *operation.positional)
    if told_statuses.is_unchecked(world, operation) or calling_programs.note_write(world, delivery, answer):
        return
    if operation.primitive is Primitive.CREATE:
        if answer.value is None:
            invariants.check_references(world, *operation.positional)
        key, item = operation.positional
        if key.sort == "start":
            _find_execution(world, delivery, answer.value or item)
        if answer.value is None:
            invariants.check_failure(world, delivery, key, item)
            if not delivery.event.is_request:  # a redrive or fork copies what was checked before
                check_answered(world, key, item)
                check_heard(world, key, item)
                check_record(world, delivery, key, item)
            invariants.record_creation(world, key, _record(world, delivery, key, item))
    # A pack's entry commits an outcome without a checkpoint of its own, so its record is derived from the entry.
    if operation.primitive is Primitive.EXTEND:
        _record_entry(world, delivery, *answer.value)
    if operation.primitive in (Primitive.CREATE, Primitive.EXTEND, Primitive.ADD):
        invariants.check_write(world, delivery, operation.positional[0])


def _find_execution(world: World, delivery: Delivery, item: Item) -> None:
    """Note the execution whose start record `item` was written or found by `delivery`."""
    event = delivery.event
    asked = _request_of(delivery).fork if event.control == Control.FORK else None
    name = calling_programs.run_of(world, delivery.pending.positional[0]) if event.call else event.execution
    world.find_execution(name or world.identity.name, item, asked)


def _record(world: World, delivery: Delivery, key: Key, item: Item) -> Record:
    """Return the record of a new item; a fork's copy keeps the origin's author and content."""
    is_unfinished = world.own.origin is not None and world.own.entry is None
    # A fork that died is finished by the next request about it, whatever it asks for.
    is_finished_by = delivery.event.control not in (None, Control.STOP) and is_unfinished
    if key.sort != "start" and (delivery.event.control == Control.FORK or is_finished_by):
        return record_of_fork(world, key, item)
    return Record(world.author(delivery.hop.event), item)


def _record_entry(world: World, delivery: Delivery, is_set: bool, pack: Item) -> None:  # noqa: FBT001 - the answer
    """Record the outcome that a pack's new entry gives its branch."""
    key, slot = delivery.pending.positional[0], ENDS.index(delivery.pending.named["unless"])
    found = entry(key, pack, slot, world.identity) if is_set else None
    if found is not None:
        own, item = found
        if item is not None:
            check_record(world, delivery, own, item)
        aside = world.records.get(aside_key(own))
        record = aside if item is None else Record(world.author(delivery.hop.event), item)
        if record is None:
            raise Broken(Invariant.CONSISTENT, f"{key}: refers to an outcome set aside at {own}, which does not exist")
        invariants.record_creation(world, own, record)


def send(world: World, delivery: Delivery, chosen: Sequence[int]) -> Answer:
    """Accept the sent events at the positions `chosen`, once for each mention.

    Raises:
        Broken: an event may outlive its data, or is an unexpected retry.
    """
    for position, (_, payload, *due_ms) in enumerate(delivery.pending.positional[0]):
        event = Event.of(payload, world.clock.ms, *due_ms)
        is_accepted = position in chosen
        world.say(delivery, partial(_describe_sending, world, delivery, event, is_accepted=is_accepted))
        invariants.check_retry(world, delivery, event)
        check_tries(world, delivery, event)
        invariants.check_requested(world, delivery, event)
        check_sent_again(world, delivery, event)
        invariants.check_input(world, event)
        for _ in range(chosen.count(position)):
            world.waiting.append(event)
            world.record_poll(event)
    invariants.check_expiry(world)
    return Answer(delivery.pending.primitive)


def refusal(operation: Operation) -> Answer:
    """Return the platform's error answer to `operation`."""
    kind = InjectedInvokeError if operation.primitive in SENDS else InjectedStoreError
    return Answer(operation.primitive, error=kind(f"{operation.primitive}: the platform failed"))


def describe(operation: Operation) -> str:
    """Return a log text for `operation`."""
    return f"{operation.primitive} {' '.join(_shorten(value) for value in operation.positional)}"


def _run(world: World, delivery: Delivery, progress: Progress) -> None:
    """Run `delivery` from `progress` to its next shared call, its end, or its timeout."""
    own = _OwnCalls(world, delivery)
    try:
        with world.clock.skewed(delivery.skew_ms):
            progress = _advance(progress, own)
    except _TimedOut:
        world.say(delivery, lambda: "is killed at the function's timeout")
        redeliver(world, delivery, TIMED_OUT)
        return
    except _BrokenInUserCode as found:
        raise found.broken from None
    if isinstance(progress.pending, End):
        _end(world, delivery, progress.pending)
    else:
        world.running.append(replace(own.delivery, progress=progress))


def _advance(progress: Progress, own: "_OwnCalls") -> Progress:
    """Return the progress at the next call that deliveries share, or at the end."""
    while isinstance(progress.pending, Operation) and progress.pending.primitive in OWN:
        try:
            progress = progress.after(own(progress.pending.kept()))
        except Suspended:  # frozen
            return progress
    if progress.pending is not None:
        return progress
    ports = Ports(progress, own)
    try:
        end = End(_run_protocol(own.world, own.delivery, ports))
    except Suspended:  # the next run replays the recorded answers from the beginning, up to this call
        return ports.progress
    except Exception as error:  # noqa: BLE001 - `_end` distinguishes the errors
        end = End(error=error)
    ports.progress.pending = end
    return ports.progress


def _end(world: World, delivery: Delivery, end: End) -> None:
    match end.error:
        case None:
            _check_answer(world, delivery, end.answer)
            text, follow = "succeeds", finish
        case InjectedStoreError() as error:
            text, follow = f"fails: {error}", partial(redeliver, error=StoreError.__name__)
        case InjectedInvokeError() as error:
            text, follow = f"fails: {error}", partial(redeliver, error=InvokeError.__name__)
        case LeaseHeldError() as held:
            text, follow = f"is rejected for redelivery: {held}", partial(send_back, error=type(held).__name__)
        case RefusedDelivery() | ExecutionNotRedrivable() | NodeNotForkable() | ExecutionAlreadyExists() as refused if (
            not delivery.event.call
        ):  # no reason to refuse a call
            text, follow = f"is refused: {refused}", finish
            if isinstance(refused, NodeNotForkable) and world.focus is not None and world.own.entry is None:
                world.note(is_dead=world.own.origin is not None)
        case SignalRefused() as refused:
            check_refused_signal(world, delivery, refused)
            text, follow = f"is refused: {refused}", finish
        case ExecutionDoesNotExist() as unknown if not _is_stored(world, _request_of(delivery).execution):
            text, follow = f"gets the answer: {unknown}", finish
        case InvokeError() as error if delivery.event.is_record:  # redelivered too often: the record shows it
            text, follow = f"fails: {error}", partial(redeliver, error=InvokeError.__name__)
        case error:
            raise Broken(
                Invariant.NO_LOST_WORK, f"{delivery} fails, like every redelivery: {type(error).__name__}: {error}"
            ) from error
    world.say(delivery, lambda: text)
    follow(world, delivery)


def _is_stored(world: World, name: str) -> bool:
    """Return True if the execution's start record has not expired."""
    return bool(world.store.read([start_key(world.scenario.workflow.name, name)]))


@dataclass
class _OwnCalls:
    """Answers to calls that concern one delivery alone: clock, user code and fusion.

    Attributes:
        world: the delivery's world.
        delivery: the delivery, updated when fusion adds a hop.
    """

    world: World
    delivery: Delivery

    def __call__(self, operation: Operation) -> Answer:
        """Return the answer to `operation`."""
        try:
            return Answer(operation.primitive, self._value(operation))
        except Exception as error:  # noqa: BLE001 - the protocol handles every error of user code
            return Answer(operation.primitive, error=error, frames=error.__traceback__)

    def _value(self, operation: Operation) -> Any:
        match operation.primitive:
            case Primitive.CLOCK:
                return self.world.clock.now_ms()
            case Primitive.USER_CODE if self.delivery.freezes:
                raise Suspended
            case Primitive.USER_CODE:
                return _run_user_code(self.world, self.delivery, *operation.positional)
        hop = _fuse(self.world, self.delivery, *operation.positional)
        if hop is not None:
            self.delivery = replace(self.delivery, hop=hop)
        return hop


def _fuse(world: World, delivery: Delivery, address: str, ahead: Envelope, task: Task) -> Hop | None:
    """Return the next hop if `delivery` may continue with the event `ahead` in its own sandbox, or None."""
    if not world.scenario.fusion or delivery.function is None:
        return None
    timeout_ms = world.scenario.timeout_s * 1000
    fusion = Fusion(delivery.function, lambda: timeout_ms - (world.clock.ms - delivery.begun_ms), timeout_ms)
    if not fusion(address, ahead, task):
        return None
    event = Event.of(ahead.to_bytes(), world.clock.ms)
    world.say(delivery, lambda: f"continues in the same sandbox with {event}")
    return world.hop_of(event)


def _run_protocol(world: World, delivery: Delivery, ports: Ports) -> Ending | Json:
    """Run the protocol code; return the ending that a stop request reports, or the answer to a responder."""
    scenario = world.scenario
    runtime = Runtime(
        workflow=scenario.workflow,
        store=scenario.protocol_store(ports, ports),
        invoker=ports,
        timer=ports,
        clock=ports,
        call=ports.call,
        hosts=frozenset(scenario.routes),
        routes=scenario.routes,
        retention_s=scenario.retention_s,
        result_retention_s=scenario.result_retention_s,
        collection=scenario.collection,
        delivery=delivery.id,
        arrival=Arrival(BEGUN_MS),  # the code must depend on nothing but its calls
        new_secret=lambda: f"{delivery.id}s",
        remaining_ms=lambda: LEASED_MS,
        fuses=ports.fuses,
        most_begun=scenario.most_begun,
        statuses=told_statuses.statuses(delivery, ports) if scenario.announces else None,
    )
    if delivery.event.control == Control.NUDGE:
        nudge(runtime, delivery.event.execution, silent_ms=_request_of(delivery).silent_ms)
    elif delivery.event.control == Control.REDRIVE:
        redrive(runtime, delivery.event.execution)
    elif delivery.event.control == Control.FORK:
        asked = _request_of(delivery).fork
        assert asked is not None  # noqa: S101 - `parse` returns the details of every fork
        fork(runtime, asked)
    elif delivery.event.control == Control.STOP:
        return stop_execution(runtime, world.identity, _request_of(delivery).failure).ending
    elif delivery.event.signal:
        asked = parse_json(delivery.event.payload)
        return signal_by_key.send(runtime, asked).to_json() if scenario.by_key else signal.answer(runtime, asked)
    elif delivery.event.call:
        own = replace(runtime, hosts=frozenset(), call=no_code, fuses=None)
        return calling_programs.answer(own, parse_json(delivery.event.payload))
    elif delivery.event.token:
        return respond.answer(runtime, parse_json(delivery.event.payload))
    elif delivery.event.is_record:
        handler = replace(runtime, hosts=frozenset(), call=no_code, fuses=None)
        failure_function.recover(handler, GivenUp.from_record(parse_json(delivery.event.payload)))
    elif delivery.event.envelope is None:
        scenario.entry(runtime, delivery.event.execution, parse_json(delivery.event.payload))
    else:
        # Parsed anew for each run of the code, because user code may change its event.
        step(runtime, Envelope.from_json(parse_json(delivery.event.payload)))
    return None


def _request_of(delivery: Delivery) -> Request:
    """Return the request that `delivery` handles."""
    return parse(parse_json(delivery.event.payload))


def _check_answer(world: World, delivery: Delivery, answer: Any) -> None:
    """Check the answer to a request."""
    _check_stop_answer(world, delivery, answer)
    if delivery.event.token:
        check_response(world, delivery, answer)
    if delivery.event.signal:
        note_signal(world, delivery)
    if delivery.event.call:
        calling_programs.check_answer(world, delivery, answer)


def _check_stop_answer(world: World, delivery: Delivery, ending: Ending | None) -> None:
    if delivery.event.control != Control.STOP:
        return
    # A redrive may have replaced the reported ending.
    was_redriven = world.left.redrives < world.scenario.faults.redrives
    if ending != world.ending and not was_redriven:
        raise Broken(Invariant.ONE_RESULT, f"a stop request reported {ending}, but the ending is {world.ending}")


def _run_user_code(world: World, delivery: Delivery, call: Call, event: Json) -> Any:
    invocation = world.own_name(delivery.hop.event)
    assert invocation is not None  # noqa: S101 - user code runs only after the start record was written
    work = (invocation, call.state)
    run = world.runs.get(work, 0)
    world.runs = world.runs.plus(work, run + 1)
    world.say(delivery, lambda: f"user code of {call.state} with {_shorten(event)}")
    try:
        invariants.check_user_code(world, delivery, call, event)
        calling_programs.check_user_code(world, delivery)
    except Broken as broken:
        raise _BrokenInUserCode(broken) from None
    until_ms = delivery.begun_ms + world.scenario.timeout_s * 1000
    context = Context(call, run, world.clock, call.function, str(delivery.event), until_ms)
    issued = Given(invocation, call.state, call.attempt)
    try:
        returned = coroutines.finish(world.scenario.handler(call.state)(event, context))
        issued = issued._replace(is_answered=not isinstance(returned, CallbackPending))
        return returned
    finally:
        if call.token:
            world.tokens = world.tokens.plus(call.token, issued)
        # Also after an exception: Lambda kills the sandbox before the runtime could commit the failure.
        if world.clock.ms - delivery.begun_ms > world.scenario.timeout_s * 1000:
            raise _TimedOut


def _describe_sending(world: World, delivery: Delivery, event: Event, *, is_accepted: bool) -> str:
    when = f" in {(event.ready_ms - world.clock.ms) / 1000:g} s" if event.ready_ms else ""
    return f"{delivery.pending.primitive} {event}{when}{'' if is_accepted else ': not accepted'}"


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"
