"""What must hold whatever the platform does; numbered as in the design."""

from collections.abc import Iterator, Sequence
from enum import Enum

from unum_runtime.client.reading import stored_steps
from unum_runtime.errors import StatesError
from unum_runtime.model.checkpoint import Checkpoint, Ending, Item, Status, Success, to_text
from unum_runtime.model.envelope import Envelope, Stored
from unum_runtime.model.ir import Collection, Guard, Json
from unum_runtime.model.naming import Key, Name, checkpoint_key, execution_partition, job_partition, memo_key
from unum_runtime.protocol.control.operator_requests import Control
from unum_runtime.protocol.runtime import Call, JobPending
from unum_runtime.simulator.committed_past import Author, Past
from unum_runtime.simulator.comparison import explains, same_json
from unum_runtime.simulator.expected_recovery import Due, deadline_ms, due_retry
from unum_runtime.simulator.faults import RUN_S
from unum_runtime.simulator.recorded_calls import Answer, Primitive
from unum_runtime.simulator.reference import Reference, Unexplained
from unum_runtime.simulator.world import Delivery, Event, Place, Preserved, Record, Work, World
from unum_runtime.store.large_items import references, resolve

LONGEST_MS = 10**12
"""Longer than anything waits."""


class Invariant(Enum):
    """What the runtime guarantees: (number, name)."""

    ONE_RESULT = (1, "one result")
    CONSISTENT = (2, "consistent")
    NO_LOST_WORK = (3, "no lost work")
    NO_RERUN = (4, "no re-run after commit")
    NOTHING_LEAKS = (5, "nothing leaks")
    SAME_VIEW = (7, "user code sees what it would see alone")
    STOPPED = (8, "nothing starts after a stop")

    def __str__(self) -> str:
        number, name = self.value
        return f"invariant {number} ({name})"


class Broken(Exception):
    """An invariant does not hold.

    Attributes:
        invariant: which.
        detail: how it shows.
    """

    def __init__(self, invariant: Invariant, detail: str) -> None:
        self.invariant = invariant
        self.detail = detail
        super().__init__(f"{invariant}: {detail}")


def check_write(world: World, delivery: Delivery, key: Key) -> None:
    """After `delivery` wrote at `key`.

    Raises:
        Broken: a second execution, a changed result, or an item that is misplaced or expires too early.
    """
    _check_place(world, delivery, key)
    check_expiry(world)
    _note_redrive(world, delivery)
    check_result(world)


def record_creation(world: World, key: Key, record: Record) -> None:
    """Remember what was created at `key`.

    Raises:
        Broken: something else was created there before.
    """
    before = world.records.get(key)
    if before is None:
        world.records = world.records.plus(key, record)
    elif before.item != record.item:
        raise Broken(Invariant.CONSISTENT, f"{key}: a second outcome was committed, {record.item}, after {before.item}")


def check_references(world: World, key: Key, item: Item) -> None:
    """When `item` is created at `key`: what it refers to is there, and lasts as long.

    Raises:
        Broken: it is not, or does not.
    """
    expires_at_s = dict(world.store.expiries())[key]
    for _, reference in references(item):
        until_s = world.store.object_expiry(reference)
        if not until_s:
            raise Broken(Invariant.NO_LOST_WORK, f"{key} refers to {reference}, which is not there")
        if until_s < expires_at_s:
            raise Broken(Invariant.NO_LOST_WORK, f"{key} refers to {reference}, which expires before it")


def check_input(world: World, event: Event) -> None:
    """When `event` is sent: what it refers to is there, and lasts until after its last delivery.

    Raises:
        Broken: it is not, or does not.
    """
    source = None if event.envelope is None else event.envelope.input
    if not isinstance(source, Stored):
        return
    for reference in filter(None, (source.value, source.variables)):
        if world.store.object_expiry(reference) < event.until_s + RUN_S:
            raise Broken(Invariant.NO_LOST_WORK, f"{event} refers to {reference}, which is not there, or not for long")


