"""JSONata's published test suite; known differences are listed by case, with a reason.

The suite is in a folder next to the checkout, or in UNUM_JSONATA_SUITE; pytest skips these tests without it. It
belongs to a later version. Where 2.0.6, the version of Step Functions, has another result, that result counts. Where
2.0.6 fails or never ends because of errors that later versions corrected, this runtime does what they do: for example
in ``function-formatNumber/issue785``, and in ``function-signatures/case035`` to ``case038``, where 2.0.6 loses
arguments.
"""

import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonata import engine
from unum_runtime.asl.jsonata.engine import Expression, ExpressionSyntaxError
from unum_runtime.asl.jsonata.evaluation_limits import metered
from unum_runtime.asl.jsonata.library import JException, Jsonata, Utils, isolate
from unum_runtime.asl.jsonata.names import Names
from unum_runtime.asl.jsonata.values import NotJson, from_library, to_library

BESIDE = Path(__file__).parents[5] / "shared" / "jsonata-suite"
FOLDER = Path(os.environ.get("UNUM_JSONATA_SUITE", BESIDE))
CASES_AT_LEAST = 1_600
NOW_MS = 1_700_000_000_000

UNDEFINED = object()
FUNCTION = object()

LATER = "2.0.6, the version of Step Functions, has no such operator"
VERSION = "2.0.6, the version of Step Functions, has another result"
NO_EVAL = "Step Functions has no $eval"
NO_CODE = "the error has a text of its own instead of JSONata's code"
OTHER_CODE = "the error has another code"
OWN_LIMIT = "limits on steps and sizes are lower than those of the suite: see Differences in docs/asl.md"
BOUNDS = "the case bounds depth or time itself; Step Functions has its own errors for endless expressions"
INFINITE = "an infinite number has a text, as in the result of an expression"

DIFFERENCES = {
    **{f"coalescing-operator/case{number:03}": LATER for number in range(15)},
    **{f"default-operator/case{number:03}": LATER for number in range(19)},
    **{f"function-eval/case{number:03}": NO_EVAL for number in range(8)},
    **{f"function-eval/case008#{number}": NO_EVAL for number in range(4)},
    "comments/case002": NO_CODE,
    "function-signatures/case026": NO_CODE,
    "function-signatures/case034": NO_CODE,
    "literals/case015": OTHER_CODE,
    "partial-application/case003": OTHER_CODE,
    "performance/case000": OWN_LIMIT,
    "performance/case001": OWN_LIMIT,
    "range-operator/case021": OWN_LIMIT,
    "range-operator/case024": OWN_LIMIT,
    "tail-recursion/case002": BOUNDS,
    "tail-recursion/case005": BOUNDS,
    "tail-recursion/case006": BOUNDS,
    "function-formatInteger/formatInteger#43": "the words of a number beyond 2**53 name all of its digits",
    "function-string/case019": INFINITE,
    "function-string/case030": VERSION,
    "function-tomillis/case013": VERSION,
    "function-tomillis/parseDateTime#46": VERSION,
}
"""Known differences by the id of the case."""


def cases() -> Iterator[dict[str, Any]]:
    """Yield the cases of the suite; none without it."""
    if FOLDER.is_dir():
        with (FOLDER / "cases.jsonl").open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


CASES = list(cases())
pytestmark = pytest.mark.skipif(not CASES, reason=f"no JSONata suite in {FOLDER}; set UNUM_JSONATA_SUITE")


@cache
def datasets() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "datasets.json").read_text(encoding="utf-8"))
    return found


def outcome(case: dict[str, Any]) -> Any:
    """Return the value of the expression of `case`, `UNDEFINED`, `FUNCTION`, or the error as an exception."""
    try:
        result = evaluate(Expression(case["expr"]), context_value(case), case.get("bindings", {}))
        return UNDEFINED if result is None else from_library(result)
    except NotJson:
        return FUNCTION
    except Exception as error:  # noqa: BLE001 - the library raises many types, which the engine converts in one place
        return error


def context_value(case: dict[str, Any]) -> Any:
    """Return the input of `case` in the library's form; None without one."""
    if "data" in case:
        return to_library(case["data"])
    return to_library(datasets()[case["dataset"]]) if case.get("dataset") else None


def evaluate(expression: Expression, data: Any, bindings: dict[str, Any]) -> Any:
    """Evaluate `expression` on `data`; in Step Functions, an expression has no such context value."""
    if isinstance(data, list):  # as the library's own entry point does
        data = Utils.create_sequence(data)
        data.outer_wrapper = True
    with isolate(), metered() as meter:
        scope = engine._Frame(Names({}, ExpressionContext({}, bindings, now_ms=NOW_MS)), "Output", meter)
        scope.bindings["$"] = data
        Jsonata.CURRENT.jsonata = expression._engine
        return expression._engine.eval(expression.tree, data, scope)


def code(error: Exception) -> str | None:
    if isinstance(error, JException):
        return str(error.error)
    found = re.search(r"\(([A-Z]\d{4})\)$", str(error)) if isinstance(error, ExpressionSyntaxError) else None
    return found[1] if found else None


def is_as_published(case: dict[str, Any]) -> bool:
    found = outcome(case)
    wanted_code = case.get("code") or case.get("error", {}).get("code")
    if wanted_code:
        return isinstance(found, Exception) and code(found) == wanted_code
    if case.get("undefinedResult"):
        return found is UNDEFINED
    if isinstance(found, Exception) or found is UNDEFINED:
        return False
    if found is FUNCTION:
        return case.get("result") is None
    wanted, shown = comparable(case["result"]), comparable(found)
    if case.get("unordered"):
        return sorted(map(repr, wanted)) == sorted(map(repr, shown))
    return bool(wanted == shown)


def comparable(value: Any) -> Any:
    """Return `value` with booleans apart from numbers, and numbers with 12 digits."""
    if isinstance(value, dict):
        return {name: comparable(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [comparable(inner) for inner in value]
    if isinstance(value, bool):
        return ("boolean", value)
    return float(f"{value:.12g}") if isinstance(value, int | float) else value


def test_the_suite_is_complete_and_has_each_known_difference() -> None:
    ids = {case["id"] for case in CASES}
    assert len(ids) >= CASES_AT_LEAST
    assert not DIFFERENCES.keys() - ids


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    if case["id"] in DIFFERENCES:
        assert not is_as_published(case), "no difference any more; drop it from DIFFERENCES"
    else:
        assert is_as_published(case), outcome(case)
