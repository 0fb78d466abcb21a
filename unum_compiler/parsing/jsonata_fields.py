"""Checks the fields of JSONata states that hold expressions, with what the runtime evaluates them with.

That loads the language, and is imported only where a definition has an expression in it.
"""

from collections.abc import Mapping

from unum_compiler.parsing.numbers import NUMBERS, check_number
from unum_compiler.parsing.object_reader import Check, Part, check_text, check_timestamp
from unum_compiler.problems import shown
from unum_runtime.model.ir import Json

_BEGINS, _ENDS = "{%", "%}"
_SIZES = ("MaxItemsPerBatch", "MaxInputBytesPerBatch")
_BATCHER = frozenset(("BatchInput", *_SIZES))
_ALWAYS = frozenset(("input", "context"))
_RESULTS = ("Output", "Assign")


def is_expression(value: Json) -> bool:
    """Whether `value` is text that should be JSONata."""
    return isinstance(value, str) and value.startswith(_BEGINS)


def check_expression(part: Part, field: str) -> None:
    """Report what is wrong with `field`, which must be an expression."""
    from unum_runtime.asl.jsonata.check import check_expression  # noqa: PLC0415 - only where a definition needs it

    value, place = part.fields[field], part.at(field)
    if is_expression(value):
        part.report.add(check_expression(value, place, _states(part, field)))
    else:
        part.report.mistake(place, f"expected {_BEGINS} an expression {_ENDS}, got {shown(value)}")


def _template(part: Part, field: str) -> None:
    value = part.fields[field]
    if not _has_text(value):
        return
    from unum_runtime.asl.jsonata.check import check_template  # noqa: PLC0415 - only where a definition needs it

    part.report.add(check_template(value, part.at(field), _states(part, field)))


def _states(part: Part, field: str) -> frozenset[str]:
    """The fields of ``$states`` that the expressions in `field` may read."""
    return _ALWAYS | part.states if field in _RESULTS else _ALWAYS


def _object(part: Part, field: str) -> None:
    if part.inner(field) is not None:
        _template(part, field)


def _items(part: Part, field: str) -> None:
    (_template if isinstance(part.fields[field], list | dict) else check_expression)(part, field)


def _or(literal: Check) -> Check:
    """The check of a field that holds an expression, or what `literal` allows."""

    def check(part: Part, field: str) -> None:
        (check_expression if is_expression(part.fields[field]) else literal)(part, field)

    return check


def _batcher(part: Part, field: str) -> None:
    batcher = part.inner(field)
    if batcher is None:
        return
    batcher.check_names(field, _BATCHER)
    if not batcher.has(*_SIZES):
        part.report.mistake(batcher.place, f"expected {' or '.join(_SIZES)}, or both; got none")
    for name in batcher.fields.keys() & _BATCHER:
        CHECKS[name](batcher, name)


def _has_text(value: Json) -> bool:
    """Whether `value` has text that could be JSONata, which is loaded only then."""
    if isinstance(value, dict):
        return any(map(_has_text, value.values()))
    if isinstance(value, list):
        return any(map(_has_text, value))
    return isinstance(value, str) and (_BEGINS in value or _ENDS in value)


CHECKS: Mapping[str, Check] = {
    **dict.fromkeys(("Arguments", "Output", "ItemSelector", "BatchInput"), _template),
    **dict.fromkeys(("Error", "Cause"), _or(check_text)),
    **dict.fromkeys(NUMBERS, _or(check_number)),
    **dict.fromkeys(("Assign", "Credentials"), _object),
    "Condition": check_expression,
    "Items": _items,
    "Timestamp": _or(check_timestamp),
    "ItemBatcher": _or(_batcher),
}
"""By the names of the fields; the others hold no expressions."""
