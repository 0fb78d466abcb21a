"""JSONata functions of Step Functions, with values and edge cases from AWS."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import unum_runtime
from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonata.jsonata_program import JsonataProgram
from unum_runtime.asl.jsonata.query_errors import QueryEvaluationError

UNDEFINED = "returned nothing"


def evaluate(expression: str, *, seed: str = "seed", field: str = "Output") -> Any:
    return JsonataProgram({field: f"{{% {expression} %}}"}).output(None, None, ExpressionContext({}, seed=seed)).value


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("$partition([1,2,3,4,5], 2)", [[1, 2], [3, 4], [5]]),
        ("$partition([1,2,3])", [[1, 2, 3]]),
        ("$partition([1,2,3], 2.9)", [[1, 2], [3]]),
        ("$partition([0], 1)", [[0]]),
        ("$range(0, 10, 2)", [0, 2, 4, 6, 8, 10]),
        ("$range(10, 0, -2)", [10, 8, 6, 4, 2, 0]),
        ("$range(-1.7, 2, 1)", [-1, 0, 1, 2]),
        ("$range(5, 1, -1.5)", [5, 4, 3, 2, 1]),
        ("$range(3, 3, 1)", 3),
        ("$hash('Hello', 'MD5')", "8b1a9953c4611296a827abf8c47804d7"),
        ("$hash('Hello', 'SHA-1')", "f7ff9e8b7bb2e09b70935a5d785e0cc5d9d0abf0"),
        ("$length($hash('ñ', 'SHA-512'))", 128),
        ("$random(42)", 0.7275636800328681),
        ("$random(0.9)", 0.730967787376657),
        ('$parse(\'{"b":[1,null],"a":1.0}\')', {"b": [1, None], "a": 1}),
        ("$exists($parse('null'))", True),
        ("$map(['1', '2'], $parse)", [1, 2]),
        ("$range(1, ?, 1)(3)", [1, 2, 3]),
    ],
)
def test_values(expression: str, value: Any) -> None:
    assert evaluate(expression) == value


@pytest.mark.parametrize(
    ("expression", "cause"),
    [
        ("$partition([], 2)", UNDEFINED),
        ("$partition([1], 0)", UNDEFINED),
        ("$partition([1,2,3], -1)", "D3137: Second argument must be zero or greater"),
        ("$partition(null, 2)", "T041"),
        ("$range(5, 1, 1)", UNDEFINED),
        ("$range(1, 5, 0)", UNDEFINED),
        ("$range(1, 5)", UNDEFINED),
        ("$range(1)", "T0410"),
        ("$hash('a')", UNDEFINED),
        ("$hash('a', 'md5')", "D3137: Invalid hashing algorithm 'md5'; allowed: MD5, SHA-1"),
        ("$hash(42, 'MD5')", "T0410"),
        ("$parse()", UNDEFINED),
        ("$parse(null)", "T0410"),
        ("$parse('')", "D3137: Invalid JSON"),
        ("$parse('{} {}')", "D3137: Invalid JSON"),
        ('$parse(\'{"a":1,"a":2}\')', "D3137: Invalid JSON"),
        ("$parse('1e400')", "D3137: Invalid JSON"),
        ("$parse('NaN')", "D3137: Invalid JSON"),
        ("$uuid('seed')", "T0410"),
        ("$random(1, 2)", "T0410"),
    ],
)
def test_failures(expression: str, cause: str) -> None:
    with pytest.raises(QueryEvaluationError, match=re.escape(cause)):
        evaluate(expression)


def test_random_numbers_are_equal_in_each_delivery_and_unique_to_the_visit() -> None:
    drawn = "[$uuid(), $random(), $shuffle([1..20])]"
    assert evaluate(drawn) == evaluate(drawn)
    assert evaluate(drawn) != evaluate(drawn, seed="other")
    assert evaluate("$uuid() = $uuid()") is False


def test_random_numbers_do_not_depend_on_earlier_evaluations() -> None:
    context = ExpressionContext({}, seed="seed")
    program = JsonataProgram({"Arguments": "{% $uuid() %}", "Output": "{% $uuid() %}"})
    arguments, output = program.arguments(None, context), program.output(None, None, context).value
    assert output == program.output(None, None, context).value != arguments


def test_each_item_of_a_map_has_its_own_random_numbers() -> None:
    one, other = JsonataProgram({"ItemSelector": "{% $uuid() %}"}).items([1, 1], ExpressionContext({}, seed="seed"))
    assert one != other


def test_uuids_are_random_ones() -> None:
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", evaluate("$uuid()"))


def test_language_is_loaded_for_the_first_expression_only() -> None:
    code = """
import sys
from unum_runtime.asl.jsonata.jsonata_program import JsonataProgram
from unum_runtime.asl.expression_context import ExpressionContext
limit, context = sys.getrecursionlimit(), ExpressionContext({})
JsonataProgram({"Output": {"a": 1}}).output(None, None, context)
assert "jsonata" not in sys.modules
JsonataProgram({"Output": "{% 1 %}"}).output(None, None, context)
assert "jsonata" in sys.modules
assert sys.getrecursionlimit() == limit
"""
    assert ran_to_its_end(code, ":".join(sys.path))


def test_without_the_language_an_error_says_what_to_install() -> None:
    code = """
try:
    import unum_runtime.asl.jsonata.library
except ModuleNotFoundError as error:
    assert "unum-runtime[jsonata]" in str(error), error
else:
    raise AssertionError
"""
    assert ran_to_its_end(code, str(Path(unum_runtime.__file__).parents[1]), "-S")


def ran_to_its_end(code: str, path: str, *options: str) -> bool:
    """Return True if `code` succeeds in a separate process."""
    command = [sys.executable, *options, "-c", code]
    return subprocess.run(command, check=False, env={"PYTHONPATH": path}).returncode == 0  # noqa: S603 - fixed code


def test_user_codes_current_expression_stays() -> None:
    from jsonata import Jsonata  # noqa: PLC0415 - the test above requires that pytest has not loaded it

    theirs = Jsonata("$now()")
    evaluate("1")
    assert Jsonata.CURRENT.jsonata is theirs
