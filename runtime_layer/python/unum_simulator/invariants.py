"""Invariants that hold under every platform fault, numbered as in the design.

Values are traced by stamps: user code of a test puts a text under `STAMP` into its result that no other run produces.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum

from unum_client.reading import stored_steps
from unum_runtime.aws.embedded_metrics import THROTTLED
from unum_runtime.errors import StatesError
from unum_runtime.features.memo.memo_keys import memo_partition_prefix
from unum_runtime.features.signals.mailbox import kept_partition, listeners_partition
from unum_runtime.functions.operations.failure_function import TRANSIENT
from unum_runtime.functions.operations.throttled_events import MOST_MS
from unum_runtime.json_text import parse_json, to_text
from unum_runtime.model.checkpoint import Checkpoint, Ending, Item, Status, Success, read_start_record
from unum_runtime.model.delivery_record import MOST_ERROR
from unum_runtime.model.envelope import Envelope, Stored
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import (
    START_STEP,
    Execution,
    Key,
    Name,
    checkpoint_key,
    execution_partition,
    job_partition,
    start_key,
)
from unum_runtime.model.states import Guard, Json
from unum_runtime.protocol.control.operator_requests import Control
from unum_runtime.protocol.control.stop import notes_partition
from unum_runtime.protocol.control.walk import is_cursor
from unum_runtime.protocol.planning.plan import is_start
from unum_runtime.protocol.runtime import DEADLINE_MARGIN_S, Call, JobPending
from unum_runtime.protocol.waiting.callback import is_nudge
from unum_runtime.store.large_items import references, resolve
from unum_simulator.expected_commits import Due, deadline_ms, due_retry, explains, same_json
from unum_simulator.faults import RUN_S, tolerance_ms
from unum_simulator.observed import Author, Observed, Past, Place, Preserved
from unum_simulator.recorded_calls import Answer, Primitive
from unum_simulator.reference import Reference, Unexplained
from unum_simulator.world import Delivery, Event, Record, Work, World

LONGEST_MS = 10**12
"""Upper bound of every wait."""


class Invariant(Enum):
    """Guarantees of the runtime: (number, name)."""

    ONE_RESULT = (1, "one result")
    CONSISTENT = (2, "consistent")
    NO_LOST_WORK = (3, "no lost work")
    NO_RERUN = (4, "no re-run after commit")
    NOTHING_LEAKS = (5, "nothing leaks")
    SAME_VIEW = (7, "same view as in a failure-free run")
    STOPPED = (8, "nothing starts after a stop")
    OWN_HISTORY = (9, "no mixed histories")
    SHARED = (10, "equal calls share a run")
    ANNOUNCED = (11, "one status event for each change")

    def __str__(self) -> str:
        number, name = self.value
        return f"invariant {number} ({name})"


class Broken(Exception):
    """A violated invariant.

    Attributes:
        invariant: the invariant.
        detail: observed contradiction.
    """

    def __init__(self, invariant: Invariant, detail: str) -> None:
        self.invariant = invariant
        self.detail = detail
        super().__init__(f"{invariant}: {detail}")


def check_write(world: World, delivery: Delivery, key: Key) -> None:
    """Raise Broken after a second execution, a changed result, a misplaced item, or an item that expires early."""
    _check_place(world, delivery, key)
    check_expiry(world)
    _forget_ending(world, delivery)
    check_result(world)


def record_creation(world: World, key: Key, record: Record) -> None:
    """Record an item's first content at `key`; raise Broken if `key` had other content before."""
    before = world.records.get(key)
    is_expired = key.sort == "start" and world.identity.started_ms > int(before.item["at"]) if before else False
    # A sender takes listeners out that wait no more; a late delivery of their wait enters them again.
    is_entry = key.partition in _partitions(world, listeners_partition)
    if before is None or is_expired or is_entry:
        world.records = world.records.plus(key, record)
    elif before.item != record.item:
        raise Broken(Invariant.CONSISTENT, f"{key}: a second outcome {record.item} was committed after {before.item}")


