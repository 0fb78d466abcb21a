"""Texts in a picture: rules in a few words, and how wide a text is."""

import json
import unicodedata
from collections.abc import Mapping

from unum_runtime.model.ir import Json

_COMPARISONS = {
    "LessThanEquals": "≤",
    "GreaterThanEquals": "≥",
    "LessThan": "<",
    "GreaterThan": ">",
    "Equals": "=",
    "Matches": "like",
}
"""Endings of the operators' names, longer ones first."""

_WIDE = "WF"
"""East Asian widths that take the room of two letters."""


def rule_text(rule: Mapping[str, Json]) -> str:
    """A Choice rule in a few words, for example ``$.size > 10``."""
    match rule:
        case {"And": list(rules)}:
            return " and ".join(map(_nested, rules))
        case {"Or": list(rules)}:
            return " or ".join(map(_nested, rules))
        case {"Not": dict(negated)}:
            return f"not {_nested(negated)}"
    operator, value = next((name, value) for name, value in rule.items() if name not in ("Variable", "Comment"))
    return f"{rule.get('Variable')} {_comparison(operator, value)}"


def shortened(text: str, most: int) -> str:
    """`text` in at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def width(text: str, letter: float) -> float:
    """About how wide `text` is, generously, for fonts differ; `letter` is the width of a broad Latin letter."""
    return sum(letter * (2 if unicodedata.east_asian_width(char) in _WIDE else 1) for char in text)


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
    return f"{symbol} {value if is_path else json.dumps(value, ensure_ascii=False)}"