def record_preserved(world: World) -> None:
    """When somebody asks first to redrive an execution: what has succeeded in the fan-out that failed is to be kept.

    Of a fan-out that was retried it is what the last try of it has come to; nothing where another would have followed.
    """
    steps = [*_committed(world)]
    inside = [checkpoint for checkpoint in steps if checkpoint.name.frames]
    end = max(checkpoint.name.step for checkpoint in steps if not checkpoint.name.frames)
    last = max((_try(checkpoint.name) for checkpoint in inside), default=(0, 0))
    if world.ending is not None and world.preserved.iteration < last[0] == end:  # or else it was no fan-out that ended
        names = (checkpoint.name for checkpoint in inside if isinstance(checkpoint.outcome, Success))
        again = end + 2  # the redrive comes first
        world.preserved = Preserved(last[0], again, frozenset(_place(name) for name in names if _try(name) == last))


def check_requested(world: World, delivery: Delivery, event: Event) -> None:
    """When a request sends `event`: it is for an invocation that has no outcome.

    Raises:
        Broken: it had one when the request came.
    """
    if delivery.event.control is None or event.envelope is None:
        return
    if checkpoint_key(world.scenario.workflow.name, event.envelope.name) in delivery.committed:
        raise Broken(Invariant.NO_RERUN, f"{delivery} sends {event}, whose outcome was committed before")


def check_result(world: World) -> None:
    """Whether the execution has the result that it had, and one that a failure-free run has.

    Raises:
        Broken: it has not.
    """
    ending = _ending(world)
    if ending is None and world.ending is not None:
        raise Broken(Invariant.ONE_RESULT, f"the execution had ended with {world.ending}, and now it runs")
    if ending is None:
        return
    if world.ending is None:
        world.ending = ending
        check_consistent(world)
    elif ending != world.ending:
        raise Broken(Invariant.ONE_RESULT, f"the execution had ended with {world.ending}, and now with {ending}")


def check_consistent(world: World) -> None:
    """Whether a failure-free run with the committed outcomes ends as the execution did.

    Of one that was stopped, nothing else that is committed may say that it has ended.

    Raises:
        Broken: it does not.
    """
    if world.ending is None or _ending(world) is None:
        return
    _, expected = _failure_free_run(world)
    if world.is_stopped:
        ends = [
            key for key, record in world.records.items() if "status" in record.item and not _is_redriven(world, key)
        ]
        if len(ends) > 1:
            raise Broken(Invariant.ONE_RESULT, f"was stopped, but there are several ends: {ends}")
        return
    if expected is None or not _is_same(expected, world.ending):
        raise Broken(Invariant.CONSISTENT, f"ended with {world.ending}, a failure-free run with {expected}")


def _is_redriven(world: World, key: Key) -> bool:
    """Whether an execution that ended with what is at `key` was redriven then."""
    following = Name(world.identity, (), int(key.sort) + 1)  # only steps of the top level end an execution
    return checkpoint_key(world.scenario.workflow.name, following) in world.records


def check_user_code(world: World, delivery: Delivery, call: Call, event: Json) -> None:
    """Before user code runs.

    Raises:
        Broken: it should not run, or sees something else than it should.
    """
    name = world.own_name(delivery.hop.event)
    assert name is not None  # noqa: S101 - user code runs in executions that are recorded
    if delivery.function not in (None, call.function):
        raise Broken(Invariant.SAME_VIEW, f"{delivery}: code of {call.function} runs in {delivery.function}")
    is_guarded = world.scenario.workflow.task(call.state).guard is not Guard.COMMIT
    if delivery.hop.was_committed and is_guarded:
        raise Broken(Invariant.NO_RERUN, f"{delivery} runs user code, but its outcome was committed before")
    if delivery.hop.was_stopped and is_guarded:
        raise Broken(Invariant.STOPPED, f"{delivery} runs user code, but the execution was stopped before")
    if delivery.hop.was_polled and call.job is None:
        raise Broken(Invariant.NO_RERUN, f"{delivery} starts a job, but a look at one had been sent before")
    if name.frames and _is_preserved(world, name):
        raise Broken(Invariant.NO_RERUN, f"{delivery} runs user code that had succeeded before the redrive")
    reference, _ = _failure_free_run(world)
    if (name, call.state) not in reference.unsettled:
        _check_view(world, reference, delivery, call.state, event)
    _check_idempotency_key(world, (name, call.state), call.idempotency_key)


