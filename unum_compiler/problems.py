"""Where the compiler collects problems, and how it words them."""

import difflib
import json
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

from unum_runtime.asl.places import element, member
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.ir import Json

_SHOWN_CHARACTERS = 60


class Feature(StrEnum):
    """What the Amazon States Language has and this version of the compiler refuses."""

    ITEM_READER = "ItemReader"
    RESULT_WRITER = "ResultWriter"
    CREDENTIALS = "Credentials"
    RESOURCE = "resource"
    TEMPLATE = "CloudFormation's"
    SUBSTITUTION = "substitution for a number"
    SERVICE = "service integration"
    INVOKE_OPTIONS = "lambda:invoke options"
    DYNAMIC_FUNCTION = "FunctionName chosen at run time"


class Report:
    """Collects problems; the compiler goes on after each."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []

    def mistake(self, place: str, message: str) -> None:
        """Note what is wrong in the language itself."""
        self._problems.append(Problem(place, message))

    def unsupported(self, place: str, feature: str, remedy: str) -> None:
        """Note what is right in the language, but not supported."""
        message = f"{feature}: valid in the Amazon States Language, but not supported by this version; {remedy}"
        self._problems.append(Problem(place, message, feature))

    def add(self, problems: Iterable[Problem]) -> None:
        """Note what others found."""
        self._problems.extend(problems)

    def raise_problems(self, definition: Json) -> None:
        """End the compilation if there were problems.

        Raises:
            DefinitionError: with all of them, in the order of the definition.
        """
        if not self._problems:
            return
        order = {place: position for position, place in enumerate(_places(definition, "$"))}
        unique = dict.fromkeys(self._problems)
        raise DefinitionError(tuple(sorted(unique, key=lambda problem: _position(problem.path, order))))


def shown(value: Json) -> str:
    """`value` as JSON, short enough for a message."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def listed(names: Iterable[str]) -> str:
    """`names`, quoted and in order."""
    return ", ".join(map(shown, sorted(names)))


def did_you_mean(name: str, known: Collection[str]) -> str:
    """A remedy: the known name next to `name`, else all that are known."""
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"did you mean {shown(near[0])}?"
    return f"known here: {listed(known)}" if known else "none is known here"


def _position(place: str, order: Mapping[str, int]) -> int:
    """Where `place` stands in the definition, or, if something is missing there, what it is missing from."""
    return order.get(place, order.get(place.rpartition(".")[0], len(order)))


def _places(value: Json, place: str) -> Iterable[str]:
    yield place
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _places(child, member(place, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _places(child, element(place, index))
