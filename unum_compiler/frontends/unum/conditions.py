"""Conditions of edges, as rules of a Choice: comparisons of a function's result with constants."""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise

from unum_compiler.frontends.unum.application import Edge
from unum_runtime.model.states import Json

_COMPARED: Mapping[type[ast.cmpop], tuple[str, Callable[[Json, Json], bool]]] = {
    ast.Eq: ("Equals", operator.eq),
    ast.NotEq: ("Equals", operator.ne),
    ast.Lt: ("LessThan", operator.lt),
    ast.LtE: ("LessThanEquals", operator.le),
    ast.Gt: ("GreaterThan", operator.gt),
    ast.GtE: ("GreaterThanEquals", operator.ge),
}
_LITERALS = {str: "String", bool: "Boolean", int: "Numeric", float: "Numeric"}
_RESULT = "_result"
_LAST = re.compile(r"\$0==\$size-1")
_NEXT = re.compile(r"\$0<\$size-(?P<less>\d+)")


def is_last(condition: str) -> bool:
    """Return True if `condition` holds in the last branch alone."""
    return _LAST.fullmatch(re.sub(r"\s", "", condition)) is not None


def iterations_less(condition: str) -> int | None:
    """Parse k in the condition ``$0 < $size - k``; None for other conditions."""
    found = _NEXT.fullmatch(re.sub(r"\s", "", condition))
    return None if found is None else int(found["less"])


def rules(edges: Sequence[Edge]) -> Iterator[dict[str, Json]]:
    """Yield the rule of each edge, with its target.

    Raises:
        DefinitionError: a condition is none of the result, or two may hold at once.
    """
    parsed = [_parsed(edge) for edge in edges]
    for (one, first), (other, second) in combinations(zip(edges, parsed, strict=True), 2):
        if _overlap(first, second):
            message = f"expected conditions of which one holds, but {one.condition!r} and {other.condition!r} may both"
            other.place.refuse(f"Conditional: {message}; compare one value, so that they exclude each other")
    for edge, tree in zip(edges, parsed, strict=True):
        yield {**_rule(tree, edge), "Next": edge.target}


def _parsed(edge: Edge) -> ast.expr:
    text = re.sub(r"\$(?:ret|out)\b", _RESULT, edge.condition or "")
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        _refuse(edge)
    _rule(tree, edge)
    return tree


def _refuse(edge: Edge) -> None:
    message = "expected comparisons of $ret with constants, or of $0 with $size - 1 at the end of a Map's branches"
    edge.place.refuse(f"Conditional: {message}, got {edge.condition!r}; let a function decide, and compare its result")


def _rule(tree: ast.expr, edge: Edge) -> dict[str, Json]:
    match tree:
        case ast.BoolOp(values=values):
            name = "And" if isinstance(tree.op, ast.And) else "Or"
            return {name: [_rule(value, edge) for value in values]}
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return {"Not": _rule(inner, edge)}
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARED:
            path, value = _path(left), _constant(right)
            if path is not None and type(value) in _LITERALS:
                return _comparison(path, type(op), value)
    _refuse(edge)
    raise AssertionError


def _comparison(path: str, op: type[ast.cmpop], value: Json) -> dict[str, Json]:
    rule = {"Variable": path, f"{_LITERALS[type(value)]}{_COMPARED[op][0]}": value}
    return {"Not": rule} if op is ast.NotEq else rule


def _path(tree: ast.expr) -> str | None:
    """Return the path of ``$ret['a']`` in the result."""
    match tree:
        case ast.Name(id=name) if name == _RESULT:
            return "$"
        case ast.Subscript(value=value, slice=ast.Constant(value=str() as key)) if around := _path(value):
            return f"{around}['{key}']"
    return None


def _constant(tree: ast.expr) -> Json:
    match tree:
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
    return None


def _comparisons(tree: ast.expr) -> Iterator[tuple[str, Json]]:
    """Yield the paths and constants that `tree` compares."""
    for each in ast.walk(tree):
        if isinstance(each, ast.Compare):
            yield str(_path(each.left)), _constant(each.comparators[0])


def _overlap(first: ast.expr, second: ast.expr) -> bool:
    """Return True unless no value satisfies both."""
    compared = [*_comparisons(first), *_comparisons(second)]
    if len({path for path, _ in compared}) > 1:
        return True
    return any(_holds(first, value) and _holds(second, value) for value in _samples([item for _, item in compared]))


def _samples(constants: Sequence[Json]) -> Iterator[Json]:
    """Yield a value for each interval that `constants` make."""
    texts = sorted({each for each in constants if isinstance(each, str)})
    yield from ("", *texts, *(f"{text}\x00" for text in texts), "\U0010ffff")
    numbers = sorted({each for each in constants if not isinstance(each, str)})
    between = [(one + other) / 2 for one, other in pairwise(numbers)]
    yield from (*numbers, *between, *(numbers and (numbers[0] - 1, numbers[-1] + 1)), True, False)


def _holds(tree: ast.expr, value: Json) -> bool:
    match tree:
        case ast.BoolOp(values=values):
            combine = all if isinstance(tree.op, ast.And) else any
            return combine(_holds(each, value) for each in values)
        case ast.UnaryOp(operand=inner):
            return not _holds(inner, value)
        case ast.Compare(ops=[op], comparators=[right]):
            constant = _constant(right)
            if _LITERALS[type(constant)] != _LITERALS[type(value)]:
                return isinstance(op, ast.NotEq)  # no comparison holds for another type
            return _COMPARED[type(op)][1](value, constant)
    raise AssertionError
