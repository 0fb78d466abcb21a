"""Collection and wording of the compiler's problems.

An error text says ``expected X, got Y`` and, after a semicolon, a remedy. Its place is a JSON path.
"""

import difflib
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

from unum_runtime.asl.places import element, member
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.json_text import to_readable
from unum_runtime.model.states import Json

_SHOWN_CHARACTERS = 60


class Feature(StrEnum):
    """Valid parts of the Amazon States Language that this version of the compiler refuses."""

    ITEM_READER = "ItemReader"
    RESULT_WRITER = "ResultWriter"
    CREDENTIALS = "Credentials"
    RESOURCE = "resource"
    TEMPLATE = "CloudFormation's"
    SERVICE = "service integration"


class Report:
    """Collector of problems; compilation continues after each."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []

    def mistake(self, place: str, message: str) -> None:
        """Add a language violation."""
        self._problems.append(Problem(place, message))

    def unsupported(self, place: str, feature: str, remedy: str) -> None:
        """Add a valid construct that this version cannot compile."""
        message = f"{feature}: valid in the Amazon States Language, but not supported by this version; {remedy}"
        self._problems.append(Problem(place, message, feature))

    def differs(self, place: str, feature: str, reason: str) -> None:
        """Add a construct that works here, but not as in Step Functions, for strict compatibility."""
        message = f'{feature}: refused by compatibility="strict"; {reason}'
        self._problems.append(Problem(place, message, feature))

    def add(self, problems: Iterable[Problem]) -> None:
        """Add problems that other modules found."""
        self._problems.extend(problems)

    def raise_problems(self, definition: Json) -> None:
        """Raise DefinitionError with all collected problems.

        Raises:
            DefinitionError: with every problem, in the order of `definition`.
        """
        if not self._problems:
            return
        order = {place: position for position, place in enumerate(_places(definition, "$"))}
        unique = dict.fromkeys(self._problems)  # two checks may find the same problem
        raise DefinitionError(tuple(sorted(unique, key=lambda problem: _position(problem.path, order))))


def shown(value: Json) -> str:
    """Return `value` as JSON, cut to a length for messages."""
    text = to_readable(value)  # text of users stays readable in any script
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def listed(names: Iterable[str]) -> str:
    """Return `names` quoted, sorted and separated by commas."""
    return ", ".join(map(shown, sorted(names)))


def alternatives(names: Collection[str]) -> str:
    """Return ``"A" or "B"`` for two names, else a list of them all."""
    first, *others = names
    return f"{shown(first)} or {shown(*others)}" if len(others) == 1 else f"one of {listed(names)}"


def did_you_mean(name: str, known: Collection[str]) -> str:
    """Return a remedy: the known name most similar to `name`, else all known names."""
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"did you mean {shown(near[0])}?"
    return f"known here: {listed(known)}" if known else "none is known here"


def _position(place: str, order: Mapping[str, int]) -> int:
    """Return the position of `place` in the document, or the object's position if a field is missing."""
    return order.get(place, order.get(place.rpartition(".")[0], len(order)))


def _places(value: Json, place: str) -> Iterable[str]:
    yield place
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _places(child, member(place, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _places(child, element(place, index))
