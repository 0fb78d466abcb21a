"""Placeholders of deploy-time values, filled in from a definition that has the values."""

import re
from dataclasses import fields, replace

from unum_runtime.model.ir import Workflow
from unum_runtime.model.placeholders import ARRAY, JSON, NUMBER
from unum_runtime.model.states import Json, Retrier, State, Work

_PLACEHOLDER = re.compile(r"\$\{([A-Za-z][A-Za-z0-9]*)\}")
_VALUE = re.compile(rf"\$\{{(?:{NUMBER}|{ARRAY}|{JSON})\d+\}}")  # replaced with its quotes
_NUMBERS = tuple(field.name for field in fields(Retrier) if field.name != "errors")


def with_values_of(deployed: Workflow, new: Workflow) -> Workflow:
    """Return `new` with the values that `deployed` has in place of its placeholders, so that both compare equal.

    A text of a state that `deployed` has differently keeps its placeholders.
    """
    states = {
        name: _with_values_of(deployed.states[name], state) if name in deployed.states else state
        for name, state in new.states.items()
    }
    return replace(new, states=states, timeout_s=_number(deployed.timeout_s, new.timeout_s))


def _with_values_of(deployed: State, new: State) -> State:
    filled = replace(new, data=_filled(deployed.data, new.data))
    if not (isinstance(filled, Work) and isinstance(deployed, Work) and len(filled.retry) == len(deployed.retry)):
        return filled
    pairs = zip(deployed.retry, filled.retry, strict=True)
    return replace(filled, retry=tuple(_with_numbers_of(old, each) for old, each in pairs))


def _with_numbers_of(deployed: Retrier, new: Retrier) -> Retrier:
    return replace(new, **{name: _number(getattr(deployed, name), getattr(new, name)) for name in _NUMBERS})


def _number(old: Json, new: Json) -> Json:
    return old if isinstance(new, str) and _PLACEHOLDER.fullmatch(new) else new


def _filled(old: Json, new: Json) -> Json:
    """Return `new` with texts of `old` if both differ only by placeholders."""
    match old, new:
        case dict(), dict():
            return {key: _filled(old.get(key), value) for key, value in new.items()}
        case list(), list() if len(old) == len(new):
            return [_filled(one, other) for one, other in zip(old, new, strict=True)]
        case str(), str() if _fits(old, new):
            return old
        case _, str() if old is not None and _VALUE.fullmatch(new):
            return old
    return new


def _fits(old: str, new: str) -> bool:
    """Return True if `new` becomes `old` when its placeholders get values, each the same value everywhere."""
    pattern, names = "", set[str]()
    begin = 0
    for found in _PLACEHOLDER.finditer(new):
        name = found[1]
        pattern += re.escape(new[begin : found.start()]) + (f"(?P={name})" if name in names else f"(?P<{name}>.*)")
        names.add(name)
        begin = found.end()
    return re.fullmatch(pattern + re.escape(new[begin:]), old, re.DOTALL) is not None
