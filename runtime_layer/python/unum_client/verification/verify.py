"""Verify an execution: compare stored history with definition, start record and notes of stops.

Functions of a workflow may write its items, so code that somebody has taken over can forge or erase outcomes, and IAM
cannot make a write conditional. A verification reads everything that is stored, trusts nothing of it but start records,
and plans each step again, as functions do. It cannot tell a result that a function invented from one that it computed.

An execution with a pending event and no commit within a day is stalled: Lambda keeps an event for 6 hours, and sweeps
send lost ones again each hour. So either both have failed, or somebody has erased the commits that had been there.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise

from unum_client.reading.pending_steps import reading_runtime
from unum_client.verification.findings import Finding, Rule
from unum_client.verification.stored_history import DAMAGED, Kept, StoredHistory, read_history, stored_items
from unum_runtime.clock import Clock
from unum_runtime.errors import DefinitionNotStored, InconsistentHistory, OutcomeCollected, UnumError
from unum_runtime.model.checkpoint import (
    Checkpoint,
    Collected,
    Failure,
    Outcome,
    Phase,
    Status,
    Success,
    read_start_record,
)
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Key, Name, Scope, start_key
from unum_runtime.model.states import FanOut
from unum_runtime.protocol.control.redrives.entry import entered
from unum_runtime.protocol.control.stop import note_key, notes_partition
from unum_runtime.protocol.delivery.commit import limit_outcome
from unum_runtime.protocol.delivery.join import join_results
from unum_runtime.protocol.history.past import past_digest
from unum_runtime.protocol.history.pending import (
    Complete,
    Missing,
    Opened,
    is_overdue,
    part_of,
    pending_after,
    pending_join,
)
from unum_runtime.protocol.history.start_records import start_record, stored_start
from unum_runtime.protocol.history.timeline import Timeline, entered_state, top_level
from unum_runtime.protocol.planning.plan import (
    BranchFailed,
    Commit,
    CompleteBranch,
    Effect,
    Finish,
    Invoke,
    JoinNeighbour,
    OpenScope,
    is_start,
    plan,
)
from unum_runtime.protocol.requests.definition_records import read_definition
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.base import Store
from unum_runtime.store.large_items import LargeItems, resolve

SKEW_MS = 60_000
"""Largest difference between the clocks of two functions."""


@dataclass(frozen=True)
class Causes:
    """Checks of one execution.

    Attributes:
        rt: a runtime that reads the execution.
        timeline: its commits.
        now_ms: current time, in milliseconds since 1970.
        lasts_ms: time for which a commit is stored at least; a gap of older ones is no fault.
        expired: names of commits that are stored and have expired.
        noted: keys of the notes of stops.
    """

    rt: Runtime
    timeline: Timeline
    now_ms: int
    lasts_ms: int
    expired: frozenset[Name] = frozenset()
    noted: Collection[Key] = ()

    def check(self) -> Iterator[Finding]:
        """Yield faults of commits, including wrong order."""
        yield from self._check_sequence(self.timeline.top_level)
        branches: dict[object, list[Checkpoint]] = {}
        for name, checkpoint in self.timeline.committed.items():
            if name.frames:
                branches.setdefault(name.frames, []).append(checkpoint)
        for steps in branches.values():
            steps.sort(key=lambda step: step.name.step)
            yield from self._check_begin(steps[0])
            yield from self._check_sequence(steps)

    def _check_sequence(self, steps: Sequence[Checkpoint]) -> Iterator[Finding]:
        for step in steps:
            yield from self._check_alone(step)
        for before, after in pairwise(steps):
            yield from self._check_pair(before, after)

    # One commit

    def _check_alone(self, step: Checkpoint) -> Iterator[Finding]:
        """Yield faults of one commit, regardless of earlier commits."""
        if step.committed_ms > self.now_ms + SKEW_MS:
            yield _wrong(Rule.TIME, step, f"is committed {(step.committed_ms - self.now_ms) // 1000} s from now")
        if step.is_stop:
            if step.name.frames or step.state or step.digest or step.opens is not None:
                yield _wrong(Rule.STOP, step, f"has the state {step.state!r}; a stop has none, and is in no branch")
            elif not self._is_copy(step) and note_key(self.rt.workflow.name, step.name) not in self.noted:
                found = "the control function has noted no such stop"
                yield _wrong(Rule.STOP, step, found)
            return
        if is_start(step.name) or isinstance(step.outcome, Collected):
            return
        if step.state not in self.timeline.version_of(step).states:
            yield _wrong(Rule.CAUSE, step, f"the definition {step.digest} has no state {step.state!r}")
            return
        try:
            effect = plan(self.timeline.version_of(step), replace(step, ending=None, opens=None))
        except (UnumError, LookupError, TypeError, ValueError) as error:
            yield _wrong(Rule.CAUSE, step, f"nothing can follow {step.state!r}: {error!r}")
            return
        ending = effect.ending if isinstance(effect, Finish) else None
        is_left_out = self._is_copy(step) and step.ending is None  # copies have no end, unless `past` tells of it
        if ending != step.ending and not is_left_out:
            yield _wrong(Rule.END, step, f"expected {_ended(ending)}, found {_ended(step.ending)}")
        opens = self._opens(step, effect)
        is_left_out = step.opens is None and bool(step.name.frames) and self._is_carried(step)
        if opens != step.opens and not is_left_out:
            yield _wrong(Rule.CAUSE, step, f"opens {_scope_text(step.opens)}, expected {_scope_text(opens)}")

    # Two commits in a row

    def _check_begin(self, first: Checkpoint) -> Iterator[Finding]:
        """Yield faults of a branch's first commit."""
        scope, opening = first.name.scopes[-1], self.timeline.committed.get(first.name.scopes[-1].origin)
        before = replace(first.name, step=first.name.step - 1)
        if first.name.step and before not in self.expired and not self._may_have_expired(first):
            yield _wrong(Rule.MISSING, first, "is the first step that its branch has stored")
            return
        if first.name.step or opening is None or isinstance(opening.outcome, Collected):
            return
        with suppress(OutcomeCollected):
            opened = plan(self.timeline.version_of(opening), opening)
            if isinstance(opened, OpenScope) and opened.scope == scope:
                begin = self.timeline.branch_begin(opened, first.name.frames[-1].index)
                if begin is not None:
                    yield from self._check_effect(begin.effect, opening, first)

    def _check_pair(self, before: Checkpoint, after: Checkpoint) -> Iterator[Finding]:
        if after.name.step != before.name.step + 1:
            is_known = before.name.following in self.expired or self._is_unfinished_fork(after)
            if not is_known and not self._may_have_expired(after):
                yield _wrong(Rule.MISSING, after, f"follows {before.name}; the steps between are gone")
            return
        if before.ending is not None:
            yield from self._check_after_end(before, after)
        elif after.is_stop:
            # A fork that is stopped before it has all copies ends beside commits of the original.
            if after.committed_ms < before.committed_ms - SKEW_MS and not self._is_unfinished_fork(after):
                yield _wrong(Rule.TIME, after, f"is earlier than {before.name}, the last step before the stop")
        elif self._is_entry_of_fork(after):
            yield from self._check_entry_of_fork(after)
        elif not isinstance(before.outcome, Collected) and self._is_known(before):
            with suppress(UnumError, LookupError, TypeError, ValueError):  # found with the commit itself
                effect = plan(self.timeline.version_of(before), before)
                yield from self._check_effect(effect, before, after)

    def _check_effect(self, effect: Effect, before: Checkpoint, after: Checkpoint) -> Iterator[Finding]:
        """Yield faults of commit `after`, given `effect`, planned from commit `before`."""
        match effect:
            case Finish() | CompleteBranch() | BranchFailed():
                yield _wrong(Rule.AFTER_END, after, f"nothing follows {before.state!r}, which ended before it")
            case Commit():
                yield from self._check_commit(effect, after)
            case Invoke() | JoinNeighbour():
                invoke = effect if isinstance(effect, Invoke) else effect.invoke
                yield from self._check_state(after, before, invoke.state)
                yield from self._check_due(invoke, after)
            case OpenScope(scope):
                follower = self.rt.workflow.states.get(scope.state)
                joins = follower.join if isinstance(follower, FanOut) else None
                yield from self._check_state(after, before, scope.state, *([joins] if joins else []))
                if before.opens is not None:
                    here = replace(self.rt, workflow=self.timeline.version_of(after))
                    wrong = joined_wrongly(here, self.timeline, effect, after)
                    if wrong is not None:
                        yield _wrong(Rule.BRANCHES, after, wrong)
        early_ms = before.committed_ms - after.committed_ms
        if early_ms > SKEW_MS and not self._is_copy(after) and not self._is_carried(after):
            yield _wrong(Rule.TIME, after, f"is {early_ms // 1000} s before {before.name}")

    def _check_state(self, after: Checkpoint, before: Checkpoint, *states: str) -> Iterator[Finding]:
        workflow = self.timeline.version_of(before)
        allowed = {*states, *(each for state in states for each in workflow.committers(state))}
        if after.state not in allowed:
            yield _wrong(Rule.CAUSE, after, f"commits {after.state!r}; {_of(before)} leads to {states[0]!r}")
        elif after.phase is Phase.ENTERED and not _is_entered(before, states, workflow.states[after.state]):
            yield _wrong(Rule.CAUSE, after, f"enters {after.state!r} again, and nothing had failed")

    def _check_due(self, invoke: Invoke, after: Checkpoint) -> Iterator[Finding]:
        is_success = isinstance(after.outcome, Success) and after.continuation.caught is None
        if not is_success or invoke.due_ms is None or self._has_waited_before(after):
            return
        if after.committed_ms < invoke.due_ms - SKEW_MS:
            early_s = (invoke.due_ms - after.committed_ms) // 1000
            yield _wrong(Rule.TIME, after, f"is committed {early_s} s before the end of its wait")

    def _check_commit(self, effect: Commit, after: Checkpoint) -> Iterator[Finding]:
        """Yield faults of a commit without user code, given planned content `effect`."""
        if isinstance(after.outcome, Collected):
            return
        limit = self.timeline.version_of(after).payload_limit
        outcome = limit_outcome(self.rt, effect.outcome, effect.continuation, limit=limit)
        expected = (effect.state, effect.phase, _content(outcome))
        found = (after.state, after.phase, _content(after.outcome))
        if expected != found:
            yield _wrong(Rule.CAUSE, after, f"expected {_shown(expected)}, found {_shown(found)}")

    # Ends, redrives and forks

    def _check_after_end(self, end: Checkpoint, after: Checkpoint) -> Iterator[Finding]:
        assert end.ending is not None  # noqa: S101 - the caller asked
        if end.ending.status is Status.SUCCEEDED:
            yield _wrong(Rule.AFTER_END, after, f"the execution had succeeded at {end.name}; no redrive continues that")
            return
        if after.is_stop:
            yield _wrong(Rule.STOP, after, f"the execution had ended at {end.name}")
            return
        if after.phase is not Phase.ENTERED:
            yield _wrong(Rule.AFTER_END, after, f"the execution had failed at {end.name}; a redrive enters a state")
            return
        before = self.timeline.committed.get(replace(end.name, step=end.name.step - 1))
        # By another definition, a redrive may continue with another state.
        if before is None or isinstance(before.outcome, Collected) or not self._is_one_version(before, end, after):
            return
        with suppress(UnumError, LookupError, TypeError, ValueError):
            effect = plan(self.timeline.version_of(before), before)
            state, entry = entered_state(effect), entered(effect)
            is_kept = entry is None or isinstance(after.outcome, Collected) or entry.value == after.outcome
            if state != after.state or not is_kept:
                found = f"enters {after.state!r}; a redrive enters {state!r} with its first input"
                yield _wrong(Rule.AFTER_END, after, found)

    def _is_entry_of_fork(self, step: Checkpoint) -> bool:
        origin = self.timeline.start.fork
        return origin is not None and not step.name.frames and step.name.step == origin.step

    def _check_entry_of_fork(self, step: Checkpoint) -> Iterator[Finding]:
        origin = self.timeline.start.fork
        assert origin is not None  # noqa: S101 - the caller asked
        is_given = origin.value is None or isinstance(step.outcome, Collected) or step.outcome == origin.value
        if (step.state, step.phase) != (origin.node, Phase.ENTERED) or not is_given:
            found = f"enters {step.state!r}; the fork begins with {origin.node!r} and its input"
            yield _wrong(Rule.CAUSE, step, found)

    def _is_unfinished_fork(self, after: Checkpoint) -> bool:
        """Return True for the stop of an unfinished fork, which lacks copies."""
        origin = self.timeline.start.fork
        return origin is not None and after.is_stop and after.name.step <= origin.step

    def _may_have_expired(self, after: Checkpoint) -> bool:
        """Return True if commits before `after` may have expired: results outlive steps."""
        return after.committed_ms + self.lasts_ms - SKEW_MS <= self.now_ms

    def _is_known(self, step: Checkpoint) -> bool:
        return is_start(step.name) or step.state in self.timeline.version_of(step).states

    def _is_one_version(self, *steps: Checkpoint) -> bool:
        return len({self.timeline.version_of(step).digest for step in steps if not step.is_stop}) == 1

    def _is_copy(self, step: Checkpoint) -> bool:
        """Return True for a fork's copy of an original step, top level or branch."""
        origin = self.timeline.start.fork
        first = step.name.frames[0].iteration if step.name.frames else step.name.step
        return origin is not None and first < origin.step

    def _is_carried(self, step: Checkpoint) -> bool:
        """Return True for commits inside a redriven fan-out, and for its join.

        A redrive keeps outcomes of the fan-out before, with their times, and without fan-outs inside that are over.
        """
        opening = step.name.frames[0].iteration - 1 if step.name.frames else step.name.step - 1
        ends = (each.name.step for each in self.timeline.top_level if each.ending is not None)
        return opening - 1 in ends

    def _has_waited_before(self, step: Checkpoint) -> bool:
        """Return True for a branch's commit that a redrive kept: it waited in the fan-out before."""
        if not step.name.frames or not self._is_carried(step):
            return False
        opening = step.name.frames[0].iteration - 1
        # What runs after the redrive waits again, and a commit with a time before it cannot be of then.
        opened = (each for each in self.timeline.top_level if each.name.step == opening)
        return any(step.committed_ms <= each.committed_ms + SKEW_MS for each in opened)

    def _opens(self, step: Checkpoint, effect: Effect) -> Scope | None:
        """Return the fan-out that commit `step` must name as opened."""
        origin = self.timeline.start.fork
        scope = effect.scope if isinstance(effect, OpenScope) else None
        if origin is None or scope is None or step.name.frames or step.name.step != origin.step - 1:
            return scope
        # The last copy of a fork opens nothing if the fork begins with the fan-out.
        return None if scope.state == origin.node else scope