def check_retry(world: World, delivery: Delivery, event: Event) -> None:
    """When `event` is sent by `delivery`: another try of the same invocation has to be asked for.

    Raises:
        Broken: neither by a retrier of the Task nor by its user code; or not at that time.
    """
    answers = _answers_of_hop(delivery.progress.history)
    tried = [position for position, answer in enumerate(answers) if answer.primitive is Primitive.USER_CODE]
    if not tried or event.envelope is None or event.envelope.name != world.own_name(delivery.hop.event):
        return
    since_ms = [answer.value for answer in answers[tried[-1] :] if answer.primitive is Primitive.CLOCK]
    due = _expected_retry(world, delivery, event.envelope, answers[tried[-1]])
    deadline = deadline_ms(world.scenario.workflow, event.envelope.name.execution)
    ready_ms = event.ready_ms or world.clock.ms
    due_ms = due.nearest_ms(ready_ms, (min(since_ms), world.clock.ms), deadline)
    is_overdue = not event.ready_ms and due_ms < ready_ms  # nobody holds an event back until a time that has passed
    if due.retries != event.retries or not (due_ms == ready_ms or is_overdue):
        raise Broken(Invariant.CONSISTENT, f"{delivery} is tried again as {event.retries}, expected {due}")


def _answers_of_hop(answers: Sequence[Answer]) -> Sequence[Answer]:
    """Those of `answers` that a delivery got for what it is at, since it went on with that."""
    begun = (number for number, answer in enumerate(answers, 1) if answer.primitive is Primitive.FUSE and answer.value)
    return answers[max(begun, default=0) :]


def check_end(world: World) -> Ending:
    """How the execution ended, when nothing is left to deliver.

    Raises:
        Broken: the execution has not ended.
    """
    check_consistent(world)
    if world.ending is None:
        raise Broken(Invariant.NO_LOST_WORK, "every event was delivered, but the execution has not ended")
    _check_collected(world)
    return world.ending


def _check_collected(world: World) -> None:
    """Under `Collection.EAGER` nothing is kept but input and result, and what a crash or a redrive leaves to expire."""
    left, faults = world.left, world.scenario.faults
    if world.scenario.collection is not Collection.EAGER or left.failures < faults.failures:
        return
    if left.redrives < faults.redrives:
        return
    kept = [key for key in world.store.uncollected() if _is_own(world, key) and key not in _result_keys(world)]
    if kept:
        raise Broken(Invariant.NOTHING_LEAKS, f"the execution has ended, but {kept} were not collected")


def _result_keys(world: World) -> list[Key]:
    """Where the result is."""
    workflow = world.scenario.workflow
    last = stored_steps.last_step(world.view, workflow.name, world.identity)
    if last is None:
        return []
    return [checkpoint_key(workflow.name, last.name)]


def _check_view(world: World, reference: Reference, delivery: Delivery, state: str, event: Json) -> None:
    name = world.own_name(delivery.hop.event)
    visit = name and reference.visits.get(name)
    if not visit or visit.task.name != state:
        raise Broken(Invariant.SAME_VIEW, f"{name}: user code runs, but no failure-free run comes to it")
    if world.clock.ms < (visit.due_ms or 0):
        raise Broken(Invariant.SAME_VIEW, f"{name}: user code runs before {visit.due_ms}, which is its time")
    alone = visit.event(delivery.hop.event.retries, world.clock.ms)
    if not same_json(alone, event):
        raise Broken(Invariant.SAME_VIEW, f"{name}: user code sees {to_text(event)}, but alone {to_text(alone)}")


def _note_redrive(world: World, delivery: Delivery) -> None:
    """A redrive lets an execution run that had ended; nothing else does."""
    if delivery.event.control == Control.REDRIVE and world.ending is not None and _ending(world) is None:
        world.ending = None


def _committed(world: World) -> Iterator[Checkpoint]:
    """All steps that are stored."""
    return stored_steps.steps(world.view, world.scenario.workflow.name, world.identity)


def _is_preserved(world: World, name: Name) -> bool:
    """Whether `name` had succeeded before the redrive; a retry of the whole fan-out after that keeps nothing."""
    return _try(name) == (world.preserved.again, 0) and _place(name) in world.preserved.places


def _try(name: Name) -> tuple[int, int]:
    """The iteration and the generation of the outermost fan-out around `name`."""
    return name.frames[0].iteration, name.frames[0].generation


def _place(name: Name) -> Place:
    """Where in the outermost fan-out around it `name` is."""
    outermost, *inside = name.frames
    return outermost.index, tuple((frame.state, frame.iteration, frame.index) for frame in inside), name.step