def check_references(world: World, key: Key, item: Item) -> None:
    """Raise Broken unless all objects of a new `item` at `key` exist and live as long as the item."""
    expires_at_s = dict(world.store.expiries())[key]
    for _, reference in references(item):
        until_s = world.store.object_expiry(reference)
        if not until_s:
            raise Broken(Invariant.NO_LOST_WORK, f"{key} refers to {reference}, which does not exist")
        if until_s < expires_at_s:
            raise Broken(Invariant.NO_LOST_WORK, f"{key} refers to {reference}, which expires earlier")


def check_input(world: World, event: Event) -> None:
    """Raise Broken unless all objects of a sent `event` exist until after its last delivery."""
    source = None if event.envelope is None else event.envelope.input
    if not isinstance(source, Stored):
        return
    for reference in filter(None, (source.value, source.variables)):
        if world.store.object_expiry(reference) < event.until_s(world.scenario.retention_s) + RUN_S:
            raise Broken(Invariant.NO_LOST_WORK, f"{event} refers to {reference}, which is absent or expires too early")


def record_preserved(world: World) -> None:
    """Record the successes in a failed fan-out at its first redrive request, which redrives must preserve.

    Only the fan-out's last attempt counts, and only if no other attempt would have followed.
    """
    steps = [*_stored_steps(world)]
    inside = [checkpoint for checkpoint in steps if checkpoint.name.frames]
    end = max((checkpoint.name.step for checkpoint in steps if not checkpoint.name.frames), default=0)
    last = max((_try(checkpoint.name) for checkpoint in inside), default=(0, 0))
    if world.ending is not None and world.own.preserved.iteration < last[0] == end:  # the execution failed in a fan-out
        names = (checkpoint.name for checkpoint in inside if isinstance(checkpoint.outcome, Success))
        again = end + 2  # the redrive's own commit takes one step
        world.note(preserved=Preserved(last[0], again, frozenset(_place(name) for name in names if _try(name) == last)))


def check_requested(world: World, delivery: Delivery, event: Event) -> None:
    """Raise Broken if a request sends `event` for an invocation that had an outcome when the request started.

    The same holds for retries by the failure handler, which fails only an invocation without an outcome.
    """
    if not delivery.committed or event.envelope is None:
        return
    if delivery.event.is_record and not _is_failed_by(delivery, event.envelope):
        return
    if checkpoint_key(world.scenario.workflow.name, event.envelope.name) in delivery.committed:
        raise Broken(Invariant.NO_RERUN, f"{delivery} sends {event}, although its outcome was already committed")


def _is_failed_by(delivery: Delivery, sent: Envelope) -> bool:
    """Return True if `sent` repeats the invocation of a failure record, whose user code failed or never ran."""
    failed, error = delivery.event.envelope, delivery.event.error
    return failed is not None and failed.name == sent.name and error not in TRANSIENT


