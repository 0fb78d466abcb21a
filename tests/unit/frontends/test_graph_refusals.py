"""Refusals of graphs at the place of a node: mistakes, values of a wrong kind, and early decisions by Python."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from unum_compiler import graph as g
from unum_compiler.definition import Definition


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: g.fail("E") >> g.task("a"), "'a' can never be reached"),
        (lambda: g.goto("x") >> g.task("a"), "nothing follows 'x'"),
        (g.wait, "got none"),
        (lambda: g.wait(1, until=datetime.now(UTC)), "got both"),
        (lambda: g.wait(until=datetime(2030, 1, 1)), "time zone"),  # noqa: DTZ001 - the mistake
        (lambda: g.task("a", input=3), "a place in the input or an object"),
        (lambda: g.task("a", input=g.var("x")), r"got \$x"),
        (lambda: g.task("a", input={"x.$": 1}), "does not end in"),
        (lambda: g.task("a", input={"x": [{"y": g.out}, g.out]}), "as argument"),
        (lambda: g.task("a", input={"x": [[g.out]]}), "expected an expression as a field's value"),
        (g.out["x"].one_of, "at least one value"),
    ],
)
def test_mistakes_are_refused_where_they_are_made(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize(
    "build",
    [
        lambda: bool(g.out["a"] > 1),
        lambda: 1 < g.out["a"] < 3,
        lambda: "x" in g.out["a"],
        lambda: [*g.out["a"]],
        lambda: g.out["a"] > None,
        lambda: g.out["a"] > True,
        lambda: g.out["a"] == [1],
        lambda: g.out[1.5],  # type: ignore[index]  # refused
        lambda: g.task("a") >> "b",  # type: ignore[operator]  # refused
        lambda: bool(g.out["a"]),
        lambda: g.out["a"] and g.out["b"] == 1,
    ],
)
def test_what_python_would_decide_too_early_is_refused(build: Callable[[], object]) -> None:
    with pytest.raises(TypeError):
        build()


GIVEN: Any = "a"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Definition.from_graph(GIVEN), "expected nodes, such as"),
        (lambda: Definition.from_graph(None), "expected nodes, such as"),  # type: ignore[arg-type]
        (lambda: g.seq(g.task("a"), GIVEN), "expected nodes, such as"),
        (lambda: g.parallel(GIVEN), "expected nodes, such as"),
        (lambda: g.map(GIVEN, items=g.out), "expected nodes, such as"),
        (lambda: g.fold(GIVEN, items=g.out, initial=0), "expected nodes, such as"),
        (lambda: g.choose((g.out == 1, GIVEN)), "expected nodes, such as"),
        (lambda: g.choose((g.out == 1, None), default=GIVEN), "expected nodes, such as"),
        (lambda: g.task("a").catch(then=GIVEN), "expected nodes, such as"),
        (lambda: g.choose((GIVEN, None)), "'choose': expected a condition, such as out.* got 'a'"),
        (lambda: g.choose((g.out["x"], None)), "expected a condition"),  # type: ignore[arg-type]
        (lambda: g.map(g.task("a"), items=GIVEN), "'map': items: expected a place in data, such as out.* got 'a'"),
        (lambda: g.fold(g.task("a"), items=GIVEN, initial=0), "'fold': items: expected a place in data"),
        (lambda: g.wait(until=GIVEN), "'wait': until: expected a place in data"),
        (lambda: g.task(5), "expected text as the name of a node, got 5"),  # type: ignore[arg-type]
        (lambda: g.task(""), "expected text as the name of a node, got ''"),
        (
            lambda: g.task("a", print),
            "'a': expected a function of the CDK, or the key of one, got <built-in function print>",
        ),
        (lambda: g.task("a").retry(KeyError), "'a': expected the name of an error, such as .* got <class 'KeyError'>"),  # type: ignore[arg-type]
        (lambda: g.task("a").catch(KeyError, then=g.fail("E")), "'a': expected the name of an error"),  # type: ignore[arg-type]
        (lambda: g.fail(KeyError), "error: expected text, or a place in data, got <class 'KeyError'>"),  # type: ignore[arg-type]
        (lambda: g.task("a").into(5), "into: expected the name of a field, got 5"),  # type: ignore[arg-type]
        (lambda: g.task("a", input={"x": f"{g.out['n']} pages"}), r"\$\.n: is no text before .* call\("),
        (lambda: g.out["n"].matches(str(g.out["m"])), r"\$\.m: is no text before the workflow runs"),
        (lambda: g.task("a", input={1: g.out}), "expected text as the name of a field, got 1"),
        (lambda: g.task("a", input={"x": {1}}), r"expected an expression, a time or JSON, got \{1\}"),
    ],
)
def test_what_has_another_type_is_refused_where_it_is_given(build: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        build()
