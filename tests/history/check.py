"""Judge a run by its history alone: each committed outcome has one cause, and each execution one end.

The lines are read in the order of effect. Nothing here plans: a commit, an event or a run of user code is judged by the
event that its delivery was given, and by what was committed before. Keys, items and events are read as bytes that
others hold (docs/architecture.md); no code of the runtime is called.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.history.places import Place, of_envelope, of_key, of_text
from tests.history.record import Line
from tests.history.roles import Delivery, Role, delivery_of

_STAMP = re.compile(r"stamp:[0-9a-f]{32}")
_CONTENT = ("value", "error", "cause", "variables", "value_ref")


@dataclass(frozen=True)
class Violation:
    """Violation of a promise, with the invocation and line that show it."""

    rule: str
    place: Place | None
    line: int
    detail: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.rule}: {self.place or ''} {self.detail}"


@dataclass(frozen=True)
class Commit:
    """An accepted create."""

    line: int
    by: str
    item: Mapping[str, Any]

    @property
    def content(self) -> tuple[Any, ...]:
        """Return the part of a copy that equals its original."""
        return (self.item["state"], *(self.item.get(name) for name in _CONTENT))

    @property
    def is_success(self) -> bool:
        """Return True for an outcome neither failed nor derived from a failure."""
        return self.item["phase"] == "left" and not {"error", "caught_error"} & self.item.keys()


@dataclass
class Findings:
    """Findings in the history of a workflow.

    Attributes:
        violations: what must not happen.
        commits: the accepted creates, by place.
        attempts: number of attempts to create, refused ones included, by place.
        copies: places that a redrive or a fork has copied.
        ends: the ends of each execution, in order.
        lines: numbers of the lines about each place.
    """

    violations: list[Violation] = field(default_factory=list)
    commits: dict[Place, Commit] = field(default_factory=dict)
    attempts: Counter[Place] = field(default_factory=Counter)
    copies: set[Place] = field(default_factory=set)
    ends: dict[str, list[Place]] = field(default_factory=lambda: defaultdict(list))
    lines: dict[Place, list[int]] = field(default_factory=lambda: defaultdict(list))

    def end(self, execution: str) -> Mapping[str, Any] | None:
        """Return the item with the last end of an execution, unless a later step has reopened it."""
        if not self.ends[execution]:
            return None
        last = self.ends[execution][-1]
        return None if last._replace(step=last.step + 1) in self.commits else self.commits[last].item


def check(lines: Sequence[Line], workflow: str, table: str, notes: str = "") -> Findings:
    """Return what the history of one workflow shows.

    Args:
        lines: the history.
        workflow: name of the workflow.
        table: name of its table.
        notes: name of the table in which user code writes down its runs; empty for none.
    """
    return _Checker(workflow, table, notes).check(lines)


def check_results(found: Findings, results: Mapping[str, tuple[str, Any]]) -> Iterator[Violation]:
    """Yield a violation for each execution whose end differs from the status and output that clients saw.

    Args:
        found: what the history shows.
        results: status and output, or error, by the name of the execution.
    """
    by_name = {place.name: place.execution for place in found.commits if place.step == 0 and not place.frames}
    for name, seen in results.items():
        item = found.end(by_name[name]) if name in by_name else None
        if item is None:
            yield Violation("no end", None, 0, f"{name}: clients saw {seen}")
        elif (committed := (item["status"], _result(item))) != seen:
            yield Violation("another result", found.ends[by_name[name]][-1], 0, f"committed {committed}, seen {seen}")


def still(found: Findings) -> list[str]:
    """Return the executions that have a start record and no end."""
    started = {place.execution for place in found.commits if place.step == 0 and not place.frames}
    return sorted(execution for execution in started if found.end(execution) is None)


def _result(item: Mapping[str, Any]) -> Any:
    prefix = "final_" if {"final_value", "final_error"} & item.keys() else ""
    return json.loads(item[f"{prefix}value" if f"{prefix}value" in item else f"{prefix}error"])


class _Checker:
    def __init__(self, workflow: str, table: str, notes: str) -> None:
        self._workflow, self._table, self._notes = workflow, table, notes
        self._found = Findings()
        self._deliveries: dict[str, Delivery] = {}
        self._pending: dict[str, Place] = {}
        self._messages: dict[str, str] = {}
        self._given_up: set[str] = set()
        self._reported: set[str] = set()
        self._open: dict[str, Line] = {}
        self._given: dict[Place, tuple[str, int]] = {}
        self._stamps: dict[str, set[str]] = defaultdict(set)
        self._contents: dict[tuple[str, tuple[Any, ...]], set[tuple[Any, ...]]] = defaultdict(set)
        self._joined: dict[tuple[Any, ...], int] = {}
        self._branches: dict[tuple[Any, ...], set[int]] = defaultdict(set)

    def check(self, lines: Iterable[Line]) -> Findings:
        steps = {
            "write": self._write,
            "bulk": self._bulk,
            "sent": self._sent,
            "message": self._message,
            "begun": self._begun,
            "ended": self._ended,
            "given up": self._give_up,
        }
        for line in lines:
            step = steps.get(line["what"])
            if step is not None:
                step(line)
        for request, line in self._open.items():
            place = of_envelope(line["event"])
            # Late events of what is over may still wait when the emulator ends.
            if place is not None and not self._is_settled(place):
                self._violate("an event is lost", place, line, f"{request}: Lambda accepted it, and nothing came of it")
        for request in self._given_up - self._reported:
            self._violate("a failure is lost", None, {"line": 0}, f"{request}: nobody got the record of the event")
        return self._found

    def _violate(self, rule: str, place: Place | None, line: Line, detail: str) -> None:
        self._found.violations.append(Violation(rule, place, line["line"], detail))

    def _note(self, place: Place | None, line: Line) -> None:
        if place is not None:
            self._found.lines[place].append(line["line"])

    # Deliveries

    def _begun(self, line: Line) -> None:
        delivery = delivery_of(line, self._pending)
        self._deliveries[line["delivery"]] = delivery
        self._open.pop(line["request"], None)
        for place in delivery.places:
            self._note(place, line)
        if delivery.request:
            self._reported.add(delivery.request)
            # The forwarder reports messages that it could not deliver, as Lambda reports events.
            if delivery.request not in self._given_up and delivery.request not in self._messages:
                self._violate(
                    "a failure without a cause", min(delivery.places, default=None), line, "nobody gave it up"
                )

    def _ended(self, line: Line) -> None:
        delivery = self._deliveries.get(line["delivery"])
        if delivery is None:
            return
        for place in delivery.places:
            self._note(place, line)
        if line["result"] != "answer" or delivery.role not in (Role.INVOCATION, Role.FAILURE) or delivery.sent:
            return
        for place in delivery.places:
            if self._is_ours(place) and not self._is_settled(place) and place not in self._pending.values():
                self._violate("an event ends in silence", place, line, "no commit, no event, and the execution runs")

    def _is_settled(self, place: Place) -> bool:
        """Return True if nothing needs `place` any more, or it has an outcome."""
        if place in self._found.commits or any(join in self._found.commits for join in place.joins):
            return True
        return bool(self._found.ends[place.execution])

    def _give_up(self, line: Line) -> None:
        self._given_up.add(line["request"])

    # Events

    def _sent(self, line: Line) -> None:
        event, by = line["event"], line["by"]
        if isinstance(event, dict) and "requestContext" in event:
            self._reported.add(event["requestContext"].get("requestId"))
        if self._is_envelope(event):
            self._open[line["request"]] = line
        self._check_event(event, by, line)

    def _message(self, line: Line) -> None:
        body = line["body"]
        event = body.get("event") if isinstance(body, dict) and "due_ms" in body else None
        if event is not None:
            self._messages[line["message"]] = _text(event)
        elif isinstance(body, dict) and "requestContext" in body:
            self._reported.add(body["requestContext"].get("requestId"))
        self._check_event(event, line["by"], line)

    def _is_envelope(self, event: Any) -> bool:
        return isinstance(event, dict) and event.get("workflow") == self._workflow and of_envelope(event) is not None

    def _feeds(self, sender: Delivery, place: Place, event: Any) -> bool:
        """Return True if `event` gives a Task of a wave the result of the previous branch, which `sender` acts for."""
        given = event.get("input")
        if not isinstance(given, dict) or given.keys() != {"own", "previous"}:
            return False
        beside = (own for own in sender.places if own.shares_a_fan_out(place) and len(own.frames) == len(place.frames))
        previous = [own for own in beside if own.frames[-1].branch + 1 == place.frames[-1].branch]
        commits = (self._found.commits.get(own) for own in previous)
        return any(each and json.loads(each.item.get("value", "null")) == given["previous"] for each in commits)

    def _check_event(self, event: Any, by: str, line: Line) -> None:
        """Check that an event follows from what its sender may act for, and from what was committed before."""
        if by in self._deliveries:
            self._deliveries[by].sent += 1
        place = of_envelope(event) if self._is_envelope(event) else None
        if place is None:
            return
        self._note(place, line)
        if by not in self._deliveries:
            self._violate("an event without a sender", place, line, "no delivery sent it")
            return
        sender = self._deliveries[by]
        if sender.role is Role.FORWARDER:
            if _text(event) not in {self._messages.get(each) for each in sender.messages}:
                self._violate("a foreign event", place, line, "the forwarder was given no such message")
            return
        if not sender.may(place) and not self._feeds(sender, place, event):
            self._violate("a foreign event", place, line, f"sent by {by}, which acts for {_all(sender.places)}")
        self._check_before(place, sender, line, "an event is sent before its cause")
        self._check_stamps(place, json.dumps(event), line, "an event")
        if "join" in event:
            self._check_complete(place, event["join"], line)
        self._check_after_end(place, sender, line, is_commit=False)

    # Commits

    def _bulk(self, line: Line) -> None:
        if self._table in line["tables"]:
            self._violate("a bulk write", None, line, f"{line['operation']}: the checker cannot follow it")

    def _write(self, line: Line) -> None:
        if line["table"] == self._notes:
            self._check_run(line)
        if line["table"] != self._table:
            return
        self._take_pending(line)
        place = of_key(self._workflow, line["key"], line["after"])
        if place is None:
            return
        self._note(place, line)
        self._found.attempts[place] += 1
        writer = self._deliveries.get(line["by"])
        if line["accepted"]:
            self._check_commit(place, writer, line)
        if writer is not None and writer.may(place):
            writer.places.add(place)

    def _take_pending(self, line: Line) -> None:
        partition, sort = line["key"]
        prefix = f"token:{self._workflow}/"
        if line["accepted"] and partition.startswith(prefix) and sort == "pending":
            place = of_envelope(json.loads(line["after"]["value"]))
            if place is not None:
                self._pending[partition.removeprefix(prefix)] = place

    def _check_commit(self, place: Place, writer: Delivery | None, line: Line) -> None:
        item = line["after"]
        if place in self._found.commits:
            if item is None or "collected" not in item:
                first = self._found.commits[place]
                self._violate("a second outcome", place, line, f"accepted after line {first.line}: {_short(item)}")
            return
        if item is None or line["before"] is not None:
            self._violate("an outcome without a create", place, line, f"{line['operation']}: {_short(item)}")
            return
        commit = Commit(line["line"], line["by"], item)
        is_start = place.step == 0 and not place.frames
        if not is_start:
            self._check_cause(place, commit, writer, line)
        elif writer is not None and writer.role in (Role.INVOCATION, Role.FAILURE, Role.FORWARDER):
            self._violate("a foreign commit", place, line, f"a start record by {line['by']}")
        self._keep(place, commit)

    def _check_cause(self, place: Place, commit: Commit, writer: Delivery | None, line: Line) -> None:
        if writer is None:
            self._violate("a foreign commit", place, line, "no delivery made it")
            return
        if not writer.may(place):
            self._violate("a foreign commit", place, line, f"by {line['by']}, which acts for {_all(writer.places)}")
        self._check_before(place, writer, line, "a commit before its cause", commit)
        self._check_after_end(place, writer, line, is_commit=True)
        joined = self._scope_joined_at(place)
        if joined is not None and commit.is_success and commit.item["state"] == joined[0]:
            self._check_complete(place, joined, line)
        for depth in range(1, len(place.frames) + 1):
            since = self._joined.get(_scope(place, depth))
            if since is not None:
                self._violate("a commit after the join", place, line, f"line {since} joined the fan-out around it")

    def _check_before(self, place: Place, actor: Delivery, line: Line, rule: str, commit: Commit | None = None) -> None:
        """Check that what leads to `place` is committed; copies are made before what opens their fan-out."""
        before = place.before
        found = None if before is None else self._found.commits.get(before)
        if commit is not None and actor.role is Role.CONTROL and self._is_copy(place, commit):
            self._found.copies.add(place)
            return
        if found is None:
            self._violate(rule, place, line, f"{before} has no outcome")
            return
        if place.step == 0 and place.frames:
            own, opened = place.frames[-1], json.loads(found.item.get("opens", "null"))
            if opened is None or (*own.scope,) != tuple(opened[:3]) or own.branch >= opened[3]:
                self._violate(rule, place, line, f"{before} opens {opened}, and not this branch")

    def _is_copy(self, place: Place, commit: Commit) -> bool:
        """Return True if an operator's request copies an outcome of the same branch before, or of a fork's original."""
        record = self._found.commits.get(Place(place.execution, (), 0))
        source, is_early = place.execution, bool(place.frames)
        if record is not None and "forking" in record.item:
            name, started_ms, _, _, first_own_step = json.loads(record.item["forking"])
            source, is_early = f"{name}:{started_ms:x}", _top(place) < first_own_step
        return is_early and commit.content in self._contents[source, place.shape]

    def _scope_joined_at(self, place: Place) -> list[Any] | None:
        before = place.before
        opener = self._found.commits.get(before) if before is not None else None
        opened: list[Any] | None = json.loads(opener.item.get("opens", "null")) if opener is not None else None
        return opened if opened is not None and opened[1] == place.step else None

    def _check_complete(self, place: Place, opened: Sequence[Any], line: Line) -> None:
        """Check that all branches of a fan-out have outcomes, and that none follows later."""
        state, iteration, generation, size = opened
        scope = (place.execution, place.frames, state, iteration, generation)
        missing = sorted({*range(size)} - self._branches[scope])
        if missing:
            self._violate("an incomplete join", place, line, f"branches {missing[:10]} of {state} have no outcome")
        self._joined.setdefault(scope, line["line"])

    def _check_after_end(self, place: Place, actor: Delivery, line: Line, *, is_commit: bool) -> None:
        """Check that nothing follows the end of an execution, unless a redrive reopens it."""
        ends = self._found.ends[place.execution]
        if place.frames or not ends or place.step <= ends[-1].step:
            return
        is_reopened = ends[-1]._replace(step=ends[-1].step + 1) in self._found.commits
        if is_reopened or (is_commit and actor.control == "redrive"):
            return
        self._violate(
            "more after the end", place, line, f"line {self._found.commits[ends[-1]].line} ended the execution"
        )

    def _keep(self, place: Place, commit: Commit) -> None:
        found = self._found
        found.commits[place] = commit
        self._stamps[place.execution] |= {*_STAMP.findall(json.dumps(commit.item))}
        self._contents[place.execution, place.shape].add(commit.content)
        for depth in range(1, len(place.frames) + 1):
            self._branches[_scope(place, depth)].add(place.frames[depth - 1].branch)
        if "status" in commit.item:
            if place.frames:
                self._violate("an end in a branch", place, {"line": commit.line}, _short(commit.item))
            found.ends[place.execution].append(place)

    # User code

    def _check_run(self, line: Line) -> None:
        item = line["after"] or {}
        place = of_text(str(item.get("ran"))) if line["accepted"] else None
        if place is None or not self._is_ours(place):
            return
        self._note(place, line)
        runner = self._deliveries.get(line["by"])
        if runner is None or not runner.may(place):
            self._violate("user code of a foreign event", place, line, f"by {line['by']}")
            return
        for name in (place, *place.joins):
            commit = self._found.commits.get(name)
            if commit is not None and commit.line < runner.begun:
                self._violate("user code after the outcome", place, line, f"{name} was committed on line {commit.line}")
        first, since = self._given.setdefault(place, (item["given"], line["line"]))
        if first != item["given"]:
            self._violate("two inputs", place, line, f"{item['given']} after {first} on line {since}")
        self._check_stamps(place, item["given"], line, "user code")

    def _is_ours(self, place: Place) -> bool:
        return Place(place.execution, (), 0) in self._found.commits

    def _check_stamps(self, place: Place, text: str, line: Line, what: str) -> None:
        if unknown := {*_STAMP.findall(text)} - self._stamps[place.execution]:
            self._violate("a value of nobody", place, line, f"{what} has {sorted(unknown)}, which nothing committed")


def _top(place: Place) -> int:
    """Return the step of the top level that a place is inside of, or is itself."""
    return place.frames[0].iteration - 1 if place.frames else place.step


def _scope(place: Place, depth: int) -> tuple[Any, ...]:
    return (place.execution, place.frames[: depth - 1], *place.frames[depth - 1].scope)


def _text(event: Any) -> str:
    return json.dumps(event, sort_keys=True)


def _all(places: Iterable[Place]) -> str:
    return ", ".join(sorted(map(str, places))) or "nothing"


def _short(item: Any) -> str:
    return json.dumps(item)[:300]