def _expected_retry(world: World, delivery: Delivery, again: Envelope, answer: Answer) -> Due:
    """The try that has to follow after user code gave `answer`."""
    if isinstance(answer.value, JobPending):
        return Due(delivery.hop.event.retries, answer.value.delay_ms, answer.value.delay_ms)
    error = answer.error.error if isinstance(answer.error, StatesError) else type(answer.error).__name__
    due = due_retry(world.scenario.workflow.task(again.state), error, delivery.hop.event.retries)
    if answer.error is None:  # what failed came after user code, and is not known here
        return Due(again.retries, 0, LONGEST_MS)
    if due is None:
        raise Broken(Invariant.CONSISTENT, f"{delivery} is tried again, but no retrier is left for {error}")
    return due


def _check_idempotency_key(world: World, work: Work, key: str) -> None:
    seen = world.idempotency_keys.get(work)
    if seen is None:
        world.idempotency_keys = world.idempotency_keys.plus(work, key)
    elif seen != key:
        raise Broken(Invariant.SAME_VIEW, f"{work}: the idempotency key was {seen}, and now is {key}")
    others = [other for other, used in world.idempotency_keys.items() if used == key and other != work]
    if others:
        raise Broken(Invariant.SAME_VIEW, f"{work}: the idempotency key {key} is also that of {others[0]}")


def _check_place(world: World, delivery: Delivery, key: Key) -> None:
    if key == world.start_key:
        return
    if key.sort == "start":
        raise Broken(Invariant.ONE_RESULT, f"{delivery} begins another execution: {key.partition}")
    if not _is_own(world, key) and not _is_shared(world, key):
        raise Broken(Invariant.NOTHING_LEAKS, f"{delivery} writes {key}, which is not the execution's")


def _is_own(world: World, key: Key) -> bool:
    own = execution_partition(world.scenario.workflow.name, world.identity)
    waiting = job_partition(world.scenario.workflow.name, "")
    return key.partition == own or key.partition.startswith((f"{own}/", "#", waiting))


def _is_shared(world: World, key: Key) -> bool:
    """Whether the item at `key` is a result that executions share, which none of them collects."""
    return key.partition.startswith(memo_key(world.scenario.workflow.name, "").partition)


def check_expiry(world: World) -> None:
    deliveries = (delivery.event for delivery in world.running)
    last_s = max((event.until_s for events in (world.waiting, world.done, deliveries) for event in events), default=0)
    for key, expires_at_s in world.store.expiries():
        if expires_at_s < last_s + RUN_S:
            early_s = last_s + RUN_S - expires_at_s
            raise Broken(
                Invariant.NOTHING_LEAKS,
                f"{key} expires {early_s} s before the last delivery of an event is over",
            )


def _ending(world: World) -> Ending | None:
    return world.execution and stored_steps.ending(world.view, world.scenario.workflow.name, world.execution)


def _is_same(expected: Ending, found: Ending) -> bool:
    is_late = expected.status is Status.TIMED_OUT
    return is_late == (found.status is Status.TIMED_OUT) and explains(expected.outcome, found.outcome)


def _failure_free_run(world: World) -> tuple[Reference, Ending | None]:
    """The failure-free run with what is committed now, and how it ends.

    Worlds with the same records have the same one; but for those with objects, of which the records say only names.
    """
    known = world.failure_free.get(world.records.digest)
    if known is not None and world.scenario.least_bytes is None:
        return known
    reference = Reference(world.scenario.workflow, world.identity, _read_past(world))
    try:
        found = reference, reference.run(world.scenario.input)
    except Unexplained as error:
        raise Broken(Invariant.CONSISTENT, str(error)) from None
    world.failure_free[world.records.digest] = found
    return found


def _read_past(world: World) -> Past:
    """What is committed now."""
    workflow = world.scenario.workflow

    def found(name: Name) -> Checkpoint | None:
        record = world.records.get(checkpoint_key(workflow.name, name))
        return None if record is None else Checkpoint.from_item(name, resolve(record.item, world.store.get))

    def committed(name: Name) -> Checkpoint | None:
        checkpoint = found(name)
        return None if checkpoint is None or checkpoint.is_stop else checkpoint

    def stopped(name: Name) -> Checkpoint | None:
        checkpoint = found(name)
        return checkpoint if checkpoint is not None and checkpoint.is_stop else None

    def author(name: Name) -> Author:
        return world.records[checkpoint_key(workflow.name, name)].author

    return Past(committed, stopped, author, world.scenario.retention_s)