def check_failure(world: World, delivery: Delivery, key: Key, item: Item) -> None:
    """Raise Broken if the failure handler commits a failure of the runtime or platform before the last moment.

    User code did not fail then, so it is no outcome of the Task.
    """
    failures = {parse_json(str(item[field])) for field in ("error", "caught_error") if field in item}
    last_ms = (world.identity.started_ms // 1000 + world.scenario.retention_s - DEADLINE_MARGIN_S) * 1000
    last_ms = min(last_ms, deadline_ms(world.scenario.workflow, world.identity) or last_ms)
    early = {THROTTLED} if world.clock.ms + MOST_MS + tolerance_ms(world.scenario.faults) < last_ms else set()
    if delivery.event.is_record and not (TRANSIENT | early).isdisjoint(failures):
        raise Broken(Invariant.CONSISTENT, f"{delivery} commits {failures} at {key}, but user code did not fail")


def check_result(world: World) -> None:
    """Raise Broken unless the execution keeps its result, and a failure-free run could have it."""
    ending = _ending(world)
    if ending is None and world.ending is not None:
        raise Broken(Invariant.ONE_RESULT, f"the execution ended with {world.ending}, and now runs again")
    if ending is None:
        return
    if world.ending is None:
        world.note(ending=ending)
        check_consistent(world)
    elif ending != world.ending:
        raise Broken(Invariant.ONE_RESULT, f"the execution ended with {world.ending}, and now with {ending}")


def check_consistent(world: World) -> None:
    """Raise Broken unless a failure-free run with the committed outcomes has the execution's ending.

    For a stopped execution, no other committed outcome may end it.
    """
    if world.ending is None or _ending(world) is None:
        return
    _, expected = _failure_free_run(world)
    if world.is_stopped:
        ends = [
            key
            for key, record in world.records.items()
            if "status" in record.item and _is_own(world, key) and not _is_redriven(world, key)
        ]
        if len(ends) > 1:
            raise Broken(Invariant.ONE_RESULT, f"the execution was stopped, but has several ends: {ends}")
        return
    if expected is None or not _is_same(expected, world.ending):
        raise Broken(
            Invariant.CONSISTENT, f"the execution ended with {world.ending}, but a failure-free run with {expected}"
        )


def _is_redriven(world: World, key: Key) -> bool:
    """Return True if a redrive followed the execution's end at `key`."""
    following = Name(world.identity, (), int(key.sort) + 1)  # only top-level steps end an execution
    return checkpoint_key(world.scenario.workflow.name, following) in world.records


def check_user_code(world: World, delivery: Delivery, call: Call, event: Json) -> None:
    """Raise Broken unless user code may run now, and sees the event of a failure-free run."""
    name = world.own_name(delivery.hop.event)
    assert name is not None  # noqa: S101 - user code runs only after the start record was written
    if delivery.function not in (None, call.function):
        raise Broken(Invariant.SAME_VIEW, f"{delivery}: code of {call.function} runs in {delivery.function}")
    is_guarded = world.scenario.workflow.task(call.state).guard is not Guard.COMMIT
    if delivery.hop.was_committed and is_guarded:
        raise Broken(Invariant.NO_RERUN, f"{delivery} runs user code, although its outcome was already committed")
    if delivery.hop.was_stopped and is_guarded:
        raise Broken(Invariant.STOPPED, f"{delivery} runs user code, although the execution was already stopped")
    if delivery.hop.was_polled and call.job is None:
        raise Broken(Invariant.NO_RERUN, f"{delivery} starts a job, although polling of one had already begun")
    if name.frames and _is_preserved(world, name):
        raise Broken(Invariant.NO_RERUN, f"{delivery} runs user code that already succeeded before the redrive")
    reference, _ = _failure_free_run(world)
    # Without a committed predecessor, another delivery may still commit another outcome for it, and win.
    if (name, call.state) not in reference.unsettled:
        _check_view(world, reference, delivery, call, event)
        _check_same_input(world, reference, delivery, (name, call.state))
    if unknown := unknown_stamps(world, event):
        raise Broken(Invariant.OWN_HISTORY, f"{delivery} sees {unknown}, which its execution has not committed")
    _check_idempotency_key(world, (name, call.state), call.idempotency_key)


def check_retry(world: World, delivery: Delivery, event: Event) -> None:
    """Raise Broken unless a retrier or user code asked `delivery` for the retry `event` at this time."""
    answers = _answers_of_hop(delivery.progress.history)
    tried = [position for position, answer in enumerate(answers) if answer.primitive is Primitive.USER_CODE]
    if not tried or event.envelope is None or event.envelope.name != world.own_name(delivery.hop.event):
        return
    if is_nudge(event.envelope.job):  # continues from a responder's result, although user code failed
        return
    since_ms = [answer.value for answer in answers[tried[-1] :] if answer.primitive is Primitive.CLOCK]
    due = _expected_retry(world, delivery, event.envelope, answers[tried[-1]])
    deadline = deadline_ms(world.scenario.workflow, event.envelope.name.execution)
    now_ms = world.clock.ms + delivery.skew_ms
    ready_ms = event.ready_ms or now_ms
    # The failure's exact time is unknown: it lies between the last clock reading and now.
    due_ms = due.nearest_ms(ready_ms, (min(since_ms), now_ms), deadline)
    is_overdue = not event.ready_ms and due_ms < ready_ms  # an overdue attempt is sent at once
    if due.retries != event.retries or not (due_ms == ready_ms or is_overdue):
        raise Broken(Invariant.CONSISTENT, f"{delivery} sends the retry {event.retries}, expected {due}")


def _answers_of_hop(answers: Sequence[Answer]) -> Sequence[Answer]:
    """Return the answers that belong to the delivery's current hop."""
    fused = (number for number, answer in enumerate(answers, 1) if answer.primitive is Primitive.FUSE and answer.value)
    return answers[max(fused, default=0) :]


def check_end(world: World) -> Ending:
    """Return the execution's ending in a world without pending events; raise Broken if it has not ended."""
    check_consistent(world)
    if world.ending is None:
        raise Broken(Invariant.NO_LOST_WORK, "the execution has not ended, although no event is left")
    _check_collected(world)
    return world.ending


def _check_collected(world: World) -> None:
    """Check that `Collection.EAGER` keeps only input and result; faults and redrives may leave items to expire."""
    left, faults = world.left, world.scenario.faults
    if world.scenario.collection is not Collection.EAGER or left.failures < faults.failures:
        return
    if left.redrives < faults.redrives:
        return
    workflow = world.scenario.workflow
    last = stored_steps.last_step(world.view, workflow.name, world.identity)
    result = last and checkpoint_key(workflow.name, last.name)
    # Slots of signals stay until they expire, so that a repeated signal is known.
    slots = ("token:",) if world.scenario.signals else ()
    own = (key for key in world.store.uncollected() if _is_own(world, key) and not key.partition.startswith(slots))
    if kept := [key for key in own if key != result]:
        raise Broken(Invariant.NOTHING_LEAKS, f"the execution has ended, but these keys were not collected: {kept}")


def _check_view(world: World, reference: Reference, delivery: Delivery, call: Call, event: Json) -> None:
    name = world.own_name(delivery.hop.event)
    visit = name and reference.visits.get(name)
    if not visit or visit.task.name != call.state:
        raise Broken(Invariant.SAME_VIEW, f"{name}: user code runs, but no failure-free run reaches it")
    if world.clock.ms < (visit.due_ms or 0) - tolerance_ms(world.scenario.faults):
        raise Broken(Invariant.SAME_VIEW, f"{name}: user code runs before its due time {visit.due_ms}")
    alone = visit.event(delivery.hop.event.retries, world.clock.now_ms(), call.token)
    if not same_json(alone, event):
        raise Broken(
            Invariant.SAME_VIEW, f"{name}: user code sees {to_text(event)}, in a failure-free run {to_text(alone)}"
        )


def _check_same_input(world: World, reference: Reference, delivery: Delivery, work: Work) -> None:
    """Raise Broken if committed outcomes determine another input now than for an earlier run of the same attempt."""
    if world.scenario.least_bytes is not None:
        return  # objects are compared where they are read: a changed one gives another result
    tried = (work, delivery.hop.event.retries)
    view = to_text(reference.visits[work[0]].event(tried[1], 0, "token"))
    before = world.inputs.get(tried)
    if before is None:
        world.inputs = world.inputs.plus(tried, view)
    elif before != view:
        raise Broken(Invariant.SAME_VIEW, f"{work}: the committed input changed from {before} to {view}")


def _forget_ending(world: World, delivery: Delivery) -> None:
    """Forget the ending if a redrive resumed the execution."""
    if delivery.event.control == Control.REDRIVE and world.ending is not None and _ending(world) is None:
        world.note(ending=None)


def _stored_steps(world: World) -> Iterator[Checkpoint]:
    """Yield all stored steps."""
    return stored_steps.steps(world.view, world.scenario.workflow.name, world.identity)


def _is_preserved(world: World, name: Name) -> bool:
    """Return True if `name` succeeded before the redrive; a later retry of the whole fan-out preserves nothing."""
    return _try(name) == (world.own.preserved.again, 0) and _place(name) in world.own.preserved.places


def _try(name: Name) -> tuple[int, int]:
    """Return iteration and generation of the outermost fan-out around `name`."""
    return name.frames[0].iteration, name.frames[0].generation


def _place(name: Name) -> Place:
    """Return the position of `name` in its outermost fan-out."""
    outermost, *inside = name.frames
    return outermost.index, tuple((frame.state, frame.iteration, frame.index) for frame in inside), name.step


def _expected_retry(world: World, delivery: Delivery, again: Envelope, answer: Answer) -> Due:
    """Return the retry that must follow user code's `answer`."""
    if isinstance(answer.value, JobPending):
        return Due(delivery.hop.event.retries, answer.value.delay_ms, answer.value.delay_ms)
    error = answer.error.error if isinstance(answer.error, StatesError) else type(answer.error).__name__
    due = due_retry(world.scenario.workflow.task(again.state), error, delivery.hop.event.retries)
    if answer.error is None:  # the failure came after user code and is unknown here
        return Due(again.retries, 0, LONGEST_MS)
    if due is None or (again.tries and again.tries[-1].error != error[:MOST_ERROR]):
        raise Broken(Invariant.CONSISTENT, f"{delivery} sends a retry for {again.tries}, but {error} calls for {due}")
    return due


def _check_idempotency_key(world: World, work: Work, key: str) -> None:
    seen = world.idempotency_keys.get(work)
    if seen is None:
        world.idempotency_keys = world.idempotency_keys.plus(work, key)
    elif seen != key:
        raise Broken(Invariant.SAME_VIEW, f"{work}: the idempotency key changed from {seen} to {key}")
    others = [other for other, used in world.idempotency_keys.items() if used == key and other != work]
    if others:
        raise Broken(Invariant.SAME_VIEW, f"{work}: {others[0]} has the same idempotency key {key}")


def _check_place(world: World, delivery: Delivery, key: Key) -> None:
    if key == _own_start_key(world):
        return
    if key.sort == "start":
        raise Broken(Invariant.ONE_RESULT, f"{delivery} starts another execution: {key.partition}")
    if not _is_own(world, key) and not _is_shared(world, key):
        raise Broken(Invariant.NOTHING_LEAKS, f"{delivery} writes {key}, which does not belong to the execution")


def _is_own(world: World, key: Key) -> bool:
    own = execution_partition(world.scenario.workflow.name, world.identity)
    if key.partition == notes_partition(world.scenario.workflow.name, world.identity.name):
        return True
    # Shards and packs have partitions below the execution's. Long keys are hashed (`#`), so their execution is unknown.
    waiting = job_partition(world.scenario.workflow.name, "")
    return key.partition == own or key.partition.startswith((f"{own}/", "#", waiting))


def _is_surely_own(world: World, key: Key) -> bool:
    """Return True if `key` tells that it belongs to the execution in focus."""
    own = execution_partition(world.scenario.workflow.name, world.identity)
    return key.partition == own or key.partition.startswith(f"{own}/") or key == _own_start_key(world)


def _own_start_key(world: World) -> Key:
    return start_key(world.scenario.workflow.name, world.identity.name)


def _execution_of(world: World, event: Event) -> Execution | None:
    """Return the execution that a delivery of `event` works on; None before its start record."""
    return world.latest(event.execution) if event.envelope is None else event.envelope.name.execution


def _is_shared(world: World, key: Key) -> bool:
    """Return True for a memoized result, which executions share and never collect."""
    prefixes = tuple(memo_partition_prefix(each) for each in (world.scenario.workflow.name, ""))
    return key.partition.startswith(prefixes)


def check_expiry(world: World) -> None:
    """Raise Broken unless every item but cursors and kept signals outlives the last delivery of every event."""
    brief = _partitions(world, kept_partition)
    deliveries = (delivery.event for delivery in world.running)
    events = [*world.waiting, *world.done, *deliveries]
    is_only = len(world.observed) <= 1
    if not is_only:
        events = [event for event in events if world.focus is not None and _execution_of(world, event) == world.focus]
    last_s = max((event.until_s(world.scenario.retention_s) for event in events), default=0)
    for key, expires_at_s in world.store.expiries():
        is_brief = key.partition in brief or (world.scenario.calls and _is_shared(world, key))
        if is_cursor(key) or is_brief:  # a result may live as short as a user likes
            continue
        # A delivery that starts at the event's deadline still reads items for up to RUN_S.
        if expires_at_s < last_s + RUN_S and (is_only or _is_surely_own(world, key)):
            early_s = last_s + RUN_S - expires_at_s
            raise Broken(
                Invariant.NOTHING_LEAKS,
                f"{key} expires {early_s} s before the end of an event's last delivery",
            )


def _partitions(world: World, of: Callable[[str, str, str], str]) -> set[str]:
    """Return the partition that `of` gives for each kind of signal of the scenario."""
    return {of(world.scenario.workflow.name, name, key) for name, key in world.scenario.signals}


def _ending(world: World) -> Ending | None:
    return world.focus and stored_steps.ending(world.view, world.scenario.workflow.name, world.focus)


def _is_same(expected: Ending, found: Ending) -> bool:
    is_late = expected.status is Status.TIMED_OUT
    return is_late == (found.status is Status.TIMED_OUT) and explains(expected.outcome, found.outcome)


def _failure_free_run(world: World) -> tuple[Reference, Ending | None]:
    """Return the reference run with the current commits, and its ending.

    Worlds with equal records share the run, except with objects, because records contain only their names.
    """
    state = hash((world.records.digest, world.focus))
    known = world.failure_free.get(state)
    if known is not None and world.scenario.least_bytes is None:
        return known
    reference = Reference(world.scenario.workflow, world.identity, _read_past(world))
    try:
        found = reference, reference.run(world.own.value)
    except Unexplained as error:
        raise Broken(Invariant.CONSISTENT, str(error)) from None
    world.failure_free[state] = found
    return found


def _read_past(world: World) -> Past:
    """Return the committed history."""
    workflow = world.scenario.workflow

    def found(name: Name) -> Checkpoint | None:
        record = world.records.get(checkpoint_key(workflow.name, name))
        if record is None:
            return None
        item = resolve(record.item, world.store.get)
        return read_start_record(name.execution.name, item) if is_start(name) else Checkpoint.from_item(name, item)

    def committed(name: Name) -> Checkpoint | None:
        checkpoint = found(name)
        return None if checkpoint is None or checkpoint.is_stop else checkpoint

    def stopped(name: Name) -> Checkpoint | None:
        checkpoint = found(name)
        return checkpoint if checkpoint is not None and checkpoint.is_stop else None

    def author(name: Name) -> Author:
        return world.records[checkpoint_key(workflow.name, name)].author

    tolerance = tolerance_ms(world.scenario.faults)
    own = world.own
    return Past(
        committed,
        stopped,
        author,
        world.scenario.retention_s,
        tolerance,
        is_fork=own.origin is not None,
        is_given=own.fork is not None and own.fork.value is not None,
        entry=own.entry,
        secret=getattr(found(Name(world.identity, (), START_STEP)), "secret", ""),
    )


STAMP = "stamp"


def stamps(value: Json) -> Iterator[str]:
    """Yield all stamps in `value`, nested ones included."""
    if isinstance(value, dict):
        if STAMP in value:
            yield value[STAMP]
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from stamps(each)


def unknown_stamps(world: World, event: Json) -> list[str]:
    """Return the stamps in `event` that no commit of the execution in focus contains, and not its input either."""
    found = set(stamps(event))
    if not found:
        return []
    known = [to_text(world.own.value), *_committed(world, world.own)]
    return sorted(stamp for stamp in found if not any(stamp in text for text in known))


def _committed(world: World, seen: Observed) -> Iterator[str]:
    own = execution_partition(world.scenario.workflow.name, seen.execution)
    for key, record in world.records.items():
        if key.partition == own or key.partition.startswith(f"{own}/"):
            yield str(record.item.get("value", ""))
    # The request for a fork may give the input of its first own step.
    if seen.fork is not None and seen.fork.value is not None:
        yield seen.fork.value.text
