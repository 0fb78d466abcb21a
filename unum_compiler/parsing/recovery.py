"""Readers of ``Retry`` and ``Catch``.

Source of the rules: the ASL specification, "Errors"; AWS Step Functions Developer Guide, "Handling errors".
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from unum_compiler.parsing.expressions import read_data
from unum_compiler.parsing.fields import CATCHERS
from unum_compiler.parsing.numbers import check_number
from unum_compiler.parsing.object_reader import Part, is_placeholder
from unum_compiler.parsing.tree import Catcher
from unum_compiler.problems import shown
from unum_runtime.asl.places import element
from unum_runtime.model.states import Retrier

_ALL = "States.ALL"
_JITTER = ("FULL", "NONE")
_NUMBERS: Mapping[str, str] = {
    "IntervalSeconds": "interval_s",
    "MaxAttempts": "max_attempts",
    "BackoffRate": "backoff_rate",
    "MaxDelaySeconds": "max_delay_s",
}
_RETRIER = frozenset(("Comment", "ErrorEquals", "JitterStrategy", *_NUMBERS))
_STATES = frozenset(("errorOutput",))
_CATCHER = frozenset(("Comment", "ErrorEquals", "Next"))


def read_retry(state: Part) -> tuple[Retrier, ...]:
    """Return the retriers of `state`."""
    retriers = tuple(state.objects("Retry", 'a retrier: an object with "ErrorEquals"'))
    _check_order("Retry", retriers, state)
    return tuple(map(_retrier, retriers))


def read_catch(state: Part) -> tuple[Catcher, ...]:
    """Return the catchers of `state`."""
    catchers = tuple(state.objects("Catch", 'a catcher: an object with "ErrorEquals" and "Next"'))
    _check_order("Catch", catchers, state)
    return tuple(map(_catcher, catchers))


def _retrier(part: Part) -> Retrier:
    part.check_names("a retrier", _RETRIER)
    part.optional("Comment", str)
    numbers = {name: part.fields[field] for field, name in _NUMBERS.items() if field in part.fields}
    for field in _NUMBERS.keys() & part.fields.keys():
        check_number(part, field)
    _check_delay(part)
    return Retrier(errors=_errors(part), jitter=_jitter(part), **numbers)


def _jitter(part: Part) -> Any:
    """Return True or False, or the placeholder of a strategy that the deployment knows."""
    strategy = part.fields.get("JitterStrategy")
    return strategy if is_placeholder(strategy) else part.choice("JitterStrategy", _JITTER) == "FULL"


def _check_delay(part: Part) -> None:
    interval, most = part.fields.get("IntervalSeconds"), part.fields.get("MaxDelaySeconds")
    if isinstance(interval, int) and isinstance(most, int) and most <= interval:
        message = f"expected more than the interval of {interval} seconds, got {most}"
        part.mistake("MaxDelaySeconds", f"{message}; it limits the growth of the interval by BackoffRate")


def _catcher(part: Part) -> Catcher:
    known = CATCHERS[part.language]
    part.check_names("a catcher", _CATCHER | known)
    part.optional("Comment", str)
    data = read_data(replace(part, states=_STATES), known)
    return Catcher(part.place, _errors(part), data, part.required("Next", str) or "")


def _errors(part: Part) -> tuple[str, ...]:
    names = part.non_empty("ErrorEquals", list, "error name")
    for index, name in enumerate(names or ()):
        if not isinstance(name, str):
            place = element(part.at("ErrorEquals"), index)
            part.report.mistake(place, f"expected the name of an error, got {shown(name)}")
    return tuple(name for name in names or () if isinstance(name, str))


def _check_order(field: str, rules: tuple[Part, ...], state: Part) -> None:
    """Report misplaced ``States.ALL``: allowed alone in a rule, last in the list.

    Source: ASL specification, "Retrying after error" and "Fallback states".
    """
    # `rules` lacks items of a wrong type, so the position of the last rule comes from the definition.
    written = state.fields.get(field)
    last = element(state.at(field), len(written) - 1) if isinstance(written, list) else ""
    for part in rules:
        names = part.fields.get("ErrorEquals")
        if not isinstance(names, list) or _ALL not in names:
            continue
        if len(names) > 1:
            part.mistake("ErrorEquals", f'"{_ALL}" stands for all errors; remove the other names')
        if part.place != last:
            part.mistake("ErrorEquals", f'no error reaches the rules after "{_ALL}"; put it last')
