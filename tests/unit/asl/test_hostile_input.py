# ruff: noqa: E501 - one line for each case
"""Expressions and definitions that are made to use up time or memory: each ends early, with a clear error."""

import resource
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonata import engine
from unum_runtime.asl.jsonata.engine import Expression
from unum_runtime.asl.jsonata.evaluation_limits import metered
from unum_runtime.asl.jsonata.jsonata_program import JsonataProgram
from unum_runtime.asl.jsonata.library import isolate
from unum_runtime.asl.jsonata.names import Names
from unum_runtime.model.states import Json

CPU_S, MEMORY_MB = 10, 600
"""Limits of a process that starts, evaluates one expression and reports; the evaluation itself takes a second on an
idle machine, and 100 MB."""

PRELUDE = """
import gzip, io, json
from unum_runtime.asl.expression_context import ExpressionContext

def jsonata(text, value=None):
    from unum_runtime.asl.jsonata.jsonata_program import JsonataProgram
    return JsonataProgram({"Output": "{% " + text + " %}"}).output(value, None, ExpressionContext({}, seed="s")).value

def jsonpath(text, value):
    from unum_runtime.asl.jsonpath.jsonpath_program import JsonPathProgram
    return JsonPathProgram({"Parameters": {"a.$": text}}).arguments(value, ExpressionContext({}, seed="s"))

def yaml(text):
    from unum_compiler.frontends.files import parse_yaml
    return parse_yaml(text, source="flow.yaml")

def recursive(body, first):
    return f"($f := function($n, $s) {{ $n = 0 ? $s : $f($n - 1, {body}) }}; $f(40, {first}))"

try:
    print("OK", str({code})[:80])
except Exception as error:
    print(type(error).__name__, error)
"""

TIMEOUT = "Expression evaluation timeout: regular expressions took more than 0.5 s of processor time"
TEXT = "expected a value of at most 10000000 characters"
ITEMS = "expected a value of at most 1000000 items"
VALUES = "expected a value of at most 1000000 values"
WORK = "too much work on texts and arrays"


def outcome(code: str) -> str:
    """Return the result of `code` in a process with limits."""
    found = subprocess.run(  # noqa: S603 - this Python
        [sys.executable, "-c", PRELUDE.replace("{code}", code)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=partial(limit, CPU_S, MEMORY_MB << 20),
    )
    return found.stdout or f"ended with {found.returncode}: {found.stderr[-300:]}"


def limit(cpu_s: int, memory: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("jsonata('$match($states.input, /(a|a)*b/)', 'a' * 40)", TIMEOUT),
        ("jsonata('$states.input ~> /^(a+)+$/', 'a' * 32 + '!')", TIMEOUT),
        ("jsonata('$split($states.input, /(x+x+)+y/)', 'x' * 40)", TIMEOUT),
        ("jsonata(\"$replace($states.input, /(a*)*c/, 'x')\", 'a' * 40)", TIMEOUT),
        ("jsonata('$contains($states.input, /a*a*a*a*a*a*b/)', 'a' * 3000)", TIMEOUT),
        ("jsonata('/(a|a)*b/($states.input)', 'a' * 40)", TIMEOUT),
        ("jsonata('[1..1000].$contains($states.input, /(a|a)*b/)', 'a' * 22)", TIMEOUT),
    ],
)
def test_regular_expressions_have_one_budget_of_time(code: str, error: str) -> None:
    assert error in outcome(code)


