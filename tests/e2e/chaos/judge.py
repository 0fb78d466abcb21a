"""Judge the history of a chaos run: violations, stalled executions, and figures for docs/evidence.md."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.history.check import Findings, Violation, check, check_results, still
from tests.history.places import of_envelope
from tests.history.record import Line, read
from tests.history.story import tell

WORKFLOWS = ("Workflow", "Child")

_KINDS = {
    "FailureHandler": "failure handler",
    "Control": "control function",
    "Timer": "timer forwarder",
    "Services": "service function",
}


@dataclass
class Judgement:
    """Findings about several workflows in one history.

    Attributes:
        lines: the history.
        found: findings by the workflow's construct id.
        violations: violations by the same.
    """

    lines: Sequence[Line]
    found: dict[str, Findings] = field(default_factory=dict)
    violations: dict[str, list[Violation]] = field(default_factory=dict)

    @property
    def still(self) -> list[str]:
        """Executions without an end."""
        return [each for found in self.found.values() for each in still(found)]

    @property
    def kills(self) -> Counter[str]:
        """Deliveries that ended with their process killed, by kind of function."""
        functions = {line["delivery"]: line["function"] for line in self.lines if line["what"] == "begun"}
        killed = (line["delivery"] for line in self.lines if line["what"] == "ended" and line["result"] == "killed")
        return Counter(kind_of(functions[delivery]) for delivery in killed)

    @property
    def nudged(self) -> int:
        """Number of executions of which a sweep sent an event again."""
        sweeps = {line["delivery"] for line in self.lines if line["what"] == "begun" and _is_sweep(line["event"])}
        sent = (of_envelope(line["event"]) for line in self.lines if line["what"] == "sent" and line["by"] in sweeps)
        return len({place.execution for place in sent if place is not None})

    @property
    def letters(self) -> int:
        """Number of failure records that the failure handler could not process in any attempt."""
        bodies = (line["body"] for line in self.lines if line["what"] == "message")
        return sum(isinstance(body, dict) and "requestContext" in body for body in bodies)

    @property
    def ends(self) -> Counter[str]:
        """Ends of executions by status; an execution that was redriven counts with its last one."""
        last = (found.end(execution) for found in self.found.values() for execution in found.ends)
        return Counter(str(item["status"]) for item in last if item is not None)

    def story(self) -> str:
        """Return all violations with the histories of their invocations."""
        return "\n".join(
            text for name, found in self.found.items() for text in tell(self.lines, found, self.violations[name])
        )


def judge(
    history: Path, outputs: Mapping[str, str], results: Mapping[str, tuple[str, Any]], *workflows: str
) -> Judgement:
    """Return what `history` shows of `workflows`, the first of which has the `results` that clients saw."""
    stack = outputs["NotesTable"].partition("-")[0]
    judged = Judgement([*_of_stack(read(history), f"{stack}-")])
    for name in workflows:
        found = check(judged.lines, outputs[f"{name}Workflow"], outputs[f"{name}Table"], outputs["NotesTable"])
        seen = [*check_results(found, results)] if name == workflows[0] else []
        judged.found[name], judged.violations[name] = found, [*found.violations, *seen]
    return judged


def _of_stack(lines: Iterable[Line], prefix: str) -> Iterator[Line]:
    """Yield the lines about functions, tables and queues of one stack: others send forged events on purpose."""
    deliveries: set[str] = set()
    for line in lines:
        place = line["function"].split(":")[6] if "function" in line else line.get("table") or line.get("queue", "")
        # Names of buckets have small letters alone.
        if place.rpartition("/")[2].lower().startswith(prefix.lower()) or line.get("delivery") in deliveries:
            deliveries |= {line["delivery"]} if "delivery" in line else set()
            yield line


def _is_sweep(event: Any) -> bool:
    return isinstance(event, dict) and event.get("control") == "sweep"


def kind_of(function: str) -> str:
    """Return the kind of a function by its ARN."""
    name = function.split(":")[6]
    return next((kind for part, kind in _KINDS.items() if part in name), "task")
