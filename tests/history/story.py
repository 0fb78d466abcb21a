"""The whole history of one invocation, for people."""

import json
from collections.abc import Collection, Iterator, Sequence

from tests.history.check import Findings, Violation
from tests.history.places import Place
from tests.history.record import Line

_LONGEST = 400
_MOST_TOLD = 20
_HIDDEN = ("what", "line", "table")
_FATES = ("begun", "ended", "fault", "given up")


def tell(lines: Sequence[Line], found: Findings, violations: Sequence[Violation]) -> Iterator[str]:
    """Yield each violation, the first ones followed by the lines about their invocations."""
    for number, violation in enumerate(violations):
        yield str(violation)
        if violation.place is not None and number < _MOST_TOLD:
            yield from (f"    {text}" for text in history_of(lines, found, violation.place))


def history_of(lines: Sequence[Line], found: Findings, place: Place) -> Iterator[str]:
    """Yield the lines about an invocation and what led to it, and the fates of its deliveries and events."""
    numbered = {line["line"]: line for line in lines}  # a history of one stack has gaps
    own = [numbered[number] for number in found.lines[place]]
    origin = [numbered[number] for number in found.lines[place.before]] if place.before is not None else []
    deliveries = {line["delivery"] for line in own if "delivery" in line} | {str(line.get("by")) for line in own} - {""}
    requests = {line["request"] for line in own if "request" in line}
    around = [line for line in lines if line["what"] in _FATES and _is_of(line, deliveries, requests)]
    shown = {line["line"]: line for line in (*origin, *own, *around)}
    for number in sorted(shown):
        yield _one(shown[number])


def _is_of(line: Line, deliveries: Collection[str], requests: Collection[str]) -> bool:
    return line.get("delivery") in deliveries or line.get("request") in requests


def _one(line: Line) -> str:
    fields = {name: value for name, value in line.items() if name not in _HIDDEN}
    return f"{line['line']:>7} {line['what']:8} {json.dumps(fields)[:_LONGEST]}"