@pytest.mark.slow("a new process works until it meets the limit of work, which is meant to take a second")
@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("jsonata(\"$pad('x', 500000000)\")", TEXT),
        ("jsonata(\"$pad('x', -500000000, 'ab')\")", TEXT),
        ("jsonata(\"$fromMillis(1, '[Y,100000000-100000000]')\")", "picture: expected widths of at most 3 digits"),
        ("jsonata(\"$fromMillis(1, $pad('', 1000000, '[Y]'))\")", "expected a value of at most 1000 characters"),
        ("jsonata(recursive('$s & $s', \"'x'\"))", TEXT),
        ("jsonata(recursive('$join([$s, $s])', \"'x'\"))", TEXT),
        ("jsonata(recursive(\"$replace($s, 'x', 'xx')\", \"'x'\"))", TEXT),
        ("jsonata(recursive('$replace($s, /x/, \"xx\")', \"'x'\"))", "expected a value of at most 200000 matches"),
        ("jsonata(recursive('$append($s, $s)', '[1]'))", ITEMS),
        ("jsonata(recursive('[$s, $s]', '[1]'))", ITEMS),
        ("jsonata(recursive('[[$s], [$s]]', '[1]'))", VALUES),
        ("jsonata(recursive('{\"a\": $s, \"b\": $s}', '1'))", VALUES),
        ("jsonata('$string(' + recursive('{\"a\": $s, \"b\": $s}', '1') + ')')", VALUES),
        ("jsonata(recursive('{\"a\": $s, \"b\": $s}', '1') + '.**')", VALUES),
        ("jsonata(recursive('[[$s], [$s]]', '1') + ' = ' + recursive('[[$s], [$s]]', '1'))", WORK),
        ("jsonata('$distinct([1, ' + recursive('[[$s], [$s]]', '1') + '])')", WORK),
        ("jsonata('$boolean(' + recursive('[[$s], [$s]]', '0') + ')')", WORK),
        ("jsonata(recursive('[[$s], [$s]]', '0') + ' or false')", WORK),
        ("jsonata('$keys(' + recursive('[[$s], [$s]]', '1') + ')')", WORK),
        ("jsonata('$spread(' + recursive('[[$s], [$s]]', '1') + ')')", WORK),
        ("jsonata('$lookup(' + recursive('[[$s], [$s]]', '1') + ', \"a\")')", WORK),
        ("jsonata(recursive('[[$s], [$s]]', '1') + '.a')", WORK),
        ("jsonata(recursive('[[$s], [$s]]', '1') + '.*')", ITEMS),
        ("jsonata(recursive('[[$s], [$s]]', '1') + ' ~> |$|{}|')", VALUES),
        ("jsonata('($r := [1..999999]; $count($zip($r, $r, $r)))')", ITEMS),
        ("jsonata('$count([1..999999].[1..999999])')", "expected a value of at most 2000000 numbers in ranges"),
        ("jsonata('$count([1..99].$range(1, 999999, 1))')", "expected a value of at most 2000000 numbers in ranges"),
        ("jsonata(\"$reduce([1..500000], function($a, $b) { $a & 'xxxxxxxxxx' })\")", WORK),
        ("jsonata('$count($reduce($states.input, $append))', list(range(100000)))", WORK),
        ("jsonata('$count([1..3000].$distinct($states.input))', list(range(3000)))", WORK),
        (
            "jsonata('$count($map([1..3000], function($i) { $merge($states.input) }))', [{str(i): 1 for i in range(1000)}] * 30)",
            WORK,
        ),
        ("jsonata('$count([1..100000].($substring(?, 0, 1)(\"abc\")))')", WORK),
        ("jsonata('($s := [1..10000]; $count([1..100000].$s))')", ITEMS),
        ("jsonata('($r := [1..3000]; $count($r@$a.$r@$b))')", ITEMS),
        ("jsonata('$parseInteger($states.input, \"a\")', 'a' * 200000)", "expected a value of at most 1000 characters"),
        ("jsonata('$number($states.input)', '1' * 200000 + 'x')", "D3030"),
        ("jsonata('(' * 5000 + '1' + ')' * 5000)", "nested too deeply"),
    ],
)
def test_values_of_expressions_have_limits(code: str, error: str) -> None:
    assert error in outcome(code)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (
            "jsonpath('$.x[?(' + '(' * 2000 + '@.a' + ')' * 2000 + ')]', {'x': [{'a': 1}]})",
            "expected at most 100 paren",
        ),
        ("jsonpath('$.x[?(' + '!' * 20000 + '@.a)]', {'x': [{'a': 1}]})", "expected at most 100 parentheses"),
        ("jsonpath('$..*..*..*..*', json.loads('{\"a\":' * 400 + '1' + '}' * 400))", "visits more than 1000000 values"),
        (
            "jsonpath(\"States.Format('\" + '{}' * 2000 + \"'\" + ', $.a' * 2000 + ')', {'a': 'a' * 200000})",
            "a text of",
        ),
        (
            "jsonpath(\"States.Format('\" + '{}' * 20000 + \"'\" + ', $.a' * 20000 + ')', {'a': 'a' * 200000})",
            "a text of",
        ),
        ("jsonpath('States.Array(' * 2000 + '1' + ')' * 2000, {})", "expected at most 10 nested functions"),
        ("jsonpath('States.StringToJson($.a)', {'a': '[' * 200000})", "States.IntrinsicFailure"),
    ],
)
def test_paths_have_limits(code: str, error: str) -> None:
    assert error in outcome(code)


