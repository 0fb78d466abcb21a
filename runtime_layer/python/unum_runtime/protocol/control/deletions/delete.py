"""Delete an ended execution, and keep late events from bringing it back.

What remains are marks, until no event of the execution can have an effect any more: stop records without data in the
place of each step of the top level, and one in the place of the next step, so that no redrive can win it. A late event
finds a mark in place of its own outcome, or of the outcome of a fan-out around it, and is refused. So the top level is
marked first: from then on, deliveries that look at the store begin nothing. Those that do not look are stopped by marks
inside of fan-outs, see `deletion_marks`. The start record says that the execution was deleted, for repeated starts, and
for deliveries that fail because what they read is gone.

Everything else is deleted: items, sets, leases, tokens, jobs and objects. What leads to the rest is deleted last, so a
request that was cut off is repeated, and finds what is left.

Deliveries that ran when all marks were there may still store results, give out tokens and start jobs. Until `QUIET_MS`
after that, deletions therefore keep the sizes of fan-outs in marks, and note the numbers of steps with Tasks that wait.
By these a later one finds what came meanwhile. Until then the last mark has an index entry, by which sweeps find the
deletion and make the later request, also after a request that was cut off. Copies whose redrive or fork died are found
by its own note.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from itertools import count, takewhile
from typing import TYPE_CHECKING, cast

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.errors import DefinitionNotStored, ExecutionDoesNotExist, ExecutionNotDeletable
from unum_runtime.json_text import parse_json
from unum_runtime.model.checkpoint import Item, start_record, started_execution
from unum_runtime.model.deletion_notes import Waits, copies_partition, waits_key
from unum_runtime.model.list_index import PARTITION, PLACE, Kind, entry
from unum_runtime.model.naming import (
    SHARD_SIZE,
    Execution,
    Frames,
    Key,
    Name,
    Scope,
    checkpoint_key,
    completion_key,
    execution_partition,
    is_aside,
    is_name,
    job_key,
    meeting_key,
    object_folder,
    pack_at,
    pending_key,
    place_in_shard,
    root_key,
    shard_partition,
    start_key,
)
from unum_runtime.model.states import SIGNAL, Guard, Pattern, Task
from unum_runtime.protocol.control.deletions.deletion_marks import (
    CLOSED,
    GONE,
    OPENS,
    QUIET_MS,
    ShardMarks,
    marker,
    unguarded_fan_outs,
)
from unum_runtime.protocol.control.stop import notes_partition
from unum_runtime.protocol.control.sweep_memory import has_sweeps
from unum_runtime.protocol.control.walk import leave_rest_if_short
from unum_runtime.protocol.planning.existing_start import is_deleted
from unum_runtime.protocol.requests.definition_records import read_definition
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.protocol.waiting.callback import By, try_partition
from unum_runtime.protocol.waiting.service_job import jobs_partition
from unum_runtime.store.erasable import ErasableObjects, ErasableStore
from unum_runtime.store.large_items import DAY_S, object_lifetime_days

if TYPE_CHECKING:
    from unum_runtime.model.ir import Workflow

_STARTS = "states:startExecution"


class Remains(NamedTuple):
    """What a deletion leaves.

    Attributes:
        what: description.
        until_ms: time at which it is gone, in milliseconds since 1970; None if that is not known here.
    """

    what: str
    until_ms: int | None


class Deletion(NamedTuple):
    """Result of a deletion.

    Attributes:
        deleted_ms: time of the first request, in milliseconds since 1970.
        again_ms: time from which on a sweep, or a second request, finds what deliveries have stored since; None if it
            was found.
        remains: what is left.
    """

    deleted_ms: int
    again_ms: int | None
    remains: tuple[Remains, ...]


def delete(rt: Runtime, execution_name: str) -> Deletion:
    """Delete an execution that has ended.

    Raises:
        ExecutionDoesNotExist: no execution has that name.
        ExecutionNotDeletable: it runs.
        TimeIsShort: a part is left; delete it again.
        StoreError: a part may be left; delete it again.
    """
    execution, key, end = _close(rt, execution_name)
    deleted_ms, closed_ms = int(end["at"]), int(end.get(CLOSED, 0))
    is_final = 0 < closed_ms <= rt.clock.now_ms() - QUIET_MS
    work = _Work(rt, execution, deleted_ms, is_final=is_final)
    work.delete()
    if not closed_ms:
        # Deliveries of the time before are not over: they count from here, because this pass may have taken long.
        closed_ms = rt.clock.now_ms()
        _items(rt).replace(key, {**end, CLOSED: closed_ms}, expires_at_s=rt.result_expires_at_s())
    elif is_final and PLACE in end:
        # No sweep needs to find it any more.
        rest = {name: value for name, value in end.items() if name not in (PARTITION, PLACE)}
        _items(rt).replace(key, rest, expires_at_s=rt.result_expires_at_s())
    again_ms = None if is_final else closed_ms + QUIET_MS
    rt.log("deleted", execution=execution_name, is_final=is_final)
    return Deletion(deleted_ms, again_ms, (*_remains(rt, work, again_ms),))


def _close(rt: Runtime, execution_name: str) -> tuple[Execution, Key, Item]:
    """Take the execution's next step, so that nothing can continue it; return the mark in its place, and its key."""
    key = start_key(rt.workflow.name, execution_name)
    item = _items(rt).read([key]).get(key) if is_name(execution_name) else None
    if item is None:
        raise ExecutionDoesNotExist(
            f"workflow {rt.workflow.name!r} has no execution {execution_name!r}: it never started, or its retention "
            "has passed"
        )
    execution = started_execution(execution_name, item)
    newest = _items(rt).query(execution_partition(rt.workflow.name, execution), newest=1)
    ((last, end),) = newest.items() if newest else ((None, {}),)
    if last is None or "status" not in end:
        raise ExecutionNotDeletable(f"execution {execution_name!r} runs: stop it first, or wait for its end")
    if not is_deleted(end):
        last, end = _take_step(rt, Name(execution, (), int(last.sort) + 1))
    # Only now, because a start record without its data cannot be redriven, stopped or shown any more.
    gone = start_record(execution, None).saying(outcome=GONE)
    _items(rt).replace(key, gone.to_item(), expires_at_s=rt.result_expires_at_s())
    return execution, last, end


