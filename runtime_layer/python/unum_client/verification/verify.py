"""Verify an execution: compare stored history with definition, start record and notes of stops.

Functions of a workflow may write its items, so code that somebody has taken over can forge or erase outcomes, and IAM
cannot make a write conditional. A verification reads everything that is stored, trusts nothing of it but start records,
and plans each step again, as functions do. It cannot tell a result that a function invented from one that it computed.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from unum_client.reading.pending_steps import reading_runtime
from unum_client.verification.causes import Causes
from unum_client.verification.expiries import check_expiries, kept_s
from unum_client.verification.findings import Finding, Rule
from unum_client.verification.silence import is_silent
from unum_client.verification.stored_history import DAMAGED, Kept, StoredHistory, read_history
from unum_client.verification.stored_items import stored_items
from unum_runtime.clock import Clock
from unum_runtime.errors import DefinitionNotStored, InconsistentHistory, UnumError
from unum_runtime.model.checkpoint import Checkpoint, Collected, read_start_record
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import start_key
from unum_runtime.protocol.control.stop import notes_partition
from unum_runtime.protocol.history.definition_records import read_definition
from unum_runtime.protocol.history.past import past_digest
from unum_runtime.protocol.history.start_records import start_record, stored_start
from unum_runtime.protocol.history.timeline import Timeline, top_level
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