@pytest.mark.parametrize(
    "code",
    [
        "yaml('a0: &a0 [x, x, x, x]\\n' + ''.join(f'a{i}: &a{i} [{\", \".join([f\"*a{i - 1}\"] * 10)}]\\n' for i in range(1, 10)))",
        "yaml('a0: &a0 {x: 1}\\n' + ''.join(f'a{i}: &a{i} {{<<: *a{i - 1}, k{i}: *a{i - 1}}}\\n' for i in range(1, 40)))",
    ],
)
def test_aliases_of_yaml_repeat_a_limited_number_of_values(code: str) -> None:
    assert "aliases repeat more than 50000 values" in outcome(code)


@pytest.mark.parametrize(
    "code",
    [
        "jsonata('$count([1..999999])')",
        "jsonata('$count($match($states.input, /[a-z]+/))', 'word ' * 50000)",
        "jsonata('$length($join([1..20000].$string()))')",
        "jsonata('$count($reduce([1..5000], $append))')",
        "jsonata('$length($reduce([1..5000], function($a, $b) { $a & \"a line of fifty characters in a file of some size\" }))')",
        "jsonata('$pad(\"x\", -1000000) ~> $length')",
        "jsonata('$fromMillis(1, \"[Y0001]-[M01]-[D01] 2024\")')",
        "jsonpath('$..a..b', {'x': [{'a': {'b': 1}}] * 10000})",
        "jsonpath('$.x[?(' + '(' * 50 + '@.a' + ')' * 50 + ')]', {'x': [{'a': 1}]})",
        "yaml('a: &a {Type: Pass}\\n' + ''.join(f'b{i}: *a\\n' for i in range(1000)))",
    ],
)
def test_what_is_large_and_harmless_works(code: str) -> None:
    assert outcome(code).startswith("OK ")


@pytest.mark.parametrize(
    "expression",
    [
        "$distinct($states.input)",
        "$states.input[$ in $states.input]",
        "($i := [0..$count($states.input) - 1]; $states.input[$i])",
        "$spread($states.input.{'a': $})",
        "$states.input{'k': $}",
        "$states.input.[$].*",
        "$sort($states.input)",
        "$map($states.input, function($v) { $v + 1 })",
    ],
)
def test_work_grows_in_proportion_to_input(expression: str) -> None:
    small, large = work(expression, 1_000), work(expression, 8_000)
    assert large < 12 * small


def work(expression: str, size: int) -> int:
    """Return the counted work of `expression` over `size` numbers."""
    with isolate(), metered() as meter:
        names = Names({"input": list(range(size))}, ExpressionContext({}))
        Expression(expression)._engine.run(engine._Frame(names, "Output", meter))
    return meter._work


def test_timers_of_user_code_stay() -> None:
    def user_code(*_: object) -> None: ...

    before = signal.signal(signal.SIGPROF, user_code)
    signal.setitimer(signal.ITIMER_PROF, 3600)
    try:
        assert contains("abc", "/b/") is True
        assert signal.getsignal(signal.SIGPROF) is user_code
        assert signal.getitimer(signal.ITIMER_PROF)[0] > 3000
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def test_other_threads_evaluate_too() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(contains, "abc", "/c/").result() is True


def contains(text: str, pattern: str) -> Json:
    program = JsonataProgram({"Output": f"{{% $contains($states.input, {pattern}) %}}"})
    return program.output(text, None, ExpressionContext({}, seed="s")).value