def _take_step(rt: Runtime, name: Name) -> tuple[Key, Item]:
    """Create the mark in place of step `name`; return its key, and it or another request's.

    Raises:
        ExecutionNotDeletable: a redrive has that step.
    """
    # Its index entry is found by sweeps, which delete again what deliveries store meanwhile.
    listed = entry(rt.workflow.name, name.execution, Kind.REDRIVEN)
    key, mark = checkpoint_key(rt.workflow.name, name), marker(rt.clock.now_ms()) | listed
    winner = _items(rt).create(key, mark, expires_at_s=rt.result_expires_at_s())
    if winner is not None and not is_deleted(winner):
        raise ExecutionNotDeletable(f"execution {name.execution.name!r} was redriven just now: stop it first")
    return key, winner or mark


def _items(rt: Runtime) -> ErasableStore:
    """Return the store of items, in which references stay references."""
    return cast("ErasableStore", rt.store if rt.large is None else rt.large.store)


class _Work:
    """Deletion of one execution's items and objects.

    Attributes:
        deleted_ms: time of the first request.
        is_final: True if no delivery runs any more that began before all marks were there.
        definitions: definitions of its steps, by digest; None for one that the store does not have.
    """

    def __init__(self, rt: Runtime, execution: Execution, deleted_ms: int, *, is_final: bool) -> None:
        self.rt, self.execution, self.deleted_ms, self.is_final = rt, execution, deleted_ms, is_final
        self.workflow, self.items = rt.workflow.name, _items(rt)
        self.definitions: dict[str, Workflow | None] = {rt.workflow.digest: rt.workflow}
        self.unguarded: frozenset[str] | None = frozenset()

    def delete(self) -> None:
        top = execution_partition(self.workflow, self.execution)
        steps = self.items.query(top)
        for item in steps.values():
            self._learn(str(item["ir"]))
        behind_end = max(int(key.sort) for key in steps)
        waits = Waits((), (behind_end,), _tries(steps), tuple(sorted(self.definitions)))
        waits = self._noted(waits_key(self.workflow, self.execution), waits)
        self.unguarded = unguarded_fan_outs(self.definitions)
        for key, item in steps.items():
            if not is_deleted(item):
                leave_rest_if_short(self.rt)
                self._mark(key, item)
        self._delete_waits(waits)
        self._delete_mailboxes()
        for key, item in steps.items():
            if OPENS in item:
                leave_rest_if_short(self.rt)
                self._delete_inside(Name(self.execution, (), int(key.sort)), item)
                if self.is_final:
                    self._mark(key, item)
        self._delete_copies(steps)
        self._delete_partition(f"{top}/lease")
        if self.is_final:
            self._delete_partition(copies_partition(self.workflow, self.execution))
            self._delete_partition(waits_key(self.workflow, self.execution).partition)
        start = start_key(self.workflow, self.execution.name).partition
        self._delete_partition(f"{start}/lease")
        self._delete_partition(notes_partition(self.workflow, self.execution.name))
        for partition in (top, start):
            self._delete_objects(partition)

    def _delete_mailboxes(self) -> None:
        """Delete waits and signals: of listed mailboxes, and of those without a key, which follow from the states."""
        if not self.of_tasks(lambda task: (task.resource or "").startswith(SIGNAL)):
            return
        from unum_runtime.features.signals.mailbox import result_key  # noqa: PLC0415 - few workflows wait for signals
        from unum_runtime.features.signals.signal_slots import (  # noqa: PLC0415 - as above
            mailboxes_of,
            take_out,
            used_slots,
        )

        listed, mailboxes = mailboxes_of(self.items, self.workflow, self.execution, self.tasks())
        for mailbox in mailboxes:
            # The last one first: without it, those before it are still found.
            for slot in reversed(used_slots(self.items, self.workflow, mailbox)):
                leave_rest_if_short(self.rt)
                take_out(self.items, self.workflow, mailbox, slot, now_ms=self.rt.clock.now_ms())
                self._delete_slot(result_key(self.workflow, slot))
        if self.is_final:  # until then a running delivery may begin a wait in a mailbox that it has listed before
            self._delete_partition(listed)

    def _delete_slot(self, result: Key) -> None:
        """Delete the wait and the `result` of a slot; before the last request, the slot stays taken.

        A delivery that runs takes the first free slot, and used slots are found one after the other.
        """
        if not self.is_final:
            self.items.replace(result, {"by": By.NOBODY.value}, expires_at_s=self.rt.result_expires_at_s())
        self._delete_partition(result.partition, () if self.is_final else (result.sort,))

    def _delete_inside(self, name: Name, item: Item) -> None:
        """Delete what belongs to the step `name`, stored as `item`, apart from the item."""
        if OPENS in item:
            self._delete_scope(Scope(name.execution, name.frames, *parse_json(str(item[OPENS]))))

    def _delete_copies(self, steps: Mapping[Key, Item]) -> None:
        """Delete the copies of redrives and forks that died before the step that leads to them."""
        opened = {key.sort for key, item in steps.items() if OPENS in item}
        for key, item in self.items.query(copies_partition(self.workflow, self.execution)).items():
            step = key.sort.partition(".")[0]
            if OPENS in item and step not in opened:
                self._delete_inside(Name(self.execution, (), int(step)), item)

    def _delete_scope(self, scope: Scope) -> None:
        for shard in range(scope.shards):
            leave_rest_if_short(self.rt)
            partition = shard_partition(self.workflow, scope, shard)
            items = self.items.query(partition)
            # The checkpoints of a shard go last, so without them nothing else is left, but for tokens of first steps.
            waiting = self._waiting_states(scope.branch(0))
            is_unguarded = self.unguarded is None or scope.state in self.unguarded
            # At the end, also without items: a delivery may have committed before, and added to the sets after that.
            if not items and not waiting and not is_unguarded and not self.is_final:
                continue
            if is_unguarded and not self.is_final:
                marks = ShardMarks(self.rt, self.items, self.definitions, scope, self.deleted_ms, leave_rest_if_short)
                marks.put(shard, items)
            # Once more: a delivery that was faster than the marks may have opened a fan-out.
            marked = self.items.query(partition) if is_unguarded else items
            openers = [*self._delete_inside_branches(scope, marked)]
            if waiting:
                found = Waits(scope.branch(shard * SHARD_SIZE), _started_steps(scope, shard, items), _tries(items))
                self._delete_waits(self._noted(waits_key(self.workflow, self.execution, partition), found))
            self._delete_partition(completion_key(self.workflow, scope, shard).partition)
            self._delete_partition(meeting_key(self.workflow, scope, shard * SHARD_SIZE, 0).partition)
            self._delete_partition(f"{partition}/lease")
            for key, item in openers if is_unguarded or not self.is_final else ():
                self._mark(key, item)
            if not is_unguarded:
                self._delete_partition(partition, () if self.is_final else [key.sort for key, _ in openers])
        self._delete_partition(root_key(self.workflow, scope).partition)

    def _delete_inside_branches(self, scope: Scope, items: Mapping[Key, Item]) -> Iterator[tuple[Key, Item]]:
        """Delete what belongs to the steps of a shard's branches; yield the steps that opened fan-outs."""
        for key, item in _steps_of(items):
            index, step = place_in_shard(key)
            self._delete_inside(Name(self.execution, scope.branch(index), step), item)
            if OPENS in item:
                yield key, item

    def _mark(self, key: Key, item: Item) -> None:
        """Replace a step by a mark; before the last request, the mark keeps the size of an opened fan-out."""
        kept = {OPENS: item[OPENS]} if OPENS in item and not self.is_final else {}
        self.items.replace(key, {**marker(self.deleted_ms), **kept}, expires_at_s=self.rt.result_expires_at_s())

    def _noted(self, key: Key, found: Waits) -> Waits:
        """Return the steps `found` with those noted at `key`, and note them until the last request."""
        item = self.items.read([key]).get(key)
        noted = None if item is None else Waits.from_item(item)
        waits = found if noted is None else found.joined(noted)
        for digest in waits.digests:
            self._learn(digest)
        # Marks name no definition, and later requests must know it inside of fan-outs.
        is_needed = self.waiting or (not waits.frames and unguarded_fan_outs(self.definitions) != frozenset())
        if not self.is_final and is_needed and waits != noted:
            waits = waits._replace(tries=max([waits.tries, *self._given(waits)]))
            self.items.replace(key, waits.to_item(), expires_at_s=self.rt.result_expires_at_s())
        return waits

    def _given(self, waits: Waits) -> Iterator[int]:
        """Yield how many tokens the Tasks have that wait in the last step of each branch."""
        for name in waits.last_names(self.execution):
            for state in self._waiting_states(name.frames):
                tries = (try_partition(self.workflow, name, state, attempt) for attempt in count())
                yield sum(1 for _ in takewhile(lambda each: self.items.query(each, newest=1), tries))

    def _delete_waits(self, waits: Waits) -> None:
        for name in waits.names(self.execution):
            self._delete_tokens(name, waits.tries)

    def _delete_tokens(self, name: Name, tries: int) -> None:
        """Delete jobs and at least so many tokens of the Task with the invocation `name`, whichever it was."""
        for state in self._waiting_states(name.frames):
            is_unguarded = self._is_unguarded(state)
            jobs = jobs_partition(self.workflow, name, state)
            self._delete_partition(jobs)
            for attempt in count():
                tried = try_partition(self.workflow, name, state, attempt)
                is_found = self._delete_partition(tried)
                if is_unguarded:  # it would give out a token, or begin a job, before it commits
                    for key in (
                        Key(tried, pending_key("", "").sort),
                        job_key(self.workflow, jobs.rpartition("/")[2], attempt, 0),
                    ):
                        self.items.replace(key, marker(self.deleted_ms), expires_at_s=self.rt.result_expires_at_s())
                if not is_found and attempt >= tries:
                    break

    def _is_unguarded(self, state: str) -> bool:
        """Return True if the Task `state` runs user code without a look at the store."""
        return self.of_tasks(lambda task: task.name == state and task.guard is Guard.COMMIT)

    def _waiting_states(self, frames: Frames) -> frozenset[str]:
        """Return the Tasks with tokens or jobs in the scope of `frames`."""
        scope = frames[-1].state if frames else None
        return frozenset(task.name for task in self.waiting if task.scope == scope)

    def _learn(self, digest: str) -> None:
        """Read the definition with `digest`; markers have none."""
        if digest and digest not in self.definitions:
            self.definitions[digest] = None
            with suppress(DefinitionNotStored):
                self.definitions[digest] = read_definition(self.rt.store, self.workflow, digest)

    def _delete_partition(self, partition: str, keep: Collection[str] = ()) -> int:
        found = self.items.erase(partition, keep=keep)
        # Items of the execution's own partitions share a folder, all others have one of their own.
        if found and object_folder(self.workflow, partition) != self._folder:
            self._delete_objects(partition)
        return found

    def _delete_objects(self, partition: str) -> None:
        if self.rt.large is not None:
            cast("ErasableObjects", self.rt.large.objects).erase_folder(object_folder(self.workflow, partition))

    @property
    def _folder(self) -> str:
        return object_folder(self.workflow, execution_partition(self.workflow, self.execution))

    def of_tasks(self, applies: Callable[[Task], bool]) -> bool:
        """Return True if a Task of the execution's definitions `applies`."""
        return any(map(applies, self.tasks()))

    @property
    def waiting(self) -> list[Task]:
        """The Tasks with tokens or jobs."""
        return [task for task in self.tasks() if task.pattern is not Pattern.RESPONSE]

    def tasks(self) -> Iterator[Task]:
        """Return the Tasks of the execution's definitions."""
        return (task for each in self.definitions.values() if each is not None for task in each.tasks)


