"""Attributes of a new execution, from its starter and from places in its input."""

from collections.abc import Iterator
from typing import Any

from unum_runtime.errors import StatesError
from unum_runtime.model.start_facts import RULE, are_attributes, merged, to_text
from unum_runtime.model.states import Json, Language, Pass
from unum_runtime.protocol.runtime import Runtime

_SHOWN = 200
"""Characters of refused attributes in the log."""


def facts(rt: Runtime, value: Json, chosen: Json) -> str:
    """Return the facts of an execution with input `value` for its start record.

    A chosen attribute wins over that of the definition. What is not valid is left out: no execution fails by a label.
    """
    own = chosen if are_attributes(chosen) else {}
    if chosen and not own:
        rt.log("refused", reason=f"attributes: expected {RULE}, got {str(chosen)[:_SHOWN]}")
    return to_text(merged(own, dict(_found(rt, value))))


def _found(rt: Runtime, value: Json) -> Iterator[tuple[str, Json]]:
    """Yield the attributes that the definition finds in the input."""
    for name, place in (rt.workflow.attributes or {}).items():
        try:
            yield name, _evaluated(rt, place, value) if isinstance(place, str) else _at(place, value)
        except (StatesError, KeyError, IndexError):
            continue  # an input without the value has no such attribute


def _at(place: list[str | int], value: Json) -> Json:
    key: Any
    for key in place:
        if type(value) is not (dict if isinstance(key, str) else list):
            raise KeyError(key)
        value = value[key]
    return value


def _evaluated(rt: Runtime, expression: str, value: Json) -> Json:
    from unum_runtime.asl.expression_context import ExpressionContext  # noqa: PLC0415 - few attributes are expressions
    from unum_runtime.asl.languages import program  # noqa: PLC0415

    state = Pass(name="", scope=None, next=None, language=Language.JSONATA, data={"Output": expression})
    return program(state).output(value, value, ExpressionContext({}, now_ms=rt.clock.now_ms())).value
