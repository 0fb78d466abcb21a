"""Reasons why an outcome differs from the reference implementation's; what has no reason here is a mistake."""

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.golden.jsonata_reference.peer import Answers, Question, same

Outcome = dict[str, Any]


class Reason(NamedTuple):
    """A reason for differences.

    Attributes:
        text: the reason.
        holds: True for a question, the reference implementation's outcome, and this runtime's outcome.
    """

    text: str
    holds: Callable[[Question, Outcome, Outcome], bool]


def find_reason(question: Question, answers: Answers, ours: Outcome) -> str | None:
    """Return why `ours` is right: as AWS's version, as the newest version, or for a reason; None if it is a mistake.

    The version that AWS documents comes first. A later version counts where that one fails or never ends.
    """
    shown = {name: value for name, value in ours.items() if name != "cause"}
    if same(shown, answers.documented):
        return "as JSONata 2.0.6, the version that AWS documents"
    if "code" in answers.documented and same(shown, answers.newest):
        return "as a later version, which corrects an error of 2.0.6"
    found = (reason.text for reason in REASONS if reason.holds(question, answers.documented, ours))
    return next(found, None)


def _contains(value: Any, mark: str) -> bool:
    if isinstance(value, dict):
        return mark in value or any(_contains(inner, mark) for inner in value.values())
    return isinstance(value, list) and any(_contains(inner, mark) for inner in value)


def _is_failure(outcome: Outcome) -> bool:
    return bool(outcome.get("code"))


def _not_finite(_: Question, theirs: Outcome, ours: Outcome) -> bool:
    shown = ours.get("value") in ("NaN", "Infinity", "-Infinity")
    return _contains(theirs, "\0number") and (_is_failure(ours) or shown or _has_text_of_number(ours))


def _has_text_of_number(ours: Outcome) -> bool:
    return any(f'"{name}"' in str(ours).replace("'", '"') for name in ("NaN", "Infinity", "-Infinity"))


def _infinite_text(_: Question, theirs: Outcome, ours: Outcome) -> bool:
    return theirs.get("code") in ("D3001", "D1001") and "Infinity" in str(ours.get("value"))


def _function_inside(_: Question, theirs: Outcome, ours: Outcome) -> bool:
    return _contains(theirs, "\0function") and bool(ours.get("function"))


def _javascript(_: Question, theirs: Outcome, ours: Outcome) -> bool:
    is_uncoded = str(theirs.get("code")).startswith("JavaScript ") or theirs.get("code") == "endless"
    return is_uncoded and (_is_failure(ours) or bool(ours.get("function")))


def _base64(question: Question, theirs: Outcome, ours: Outcome) -> bool:
    if "$base64" not in question.expression:
        return False
    text = theirs.get("value")
    if "value" in ours:
        is_other = isinstance(text, str) and not (text.isascii() and str(ours["value"]).isascii())
        return is_other or "$base64encode" in question.expression
    return ours.get("code") in ("D3137", "T0410", "D3140") and isinstance(text, str)


def _impossible_date(question: Question, theirs: Outcome, ours: Outcome) -> bool:
    is_date = "$fromMillis" in question.expression or "$toMillis" in question.expression
    is_refused = ours.get("code") in ("D1001", "D3110") and not _is_failure(theirs)
    return is_date and (is_refused or _far(question, ours))


def _far(question: Question, ours: Outcome) -> bool:
    millis = re.match(r"\$fromMillis\((-?[0-9.e]+)", question.expression)
    return millis is not None and abs(float(millis[1])) > _LAST_MS and ours.get("code") == "D1001"


_LAST_MS = 253_402_300_799_999
"""Last millisecond of the year 9999."""


def _long_number(question: Question, theirs: Outcome, ours: Outcome) -> bool:
    if not re.search(r"\$format(?:Integer|Number)", question.expression) or "value" not in ours:
        return False
    numbers = [float(text) for text in re.findall(r"\d[\d.]*(?:e[+-]?\d+)?", question.expression)]
    return max(numbers, default=0.0) > 2**53 and "value" in theirs


def _exponent_picture(question: Question, theirs: Outcome, ours: Outcome) -> bool:
    if "$formatNumber" not in question.expression or not {"value"} <= theirs.keys() & ours.keys():
        return False
    one, other = (re.sub(r"[.,]\d*(?=e)", "", str(outcome["value"])) for outcome in (theirs, ours))
    return one == other


def _fraction_picture(question: Question, theirs: Outcome, ours: Outcome) -> bool:
    is_grouped = re.search(r"\$formatNumber\(.*'[^']*\.[^']*,[^']*'", question.expression)
    return is_grouped is not None and {"value"} <= theirs.keys() & ours.keys()


def _power(question: Question, theirs: Outcome, ours: Outcome) -> bool:
    if "$power" not in question.expression and "$parseInteger" not in question.expression:
        return False
    one, other = theirs.get("value"), ours.get("value")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return all(isinstance(left, int | float) and math.isclose(left, right) for left, right in zip(one, other))  # noqa: B905 - of one length
    return isinstance(one, int | float) and isinstance(other, int | float) and math.isclose(one, other, rel_tol=1e-14)


def _partial(question: Question, _: Outcome, ours: Outcome) -> bool:
    return "(?," in question.expression and ours.get("code") == "T0410"


def _undefined_inside(_: Question, theirs: Outcome, ours: Outcome) -> bool:
    return _contains(theirs, "\0undefined") and not _is_failure(ours)


def _odd_option(question: Question, _: Outcome, ours: Outcome) -> bool:
    return "$formatNumber" in question.expression and "the option" in str(ours.get("cause"))


def _own_limit(_: Question, __: Outcome, ours: Outcome) -> bool:
    return "expected a value of at most" in str(ours.get("cause"))


OWN_LIMIT = "limits protect the sandbox: see Differences in docs/asl.md"

REASONS = (
    Reason("JSON has no such number: it is an error, or a text as observed on AWS", _not_finite),
    Reason("the text of an infinite number, as observed on AWS", _infinite_text),
    Reason("JSON has no functions: a result that contains one is an error on AWS", _function_inside),
    Reason("JavaScript fails without a code of JSONata, or never ends", _javascript),
    Reason("Base64 is of texts in UTF-8, and a text that is no Base64 an error, as observed on AWS", _base64),
    Reason("a date after the year 9999, or one that JavaScript shows as NaN, is an error", _impossible_date),
    Reason("a picture shows all digits of a number that is longer than a double's", _long_number),
    Reason("a picture with an exponent keeps the digit after its point", _exponent_picture),
    Reason("a picture's separators in a fraction stand where the picture has them", _fraction_picture),
    Reason("the last digit of a power, or of the sum of powers, depends on the order of its steps", _power),
    Reason("a partially applied function checks its arguments like the function", _partial),
    Reason("an array contains no undefined values", _undefined_inside),
    Reason("an option of a picture is one character", _odd_option),
    Reason(OWN_LIMIT, _own_limit),
)
