"""Operators beside those of mutmut: conditions, operands, order, aggregates, looks, statements and elements.

Each takes a node and yields the nodes that it replaces, with their new text. What mutmut makes already is left out: the
conditions of `a if b else c`, dropped cases of a match, dropped arguments, values that become None.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, TypeAlias

import libcst

Change: TypeAlias = tuple[libcst.CSTNode, str]
"""A node, and the text that replaces it."""

MUTMUT = "mutmut"
"""Kind of all mutants by mutmut's operators."""

FURTHER = "further"
"""All other kinds."""

EXTREMES = {"max": "min", "min": "max"}
QUANTIFIERS = {"any": "all", "all": "any"}
EXITS = (libcst.Return, libcst.Raise, libcst.Continue, libcst.Break, libcst.Del)
ACTIONS = (libcst.Call, libcst.Yield)


def conditions(node: Any) -> Iterator[Change]:
    """Make the condition of an `if` never or always true, that of a loop never, a filter and a guard of a case always.

    The condition is still evaluated, because it may assign a name.
    """
    test = node.guard if isinstance(node, libcst.MatchCase) else node.test
    if test is None or _name(test) == "TYPE_CHECKING":
        return
    if isinstance(node, libcst.If | libcst.While):
        yield test, f"({_code(test)}) and False"
    if not isinstance(node, libcst.While):
        yield test, f"({_code(test)}) or True"


def operands(node: libcst.BooleanOperation) -> Iterator[Change]:
    """Drop one operand of `and` or `or`."""
    kind = type(node.operator)
    if not _is_chain(node.left, kind):
        yield node, _code(node.right)
    if not _is_chain(node.right, kind):
        yield node, _code(node.left)


def comparisons(node: libcst.Comparison) -> Iterator[Change]:
    """Drop the first or the last comparison of a chain, as of `a < b < c`."""
    if node.comparisons[1:]:
        first, *others = node.comparisons
        yield node, _code(node.with_changes(left=first.comparator, comparisons=others, lpar=[], rpar=[]))
        yield node, _code(node.with_changes(comparisons=node.comparisons[:-1], lpar=[], rpar=[]))


def order(node: libcst.Call) -> Iterator[Change]:
    """Leave an order as it is instead of sorting or reversing it; take the last match instead of the first."""
    name = _name(node.func)
    if name in ("sorted", "reversed") and node.args:
        yield node, f"[*{_argument(node)}]"
    if name == "next" and node.args and isinstance(node.args[0].value, libcst.GeneratorExp):
        searched = node.args[0].value.for_in.iter
        if not _is_reversed(searched):  # its own change is the same
            yield searched, f"[*{_code(searched)}][::-1]"


def reversal(node: libcst.Slice) -> Iterator[Change]:
    """Leave a sequence as it is instead of reversing it by a slice."""
    if node.step is not None and _code(node.step) == "-1":
        yield node.step, "1"


def aggregates(node: libcst.Call) -> Iterator[Change]:
    """Take the greatest for a sum, the sum for the greatest, the least for it and vice versa; any for all."""
    name = _name(node.func)
    if name in EXTREMES:
        yield node.func, EXTREMES[name]
    if name in QUANTIFIERS:
        yield node.func, QUANTIFIERS[name]
    if name == "sum":
        yield node, f"max({_argument(node)}, default=0)"
    if name == "max" and not any(arg.keyword for arg in node.args):
        values = ", ".join(arg.star + _code(arg.value) for arg in node.args)
        is_single = len(node.args) == 1 and not node.args[0].star
        yield node, f"sum({_argument(node)})" if is_single else f"sum([{values}])"


def looks(node: libcst.NamedExpr) -> Iterator[Change]:
    """Find nothing where an expression names what it finds."""
    if _name(node.value) != "None":
        yield node.value, "None"


