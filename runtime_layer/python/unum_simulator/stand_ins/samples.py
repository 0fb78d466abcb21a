"""Sample values: minimal and deterministic, by a service's model and by what a definition reads."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from unum_runtime.asl.serialize import dumps
from unum_runtime.features.services.spelling import fold_name
from unum_runtime.model.states import Json
from unum_simulator.stand_ins.uses import Use

MOMENT = datetime(2020, 1, 1, tzinfo=UTC)
"""Time in all sample values: past, so that no Wait for it takes longer than executions are kept."""

_DEEPEST = 8
_NUMBERS = ("integer", "long", "float", "double")
_PROBLEMS = ("error", "fail", "unprocessed", "exception", "reject", "invalid")
"""Parts of the names of fields that only exist after a failure; a number of failures is 0."""

_GOOD = ("succe", "complete", "active", "available", "ready", "created", "enabled")
"""Beginnings of the values with which services report success."""


def sample(use: Use, name: str = "text", turn: int = 0) -> Json:
    """Return a value with all parts that `use` has.

    Args:
        use: what a definition reads of the value.
        name: text for a part about which nothing else is known.
        turn: number of earlier values; values rotate through the constants with which they are compared, and through
            one that is unlike these, so that loops end.
    """
    if use.members:
        return {member: sample(inner, member, turn) for member, inner in use.members.items()}
    if use.element is not None:
        return [sample(use.element, name, turn)] * use.length
    if use.constants:
        return _rotated(use, turn)
    return name if use.sample is None else use.sample


@dataclass(frozen=True)
class Responses:
    """Responses of a service's operation, with botocore's types.

    Attributes:
        omitted: names of fields without a value, such as the token of a next page.
        turn: number of earlier responses; see `sample`.
    """

    omitted: Collection[str] = ()
    turn: int = 0

    def response(self, shape: Any, use: Use, around: tuple[str, ...] = (), name: str = "text") -> Any:
        """Return a response, or a part of it.

        Args:
            shape: ``botocore.model.Shape``.
            use: what the definition reads of the response; fields that the model does not have are left out.
            around: names of the shapes around `shape`.
            name: name of the field.
        """
        if getattr(shape, "is_document_type", False):
            return sample(use, name, self.turn)
        inner = (*around, shape.name)
        match shape.type_name:
            case "structure":
                return self._structure(shape, use, inner)
            case "list" if not _is_too_deep(shape.member, inner):
                return [self.response(shape.member, use.element or Use(), inner, name)] * use.length
            case "map" if not _is_too_deep(shape.value, inner):
                members = use.members or {"key": Use()}
                return {key: self.response(shape.value, of, inner, key) for key, of in members.items()}
            case "list" | "map":
                return [] if shape.type_name == "list" else {}
        return self._scalar(shape, use, name)

    def _structure(self, shape: Any, use: Use, around: tuple[str, ...]) -> dict[str, Any]:
        read = {fold_name(name): inner for name, inner in use.members.items()}
        found = {}
        for name, member in shape.members.items():
            known = read.get(fold_name(name), Use())
            if known.is_read or not (self._is_omitted(name, member) or _is_too_deep(member, around)):
                found[name] = self.response(member, known, around, name)
        # Of a union, a service sets one member, and a reader names the one that it expects.
        is_union = getattr(shape, "is_tagged_union", False) or shape.name == "AttributeValue"
        chosen = next((name for name in found if fold_name(name) in read), next(iter(found), None))
        return {name: value for name, value in found.items() if not is_union or name == chosen}

    def _is_omitted(self, name: str, shape: Any) -> bool:
        is_problem = any(part in name.lower() for part in _PROBLEMS) and shape.type_name not in _NUMBERS
        return is_problem or name in self.omitted

    def _scalar(self, shape: Any, use: Use, name: str) -> Any:
        match shape.type_name:
            case _ if use.constants:
                return _rotated(use, self.turn)
            case "string" | "character" | "blob":
                text = self._text(shape, use, name)
                return text.encode() if shape.type_name == "blob" else text
            case "timestamp":
                return MOMENT
            case "boolean":
                return False
        return max(0, shape.metadata.get("min", 0)) if use.sample is None else use.sample

    def _text(self, shape: Any, use: Use, name: str) -> str:
        # Who reads inside of a text expects JSON in it.
        if use.members or use.element:
            return dumps(sample(use, name, self.turn))
        if use.sample is None and shape.type_name == "blob":
            return "{}"
        values = sorted(shape.metadata.get("enum", ()), key=_preference)
        if values:
            return str(values[self.turn % len(values)])
        return str(sample(use, name, self.turn)).ljust(shape.metadata.get("min", 0), "-")


def _is_too_deep(shape: Any, around: tuple[str, ...]) -> bool:
    return len(around) >= _DEEPEST or shape.name in around


def _preference(value: str) -> int:
    """Return a rank for a value of an enumeration: success first, problems last."""
    text = value.lower()
    return 0 if text.startswith(_GOOD) else 2 if any(part in text for part in _PROBLEMS) else 1


def _rotated(use: Use, turn: int) -> Json:
    """Return a constant of `use`; later turns return a different value."""
    values = [*use.constants, _another(use.constants[-1])]
    return values[turn % len(values)]


def _another(constant: Json) -> Json:
    match constant:
        case bool():
            return not constant
        case int() | float():
            return constant + 1
    return f"not {constant}"
