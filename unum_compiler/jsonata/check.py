"""Compiler checks of JSONata fields, and lists of their variables."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import TypeAlias

from unum_runtime.asl.jsonata.engine import BUILT_IN, Expression, ExpressionSyntaxError
from unum_runtime.asl.jsonata.expression_fields import inside, is_half_open
from unum_runtime.asl.jsonata.library import Node
from unum_runtime.asl.jsonata.names import STATES
from unum_runtime.asl.places import element, member
from unum_runtime.errors import Problem
from unum_runtime.model.states import Json

ALWAYS = frozenset({"input", "context"})
"""Fields of ``$states`` in every expression."""

_RESTRICTED = {
    "result": "$states.result exists in Output and Assign of Task, Parallel and Map only",
    "errorOutput": "$states.errorOutput exists in Output and Assign of catchers only",
}


def check_expression(text: str, where: str, states: frozenset[str] = ALWAYS) -> list[Problem]:
    """Return the problems of an expression.

    Args:
        text: text in the definition, from ``{%`` to ``%}``.
        where: JSON path of the text in the definition.
        states: allowed fields of ``$states``.
    """
    source = inside(text)
    if source is None:
        return [Problem(where, f"expected a JSONata expression from {{% to %}}, without spaces around; got {text!r}")]
    try:
        analysis = Analysis(Expression(source))
    except ExpressionSyntaxError as error:
        return [Problem(where, f"{source!r} is no JSONata expression: {error}")]
    fields = {name.split(".")[1] for name in analysis.names if name.startswith("states.")}
    faults = analysis.faults + [_missing(field, states) for field in sorted(fields - states)]
    return [Problem(where, f"{source!r}: {fault}") for fault in faults]


def check_template(value: Json, where: str, states: frozenset[str] = ALWAYS) -> list[Problem]:
    """Return the problems of all expressions in a JSON value; see `check_expression`."""
    return [problem for place, text in _texts(value, where) for problem in _check_text(text, place, states)]


def variables_read(value: Json) -> frozenset[str]:
    """Return the variables in the expressions of `value`, with their written fields.

    A computed access (``$lookup($states.context, $key)``) counts as access to the whole value before it. Expressions
    that `check_template` rejects have no variables.

    Returns:
        Names without ``$``, such as ``total`` and ``states.context.Execution.Input.order``.
    """
    sources = (inside(text) for _, text in _texts(value, ""))
    return frozenset().union(*(_names(source) for source in sources if source is not None))


def find_excesses(value: Json, where: str) -> Iterator[tuple[str, str]]:
    """Yield place and description of what Step Functions was measured to fail at in the expressions of `value`."""
    for place, text in _texts(value, where):
        source = inside(text)
        if source is not None:
            try:
                yield from ((place, found) for found in excesses(Expression(source)))
            except ExpressionSyntaxError:
                continue  # `check_template` reports it


def _check_text(text: str, where: str, states: frozenset[str]) -> list[Problem]:
    if inside(text) is not None:
        return check_expression(text, where, states)
    if is_half_open(text):
        message = f"a JSONata expression begins with {{% and ends with %}}, without spaces around; got {text!r}"
        return [Problem(where, message)]
    return []


def _names(source: str) -> set[str]:
    try:
        return Analysis(Expression(source)).names
    except ExpressionSyntaxError:
        return set()


def _missing(field: str, states: frozenset[str]) -> str:
    """Return the text for a missing field of ``$states``."""
    allowed = ", ".join(f"$states.{name}" for name in sorted(states))
    return _RESTRICTED.get(field, f"there is no $states.{field}; available here: {allowed}")


def _texts(value: Json, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(inner, member(where, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, element(where, index))


_Bound: TypeAlias = set[str]
"""Names defined in the expression up to the current node."""

_OUTER = ("procedure", "condition", "then", "_else", "lhs", "rhs", "expression")
"""Attributes of a node with a child evaluated on the same context value as the node."""

_OUTER_LISTS = ("arguments", "expressions")
_INNER = ("pattern", "update", "delete")
"""Attributes of a node with a child evaluated on values that the node selects."""


class Analysis:
    """Analysis of one expression, from left to right in order of evaluation.

    In all methods, `inner` is True if ``$`` and plain names have a context value.

    Attributes:
        names: variables from outside of the expression, without ``$``, with their written fields, such as
            ``states.input.order``.
        faults: violations of Step Functions' restrictions. Source: specification, "JSONata Restrictions".
    """

    def __init__(self, expression: Expression) -> None:
        self.names: set[str] = set()
        self.faults: list[str] = []
        self._node(expression.tree, set(), inner=False)

    def _node(self, node: Node, bound: _Bound, *, inner: bool) -> None:
        scope = bound if node.type == "bind" else set(bound)
        match node.type:
            case "variable":
                self._variable(node, (), scope, inner=inner)
            case "name":
                if not inner:
                    remedy = f"use $states.input.{node.value}"
                    self.faults.append(f"the name {node.value!r} has no value to be a field of; {remedy}")
            case "path":
                self._path(node, scope, inner=inner)
            case "bind":
                self._bind(node, scope, inner=inner)
            case "lambda":
                self._lambda(node, scope, inner=inner)
            case _:
                self._parts(node, scope if node.type == "block" else bound, inner=inner)
        self._filters(node, scope)

    def _parts(self, node: Node, bound: _Bound, *, inner: bool) -> None:
        for part in _outer_children(node):
            self._node(part, bound, inner=inner)
        for part in _inner_children(node):
            self._node(part, bound, inner=True)

    def _filters(self, node: Node, bound: _Bound) -> None:
        """Analyze filters and groups, which are evaluated on values of the node."""
        for stage in (*(node.predicate or ()), *(node.stages or ())):
            if stage.expr is not None:
                self._node(stage.expr, bound, inner=True)
        if node.group is not None:
            for part in _pairs(node.group):
                self._node(part, bound, inner=True)

    def _variable(self, node: Node, fields: Iterable[str], bound: _Bound, *, inner: bool) -> None:
        name = str(node.value)
        if name == "$":
            self.faults.append("$$ has no value in Step Functions; use $states.input")
        elif name == "":
            if not inner:
                self.faults.append("$ has no value outside of paths and filters; use $states.input")
        elif name == "eval":
            self.faults.append("the function $eval is not available in Step Functions; for JSON texts use $parse")
        elif name not in bound and name not in BUILT_IN:
            self.names.add(".".join((name, *fields)))

    def _path(self, node: Node, bound: _Bound, *, inner: bool) -> None:
        for position, step in enumerate(node.steps):
            is_inner = inner or position > 0
            if step.type == "variable":
                self._variable(step, _step_names(node.steps[position + 1 :]), bound, inner=is_inner)
                self._filters(step, bound)
            else:
                self._node(step, bound, inner=is_inner)
            bound.update(_step_variables(step))

    def _bind(self, node: Node, bound: _Bound, *, inner: bool) -> None:
        name = str(node.lhs.value)
        if name == STATES:
            self.faults.append("$states is reserved; bind another name")
        is_function = node.rhs.type == "lambda"  # a function may call itself, so it sees its own name
        self._node(node.rhs, bound | {name} if is_function else bound, inner=inner)
        bound.add(name)

    def _lambda(self, node: Node, bound: _Bound, *, inner: bool) -> None:
        parameters = {str(parameter.value) for parameter in node.arguments}
        self._node(node.body, bound | parameters, inner=inner)  # context of its definition, not of its call


MOST_IN_RANGE = 873_782
"""Longest range that users have measured to succeed in Step Functions."""

MOST_TERMS = 199
"""Most terms of one operation, such as a sum, that users have measured to succeed in Step Functions."""


def excesses(expression: Expression) -> Iterator[str]:
    """Yield parts of `expression` that Step Functions was measured to fail at: long ranges, and long operations."""
    todo = [expression.tree]
    while todo:
        node = todo.pop()
        if node.type == "binary" and node.value == "..":
            size = _literal(node.rhs, 0) - _literal(node.lhs, 0) + 1
            if size > MOST_IN_RANGE:
                yield f"a range of {size} numbers, and Step Functions fails with more than {MOST_IN_RANGE}"
        terms = 1
        while node.type == "binary" and node.lhs is not None:
            todo.append(node.rhs)
            node, terms = node.lhs, terms + 1
        if terms > MOST_TERMS:
            yield f"an operation of {terms} terms, and Step Functions fails with 200"
        todo += [*_outer_children(node), *_inner_children(node), *_selecting(node)]


def _literal(node: Node, default: int) -> int:
    return int(node.value) if node.type == "number" else default


def _selecting(node: Node) -> Iterator[Node]:
    yield from node.steps or ()
    if getattr(node, "body", None) is not None:
        yield node.body
    yield from (stage.expr for stage in (*(node.predicate or ()), *(node.stages or ())) if stage.expr is not None)
    if node.group is not None:
        yield from _pairs(node.group)


def _outer_children(node: Node) -> Iterator[Node]:
    yield from filter(None, (getattr(node, name) for name in _OUTER))
    for name in _OUTER_LISTS:
        yield from getattr(node, name) or ()
    yield from _pairs(node)


def _inner_children(node: Node) -> Iterator[Node]:
    yield from filter(None, (getattr(node, name) for name in _INNER))
    yield from (term.expression for term in node.terms or ())


def _pairs(node: Node) -> Iterator[Node]:
    for pair in node.lhs_object or ():
        yield from pair


def _step_names(steps: Sequence[Node]) -> Iterator[str]:
    return (str(step.value) for step in takewhile(lambda step: step.type == "name", steps))


def _step_variables(step: Node) -> Iterator[str]:
    """Yield the variables for value and position of a step: ``@$value``, ``#$position``."""
    yield from (str(name) for name in (step.focus, step.index) if name is not None)
    yield from (str(stage.value) for stage in step.stages or () if stage.type == "index")