def statements(node: Any) -> Iterator[Change]:
    """Leave out a call, a yielded value, or an early exit.

    A statement that is all that an `if` does is left out by its condition; the last value of a function is no exit.
    """
    if not isinstance(getattr(node, "body", None), libcst.IndentedBlock):
        return
    lines = node.body.body
    if isinstance(node, libcst.If) and len(lines) == 1 and node.orelse is None:
        return
    for line in lines:
        if not isinstance(line, libcst.SimpleStatementLine):
            continue
        is_last = isinstance(node, libcst.FunctionDef) and line is lines[-1]
        for statement in line.body:
            is_exit = isinstance(statement, EXITS) and not is_last
            if is_exit or (isinstance(statement, libcst.Expr) and isinstance(statement.value, ACTIONS)):
                yield statement, "pass"


def elements(node: Any) -> Iterator[Change]:
    """Drop one element of a tuple, a list or a set."""
    codes = [_code(each.with_changes(comma=libcst.MaybeSentinel.DEFAULT)) for each in node.elements]
    for at in range(len(codes)):
        left = ", ".join([*codes[:at], *codes[at + 1 :]])
        if isinstance(node, libcst.Tuple):
            yield node, f"({left},)" if left else "()"
        elif isinstance(node, libcst.List):
            yield node, f"[{left}]"
        else:
            yield node, f"{{{left}}}" if left else "set()"


def unmutated(node: Any) -> Iterable[libcst.CSTNode]:
    """Return the children of `node` that only look like a value: names to assign to, and parameters of a type."""
    if isinstance(node, libcst.AssignTarget | libcst.For | libcst.CompFor):
        return [node.target]
    return [node.value] if isinstance(node, libcst.Index) else []


OPERATORS: tuple[tuple[str, Any, Callable[[Any], Iterator[Change]]], ...] = (
    ("condition", libcst.If | libcst.While | libcst.CompIf | libcst.MatchCase, conditions),
    ("operand", libcst.BooleanOperation, operands),
    ("operand", libcst.Comparison, comparisons),
    ("order", libcst.Call, order),
    ("order", libcst.Slice, reversal),
    ("aggregate", libcst.Call, aggregates),
    ("look", libcst.NamedExpr, looks),
    ("statement", libcst.BaseCompoundStatement | libcst.Else | libcst.ExceptHandler, statements),
    ("statement", libcst.Finally | libcst.MatchCase, statements),
    ("element", libcst.Tuple | libcst.List | libcst.Set, elements),
)
"""Kind, class of nodes and operator."""

MEANING = {
    "condition": "an `if` is never or always true, a `while` never, a filter or a guard of a case always",
    "operand": "one operand of `and`, `or` or a chained comparison is dropped",
    "order": "a sort or a reversal is left out, the last match is taken for the first",
    "aggregate": "`max` for `sum`, `min` for `max`, `any` for `all`, and vice versa",
    "look": "what an expression finds and names is None",
    "statement": "a call whose value is not used, an early exit or a `yield` is left out",
    "element": "one element of a tuple, a list or a set is dropped",
}
"""Changes of each kind."""


@cache
def operators_of(kind: type[libcst.CSTNode]) -> tuple[tuple[str, Callable[[Any], Iterator[Change]]], ...]:
    """Return kind and operator for nodes of the class `kind`."""
    return tuple((name, operator) for name, each, operator in OPERATORS if issubclass(kind, each))


def _is_chain(node: libcst.CSTNode, operator: type[libcst.CSTNode]) -> bool:
    """Return True for an operand that is more operands of the same operator: each is dropped where it stands."""
    return isinstance(node, libcst.BooleanOperation) and isinstance(node.operator, operator)


def _is_reversed(node: libcst.CSTNode) -> bool:
    return isinstance(node, libcst.Call) and _name(node.func) == "reversed"


def _argument(call: libcst.Call) -> str:
    """Return the first argument, maybe a generator without parentheses."""
    return f"({_code(call.args[0].value)})"


def _name(node: libcst.CSTNode) -> str:
    return node.value if isinstance(node, libcst.Name) else ""


def _code(node: libcst.CSTNode) -> str:
    return libcst.Module([]).code_for_node(node).strip()