def _is_entered(before: Checkpoint, states: Sequence[str], state: object) -> bool:
    """Return True if `before`, a start or retry, leads to a fan-out's input."""
    is_again = before.phase is Phase.RETRIED and before.state in states
    return is_again or (isinstance(state, FanOut) and is_start(before.name))


def _content(outcome: Outcome) -> Outcome | str | None:
    """Return an outcome, or a failure's error alone: texts of causes differ between releases."""
    return outcome.error if isinstance(outcome, Failure) else outcome


def _wrong(rule: Rule, step: Checkpoint, found: str) -> Finding:
    return Finding(rule, str(step.name), found)


def _of(step: Checkpoint) -> str:
    return "the start" if is_start(step.name) else f"{step.state!r} at {step.name}"


def _ended(ending: object) -> str:
    return "no end" if ending is None else f"the end {ending}"


def _scope_text(scope: Scope | None) -> str:
    return "nothing" if scope is None else f"{scope.state!r} with {scope.size} branches"


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= 300 else f"{text[:300]}…"  # noqa: PLR2004 - a line for people


def joined_wrongly(rt: Runtime, timeline: Timeline, opened: OpenScope, commit: Checkpoint) -> str | None:
    """Return a fault of `commit`, outcome of fan-out `opened` or joining Task; None without fault.

    A failure is believed: the first failed branch decides, and others may have succeeded since. So is the outcome of a
    quorum, which did not wait for the branches that ended after it.
    """
    is_own = commit.state == opened.scope.state
    is_success = isinstance(commit.outcome, Success) and commit.continuation.caught is None
    is_believed = (
        opened.arrival.state.quorum is not None or commit.phase is not Phase.LEFT or (is_own and not is_success)
    )
    lasts = (timeline.last(opened.scope.branch(index)) for index in range(opened.scope.size))
    if is_believed or any(last is not None and isinstance(last.outcome, Collected) for last in lasts):
        return None
    try:
        expected = join_results(rt, opened.scope)
    except InconsistentHistory as missing:
        return f"is committed, but {missing}"
    except (UnumError, LookupError, TypeError, ValueError):
        return None  # found with the branch that cannot be planned
    outcome = limit_outcome(rt, expected.outcome, expected.continuation, limit=rt.workflow.payload_limit)
    return "its result is not made of the results of its branches" if is_own and outcome != commit.outcome else None


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

    def _definitions(self, deployed: Workflow | None) -> tuple[list[Workflow], list[Finding]]:
        """Return definitions named in the history, newest first, and faults of missing or forged definitions."""
        own = [each.checkpoint for each in self.history.live]
        digests = dict.fromkeys(step.digest for step in _newest_first([self.start.checkpoint, *own]) if step.digest)
        copied = dict.fromkeys(filter(None, map(_copied_digest, own)))
        found: list[Workflow] = []
        findings: list[Finding] = []
        for digest in (*digests, *(each for each in copied if each not in digests)):
            if deployed is not None and deployed.digest == digest:
                found.append(deployed)
                continue
            try:
                found.append(read_definition(self.store, self.workflow, digest))
            except (DefinitionNotStored, InconsistentHistory) as error:
                if digest in digests:
                    findings.append(Finding(Rule.DEFINITION, digest, str(error)))
        if not found and not findings and deployed is not None:
            found.append(deployed)
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
