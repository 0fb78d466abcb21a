"""Verify an execution: compare stored history with definition, start record and notes of stops.

Functions of a workflow may write its items, so code that somebody has taken over can forge or erase outcomes, and IAM
cannot make a write conditional. A verification reads everything that is stored, trusts nothing of it but start records,
and plans each step again, as functions do. It cannot tell a result that a function invented from one that it computed.

An execution with a pending event and no commit within a day is stalled: Lambda keeps an event for 6 hours, and sweeps
send lost ones again each hour. So either both have failed, or somebody has erased the commits that had been there.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from unum_client.reading.pending_steps import reading_runtime
from unum_client.verification.causes import Causes
from unum_client.verification.findings import Finding, Rule
from unum_client.verification.stored_history import DAMAGED, Kept, StoredHistory, read_history, stored_items
from unum_runtime.clock import Clock
from unum_runtime.errors import DefinitionNotStored, InconsistentHistory, UnumError
from unum_runtime.model.checkpoint import Checkpoint, Collected, read_start_record
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import start_key
from unum_runtime.protocol.control.stop import notes_partition
from unum_runtime.protocol.history.overdue import is_overdue
from unum_runtime.protocol.history.past import past_digest
from unum_runtime.protocol.history.pending import Complete, Missing, Opened, part_of, pending_after, pending_join
from unum_runtime.protocol.history.start_records import start_record, stored_start
from unum_runtime.protocol.history.timeline import Timeline, top_level
from unum_runtime.protocol.requests.definition_records import read_definition
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.base import Store
from unum_runtime.store.large_items import LargeItems, resolve


@dataclass(frozen=True)
class Verification:
    """Result of a verification.

    Attributes:
        execution: name of the execution.
        steps: number of stored commits that were checked, the start record included.
        findings: what is wrong; empty if nothing is.
    """

    execution: str
    steps: int
    findings: Sequence[Finding]


def verify(
    store: Store, workflow: str, name: str, *, retention_s: int, clock: Clock, definition: Workflow | None = None
) -> Verification:
    """Verify execution `name`.

    Args:
        store: the workflow's store.
        workflow: name of the workflow.
        name: name of the execution.
        retention_s: retention of the workflow's items, in seconds.
        clock: current time.
        definition: definition of the execution's version; None for the one from the store.

    Raises:
        ExecutionDoesNotExist: no execution of that name, or it was deleted.
        StoreError: the store did not answer.
        ClientError: the store cannot be read item by item.
    """
    stored_start(store, workflow, name)
    key = start_key(workflow, name)
    kept = stored_items(store, key.partition)[key]
    item = resolve(kept.item, store.objects.get) if isinstance(store, LargeItems) else kept.item
    try:
        record = read_start_record(name, item)
    except (*DAMAGED, InconsistentHistory) as error:
        return Verification(name, 1, [Finding(Rule.START, f"{key.partition} {key.sort}", str(error))])
    history = read_history(store, workflow, record.name.execution, clock.now_ms())
    checking = _Checking(store, workflow, retention_s, clock, Kept(record, kept.expires_at_s), history)
    findings = [*history.findings, *checking.check(definition)]
    return Verification(name, 1 + len(history.live) + len(history.expired), findings)


@dataclass(frozen=True)
class _Checking:
    store: Store
    workflow: str
    retention_s: int
    clock: Clock
    start: Kept
    history: StoredHistory

    def check(self, definition: Workflow | None) -> Iterator[Finding]:
        record, now_ms = self.start.checkpoint, self.clock.now_ms()
        yield from check_expiries(self.history.stored, record, self.start.expires_at_s, self.retention_s, now_ms)
        known, missing = self._definitions(definition)
        yield from missing
        if not known or missing:
            return
        checkpoints = [record, *(each.checkpoint for each in self.history.live)]
        last, *earlier = known
        timeline = Timeline(last, checkpoints, earlier)
        rt = reading_runtime(self.store, self.clock, last, retention_s=self.retention_s)
        lasts_ms = kept_s(record, self.start.expires_at_s, self.retention_s) * 1000
        expired = frozenset(each.checkpoint.name for each in self.history.expired)
        noted = stored_items(self.store, notes_partition(self.workflow, record.name.execution.name))
        yield from Causes(rt, timeline, now_ms, lasts_ms, expired, noted).check()
        yield from self._check_copies(record)
        if is_silent(rt, timeline):
            yield Finding(Rule.SILENCE, str(timeline.top_level[-1].name), "nothing is committed after it for a day")

    def _definitions(self, given: Workflow | None) -> tuple[list[Workflow], list[Finding]]:
        """Return definitions named in the history, newest first, and faults of missing or forged definitions."""
        own = [each.checkpoint for each in self.history.live]
        digests = dict.fromkeys(step.digest for step in _newest_first([self.start.checkpoint, *own]) if step.digest)
        copied = dict.fromkeys(filter(None, map(_copied_digest, own)))
        found: list[Workflow] = []
        findings: list[Finding] = []
        for digest in (*digests, *(each for each in copied if each not in digests)):
            if given is not None and given.digest == digest:
                found.append(given)
                continue
            try:
                found.append(read_definition(self.store, self.workflow, digest))
            except (DefinitionNotStored, InconsistentHistory) as error:
                if digest in digests:
                    findings.append(Finding(Rule.DEFINITION, digest, str(error)))
        if not found and not findings and given is not None:
            found.append(given)
        return found, findings

    def _check_copies(self, record: Checkpoint) -> Iterator[Finding]:
        """Yield faults of a fork's copies: differences from stored steps of the original."""
        origin = record.fork
        if origin is None:
            return
        with suppress(UnumError):
            if start_record(self.store, self.workflow, origin.execution.name).name.execution != origin.execution:
                return
            originals = {step.name.step: step for step in top_level(self.store, self.workflow, origin.execution)}
            for kept in self.history.live:
                copy = kept.checkpoint
                original = originals.get(copy.name.step)
                if copy.name.frames or copy.name.step >= origin.step or copy.is_stop or original is None:
                    continue
                if isinstance(original.outcome, Collected) or isinstance(copy.outcome, Collected):
                    continue
                if (copy.state, copy.phase, copy.outcome) != (original.state, original.phase, original.outcome):
                    yield Finding(Rule.COPY, str(copy.name), f"differs from {original.name}, of which it is a copy")


