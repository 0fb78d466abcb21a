"""Arithmetic on branch indexes: ``$0`` is the index of a function's branch, ``$size`` the number of branches."""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from unum_compiler.frontends.unum.application import Edge

_COMPARED: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_OFFSET = re.compile(r"\(?\$0(?:(?P<sign>[+-])(?P<number>\d+))?\)?")
_NEXT_BRANCH = re.compile(r"\$0=\$0(?P<sign>[+-])(?P<number>\d+)")
_INDEX, _SIZE = "_index", "_size"


def offset_in(text: str | None) -> int | None:
    """Return d in the index ``$0+d`` or ``($0-d)``; None for another text."""
    return _number(_OFFSET.fullmatch(re.sub(r"\s", "", text or "")))


def shift_in(modifier: str) -> int | None:
    """Return d in the modifier ``$0=$0+d``; None for another one."""
    return _number(_NEXT_BRANCH.fullmatch(modifier))


def _number(found: "re.Match[str] | None") -> int | None:
    if found is None:
        return None
    return int(f"{found['sign']}{found['number']}") if found["sign"] else 0


class Condition(NamedTuple):
    """Condition on the branch index.

    Attributes:
        tree: the expression; None for always.
        constants: numbers in it.
    """

    tree: ast.expr | None
    constants: tuple[int, ...] = ()

    def holds(self, index: int, size: int) -> bool:
        """Return True if the condition holds in branch `index` of `size`."""
        return self.tree is None or bool(_value(self.tree, {_INDEX: index, _SIZE: size}))


def index_condition(edge: Edge) -> Condition:
    """Return the condition of `edge`.

    Raises:
        DefinitionError: it is no comparison of ``$0``, ``$size`` and integers.
    """
    if edge.condition is None:
        return Condition(None)
    text = edge.condition.replace("$size", _SIZE).replace("$0", _INDEX)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        _value(tree, {_INDEX: 0, _SIZE: 1})
    except (SyntaxError, _NoArithmeticError):
        message = "expected comparisons of $0 with integers or $size, beside a fan-in of neighbouring branches"
        edge.place.refuse(f"Conditional: {message}, got {edge.condition!r}")
    numbers = (each.value for each in ast.walk(tree) if isinstance(each, ast.Constant))
    return Condition(tree, tuple(number for number in numbers if isinstance(number, int)))


class _NoArithmeticError(Exception):
    """Expression other than comparisons of integers."""


def _value(tree: ast.expr, names: Mapping[str, int]) -> int:
    match tree:
        case ast.BoolOp(op=op, values=values):
            combine = min if isinstance(op, ast.And) else max
            return combine(_value(each, names) for each in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, names)
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [_value(each, names) for each in (left, *others)]
            return all(_COMPARED[type(op)](*sides[at : at + 2]) for at, op in enumerate(ops) if _is_known(op))
    return _number_in(tree, names)


def _number_in(tree: ast.expr, names: Mapping[str, int]) -> int:
    match tree:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            one, other = _value(left, names), _value(right, names)
            return one + other if isinstance(op, ast.Add) else one - other
        case ast.Constant(value=int() as number):
            return number
        case ast.Name(id=name) if name in names:
            return names[name]
    raise _NoArithmeticError


def _is_known(op: ast.cmpop) -> bool:
    if type(op) not in _COMPARED:
        raise _NoArithmeticError
    return True