def _steps_of(items: Mapping[Key, Item]) -> Iterator[tuple[Key, Item]]:
    """Yield the steps of branches among the `items` of a shard."""
    return (pair for pair in items.items() if pack_at(pair[0]) is None and not is_aside(pair[0]))


def _started_steps(scope: Scope, shard: int, items: Mapping[Key, Item]) -> tuple[int, ...]:
    """Return how many steps each branch of a shard has begun: it may wait in a step without an outcome."""
    first = shard * SHARD_SIZE
    counts = dict.fromkeys(range(first, first + scope.shard_size(shard)), 1)
    for key, _ in _steps_of(items):
        index, step = place_in_shard(key)
        counts[index] = max(counts[index], step + 2)
    return tuple(counts.values())


def _tries(items: Mapping[Key, Item]) -> int:
    """Return the maximum number of tries of a retried step; 0 without retries."""
    attempts = (int(item.get("attempt", 0)) for item in items.values())
    return max((attempt + 1 for attempt in attempts if attempt), default=0)


def _remains(rt: Runtime, work: _Work, again_ms: int | None) -> Iterator[Remains]:
    expiry_ms = rt.result_expires_at_s() * 1000
    yield Remains("its name, and markers without data in the place of its steps", expiry_ms)
    if again_ms is not None:
        then = "the next sweep deletes them" if has_sweeps(rt) else "no sweep has run for a day: delete it again then"
        yield Remains(f"results of deliveries that ran when it was deleted: {then}", again_ms)
    if lifetimes := [task.memo_lifetime_s or rt.retention_s for task in work.tasks() if task.memoize]:
        shared_ms = rt.clock.now_ms() + max(lifetimes) * 1000
        yield Remains("results that its Tasks share with other executions (`memoize`)", shared_ms)
    if work.of_tasks(lambda task: (task.resource or "").startswith(_STARTS)):
        yield Remains("executions that its Tasks started: delete them in their own workflows", None)
    if rt.large is not None:
        days = object_lifetime_days(rt.result_retention_s or rt.retention_s)
        yield Remains("its input, if it was uploaded by a link", rt.clock.now_ms() + days * DAY_S * 1000)
    if None in work.definitions.values():
        yield Remains("task tokens and jobs of steps whose definition is not stored", expiry_ms)