def _newest_first(steps: list[Checkpoint]) -> list[Checkpoint]:
    """Return top-level steps, newest first, then steps of branches."""
    return sorted(steps, key=lambda step: (bool(step.name.frames), -step.name.step))


def _copied_digest(step: Checkpoint) -> str:
    try:
        return past_digest(step)
    except (*DAMAGED,):
        return ""


SLACK_S = 3_600
"""Allowed difference. It is that between the last event of an execution and the expiry of its items, so that nothing
may be taken for missing within it."""


def kept_s(start: Checkpoint, start_expires_at_s: int, retention_s: int) -> int:
    """Return the shortest lifetime of an execution's items, in seconds.

    No function but the one in which executions start can write start records, so that of an execution shows whether the
    retention was shorter at its start than it is now.
    """
    return min(retention_s, start_expires_at_s - start.committed_ms // 1000)


def check_expiries(
    stored: Iterable[Kept], start: Checkpoint, start_expires_at_s: int, retention_s: int, now_ms: int
) -> Iterator[Finding]:
    """Yield faults of items with lifetimes shorter or longer than the workflow's retention.

    Args:
        stored: commits, expired or not.
        start: the start record.
        start_expires_at_s: its expiry, in seconds since 1970.
        retention_s: retention of the workflow, in seconds.
        now_ms: current time, in milliseconds since 1970.
    """
    least_s = kept_s(start, start_expires_at_s, retention_s)
    most_s = max(retention_s, start_expires_at_s - start.committed_ms // 1000)
    for each in stored:
        step = each.checkpoint
        lasts_s = each.expires_at_s - step.committed_ms // 1000
        if lasts_s < least_s - SLACK_S:
            text = f"expires {_span(lasts_s)} its commit, expected at least {_span(least_s)}"
            yield Finding(Rule.EXPIRY, str(step.name), f"{text}: until it is deleted it counts as absent")
        elif each.expires_at_s > now_ms // 1000 + most_s + SLACK_S:
            late_s = each.expires_at_s - now_ms // 1000
            yield Finding(Rule.EXPIRY, str(step.name), f"is kept for {late_s} s more, expected at most {most_s}")


def _span(seconds: int) -> str:
    return f"{seconds} s after" if seconds >= 0 else f"{-seconds} s before"


SILENT_MS = 86_400_000


def is_silent(rt: Runtime, timeline: Timeline) -> bool:
    """Return True if all pending commits were due a day ago."""
    last = timeline.top_level[-1]
    if last.ending is not None or timeline.start.fork is not None:
        return False
    with suppress(UnumError, LookupError, TypeError, ValueError):
        pending = [*_pending(rt, pending_after(rt, last))]
        return bool(pending) and all(is_overdue(rt, each, SILENT_MS) for each in pending)
    return False


def _pending(rt: Runtime, found: Missing | Opened | None) -> Iterator[Missing]:
    if isinstance(found, Missing):
        yield found
    if not isinstance(found, Opened):
        return
    is_open, latest_ms = False, 0
    for shard in range(found.scope.shards):
        part = part_of(rt, found, shard)
        latest_ms = max(latest_ms, part.latest_ms)
        for each in part.missing:
            is_open = True
            yield each
        if part.is_decided:
            return
        for inner in part.inside.values():
            is_open = True
            yield from _pending(rt, inner)
    if not is_open:
        yield pending_join(rt, found, Complete(found.scope), latest_ms)
