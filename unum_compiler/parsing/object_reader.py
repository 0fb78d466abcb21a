"""An object of a definition that is being read: its fields, where it stands, and where problems with it go."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeGuard, TypeVar

from unum_compiler.problems import Report, did_you_mean, listed, shown
from unum_runtime.asl.places import element, member
from unum_runtime.asl.timestamps import instant
from unum_runtime.model.ir import Json, Language

_T = TypeVar("_T")

_PLACEHOLDER = re.compile(r"\$\{[^{}]+\}")
_KIND_NAMES: Mapping[type, str] = {
    str: "a string",
    bool: "true or false",
    int: "an integer",
    list: "an array",
    dict: "an object",
}


@dataclass(frozen=True, slots=True)
class Part:
    """An object at its place.

    Attributes:
        fields: what it holds.
        place: its JSON path.
        language: of the expressions in it.
        report: where problems go.
        states: the fields of JSONata's ``$states`` that its ``Output`` and ``Assign`` can read and others cannot.
    """

    fields: Mapping[str, Json]
    place: str
    language: Language
    report: Report
    states: frozenset[str] = frozenset()

    def at(self, field: str) -> str:
        """The place of `field`."""
        return member(self.place, field)

    def has(self, *fields: str) -> bool:
        """Whether one of `fields` is there."""
        return any(field in self.fields for field in fields)

    def inner(self, field: str) -> "Part | None":
        """The object in `field`, if there is one; a value of another type is reported."""
        value = self.optional(field, dict)
        return None if value is None else replace(self, fields=value, place=self.at(field), states=frozenset())

    def objects(self, field: str, what: str) -> Iterator["Part"]:
        """The objects of the array in `field`, each of which should be `what`."""
        for index, value in enumerate(self.optional(field, list) or ()):
            place = element(self.at(field), index)
            if isinstance(value, dict):
                yield replace(self, fields=value, place=place, states=frozenset())
            else:
                self.report.mistake(place, f"expected {what}, got {shown(value)}")

    def required(self, field: str, kind: type[_T]) -> _T | None:
        """The field, which must be there."""
        if field not in self.fields:
            present = f"there are {listed(self.fields)}" if self.fields else "there is none at all"
            self.report.mistake(self.place, f'the field "{field}" is missing; {present}')
            return None
        return self.optional(field, kind)

    def optional(self, field: str, kind: type[_T]) -> _T | None:
        """The field, if it is there and has the right type."""
        value = self.fields.get(field)
        if field not in self.fields:
            return None
        if _is(kind, value):
            return value
        self.report.mistake(self.at(field), f"expected {_KIND_NAMES[kind]}, got {shown(value)}")
        return None

    def not_both(self, field: str, other: str) -> None:
        """Report if both fields are there."""
        if field in self.fields and other in self.fields:
            self.report.mistake(self.place, f"expected {shown(field)} or {shown(other)}, got both; remove one")

    def check_names(self, what: str, known: Collection[str]) -> None:
        """Report fields that `what` does not have."""
        for name in self.fields.keys() - known:
            self.report.mistake(self.at(name), f"{what} has no field {shown(name)}; {did_you_mean(name, known)}")


def is_placeholder(value: Json) -> bool:
    """Whether `value` is nothing but ``${Name}``, which stands for what the deployment gives."""
    return isinstance(value, str) and _PLACEHOLDER.fullmatch(value) is not None


Check: TypeAlias = Callable[[Part, str], None]
"""Reports what is wrong with a field that a part has."""


def check_text(part: Part, field: str) -> None:
    """Report `field` if it is no text."""
    part.optional(field, str)


def check_timestamp(part: Part, field: str) -> None:
    """Report `field` if it is no timestamp; what the deployment gives is seen at run time."""
    value = part.fields[field]
    if instant(value) is None and not is_placeholder(value):
        message = f'expected a timestamp like "2016-12-05T21:29:29Z" (RFC 3339), got {shown(value)}'
        part.report.mistake(part.at(field), message)


def _is(kind: type[_T], value: Json) -> TypeGuard[_T]:
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))
