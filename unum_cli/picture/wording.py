"""Short texts for pictures, and their estimated width."""

import unicodedata
from collections.abc import Mapping

from unum_runtime.json_text import to_readable
from unum_runtime.model.states import SIGNAL, Json, Map, Pattern, Retrier, State, Task, Wait, Work

_COMPARISONS = {
    "LessThanEquals": "≤",
    "GreaterThanEquals": "≥",
    "LessThan": "<",
    "GreaterThan": ">",
    "Equals": "=",
    "Matches": "like",
}
"""Endings of the operators' names, longer ones first."""

_BESIDE = frozenset(("Variable", "Comment", "Assign", "Output"))
"""What a rule has beside its operator."""

_SUFFIXES = {Pattern.RESPONSE: "", Pattern.SYNC: ".sync", Pattern.CALLBACK: ".waitForTaskToken"}

_MOST_DELAYS = 3
"""How many of a retrier's delays are shown."""

_WIDE = "WF"
"""East Asian widths that take the room of two letters."""


def kind(state: State) -> str:
    """Return the line under a state's name: its kind in a few words, with a sign for retriers."""
    match state:
        case Task():
            text = _task_text(state)
        case Wait():
            text = _wait_text(state.data)
        case Map():
            text = _map_text(state)
        case _:
            text = type(state).__name__
    return f"↻ {text}" if isinstance(state, Work) and state.retry else text


def retrier_text(rule: Retrier) -> str:
    """Return a retrier as text, for example ``↻ States.ALL: up to 3 times, after 1 s, 2 s, 4 s``."""
    names, most = ", ".join(rule.errors), rule.max_attempts
    numbers = (most, rule.interval_s, rule.backoff_rate, rule.max_delay_s)
    if any(isinstance(each, str) for each in numbers):  # placeholders
        return f"↻ {names}: up to {most} times, after {rule.interval_s} s, times {rule.backoff_rate}"
    shown = [rule.interval_s * rule.backoff_rate**count for count in range(min(rule.max_attempts, _MOST_DELAYS))]
    longest = rule.max_delay_s
    delays = [f"{delay if longest is None else min(delay, longest):g} s" for delay in shown]
    rest = ["…"] if rule.max_attempts > _MOST_DELAYS else []
    after = f", after {', '.join([*delays, *rest])}" if delays else ""
    return f"↻ {names}: up to {most} times{after}{' or less' if rule.jitter else ''}"


def rule_text(rule: Mapping[str, Json]) -> str:
    """Return a Choice rule in a few words, for example ``$.size > 10``."""
    match rule:
        case {"And": list(rules)}:
            return " and ".join(map(_nested, rules))
        case {"Or": list(rules)}:
            return " or ".join(map(_nested, rules))
        case {"Not": dict(negated)}:
            return f"not {_nested(negated)}"
    if "Condition" in rule:
        return expression_text(rule["Condition"])
    operator, value = next((name, value) for name, value in rule.items() if name not in _BESIDE)
    return f"{rule.get('Variable')} {_comparison(operator, value)}"


def expression_text(value: Json) -> str:
    """Return a field's value; a JSONata expression without its braces."""
    text = value if isinstance(value, str) else to_readable(value)
    is_jsonata = text.startswith("{%") and text.endswith("%}")
    return " ".join(text[2:-2].split()) if is_jsonata else text


def shortened(text: str, most: int) -> str:
    """Shorten `text` to `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def width(text: str, letter: float) -> float:
    """Estimate the width of `text` generously, because fonts differ; `letter` is the width of a broad Latin letter."""
    return sum(letter * (2 if unicodedata.east_asian_width(char) in _WIDE else 1) for char in text)


def _task_text(task: Task) -> str:
    if task.resource is not None and task.resource.startswith(SIGNAL):
        return f"waits for {task.resource.removeprefix(SIGNAL)}"
    if task.resource is not None:
        return f"{task.resource}{_SUFFIXES[task.pattern]}"
    called = type(task).__name__ if task.function == task.name else task.function
    return f"{called}{_SUFFIXES[task.pattern]}"


def _wait_text(data: Mapping[str, Json]) -> str:
    for field, words in (("Seconds", "Wait {} s"), ("Timestamp", "Wait until {}")):
        for name in (field, f"{field}Path"):
            if name in data:
                return words.format(expression_text(data[name]))
    return "Wait"


def _map_text(state: Map) -> str:
    text = "distributed Map" if state.distributed else "Map"
    limit = state.data.get("MaxConcurrency") or state.data.get("MaxConcurrencyPath")
    return f"{text}, {expression_text(limit)} at once" if limit and not state.is_paced else text


def _nested(rule: Mapping[str, Json]) -> str:
    text = rule_text(rule)
    return f"({text})" if "And" in rule or "Or" in rule else text


def _comparison(operator: str, value: Json) -> str:
    if operator.startswith("Is"):
        words = {"IsPresent": "present", "IsNull": "null"}.get(operator, operator.removeprefix("Is").lower())
        return f"is {words}" if value else f"is not {words}"
    is_path = operator.endswith("Path")
    name = operator.removesuffix("Path")
    symbol = next((symbol for ending, symbol in _COMPARISONS.items() if name.endswith(ending)), operator)
    return f"{symbol} {value if is_path else to_readable(value)}"
