"""Checks of JSONata fields, using the run-time parser.

The JSONata library is loaded at the first expression: most definitions have none.
"""

from collections.abc import Iterable, Mapping

from unum_compiler.parsing.fields import NUMBERS, SIZES, check_batcher, check_number
from unum_compiler.parsing.holes import fill, texts, unfill
from unum_compiler.parsing.object_reader import Check, Part, check_text, check_timestamp
from unum_compiler.problems import shown
from unum_runtime.errors import Problem
from unum_runtime.model.states import Json

_BEGINS, _ENDS = "{%", "%}"
_ALWAYS = frozenset(("input", "context"))
_LATER = frozenset(("result", "errorOutput"))
_RESULTS = ("Output", "Assign")


def is_expression(value: Json) -> bool:
    """Return True for text marked as JSONata."""
    return isinstance(value, str) and value.startswith(_BEGINS)


def check_expression(part: Part, field: str) -> None:
    """Report mistakes in `field`, expecting an expression."""
    from unum_compiler.jsonata.check import check_expression  # noqa: PLC0415 - only where a definition needs it

    value, place = part.fields[field], part.at(field)
    if is_expression(value):
        _report(part, check_expression(fill_query(value), place, _states(part, field)), field)
    else:
        part.mistake(field, f"expected {_BEGINS} an expression {_ENDS}, got {shown(value)}")


def _template(part: Part, field: str) -> None:
    value = part.fields[field]
    if not _has_text(value):
        return
    from unum_compiler.jsonata.check import check_template  # noqa: PLC0415 - only where a definition needs it

    for place, _, text in texts(value, part.at(field), field):
        _report(part, check_template(fill_query(text), place, _states(part, field)), field)


def fill_query(text: str) -> str:
    """Return `text` with stand-ins for holes; valid expressions stay unchanged."""
    if "${" not in text:
        return text
    from unum_compiler.jsonata.check import check_expression  # noqa: PLC0415 - only where a definition needs it

    def parse(reading: str) -> None:
        # Allowed fields of $states depend on the place; `_template` and `check_expression` above report the others.
        if problems := check_expression(reading, "", _ALWAYS | _LATER):
            raise ValueError(problems)

    try:
        parse(text)  # $ {name: price} groups values, with or without a blank
    except ValueError:
        return fill(text, parse)
    return text


def _report(part: Part, problems: Iterable[Problem], field: str) -> None:
    part.report.add(unfill(problems, part.fields[field], part.at(field), field))


def _states(part: Part, field: str) -> frozenset[str]:
    """Return the fields of ``$states`` that expressions in `field` may read."""
    # ASL specification, "Reserved variable: $states": results and errors exist only after the state's work.
    return _ALWAYS | part.states if field in _RESULTS else _ALWAYS


def _object(part: Part, field: str) -> None:
    if part.inner(field) is not None:
        _template(part, field)


def _items(part: Part, field: str) -> None:
    (_template if isinstance(part.fields[field], list | dict) else check_expression)(part, field)


def _or(literal: Check) -> Check:
    """Return a check that accepts expressions as well as values valid for `literal`."""

    def check(part: Part, field: str) -> None:
        (check_expression if is_expression(part.fields[field]) else literal)(part, field)

    return check


def _batcher(part: Part, field: str) -> None:
    check_batcher(part, field, {name: CHECKS[name] for name in ("BatchInput", *SIZES)})


def _has_text(value: Json) -> bool:
    """Return True if `value` contains text resembling JSONata."""
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
"""The check of each field that may hold an expression."""
