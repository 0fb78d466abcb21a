"""Workflows as Python expressions: nodes in sequences, with choices, fan-outs and folds between them.

Everything is immutable, and can be used again. A node's input is the output of the node before it, `out`::

    small, big = task("small", reply), task("big", review)
    flow = task("price", price) >> choose((out["total"] > 100, big), default=small) >> task("send", send)
    definition = Definition.from_graph(flow)

A function is a construct, or the key of one that is passed to the workflow. What comes out is a definition in the
Amazon States Language, in JSONPath, so that nothing more is needed at run time.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import reduce
from typing import Any

from unum_compiler.frontends.graph.graph_expressions import (
    Condition,
    Expression,
    Reference,
    call,
    out,
    payload,
    timestamp,
    var,
)
from unum_compiler.frontends.graph.nodes import (
    Choose,
    Ending,
    Flow,
    Fold,
    Goto,
    Map,
    Parallel,
    Piece,
    Simple,
    Step,
    Task,
    input_fields,
    nodes_of,
)

__all__ = [
    "Condition",
    "Expression",
    "Flow",
    "Piece",
    "Reference",
    "Step",
    "call",
    "choose",
    "context",
    "fail",
    "fold",
    "goto",
    "index",
    "item",
    "let",
    "map",
    "out",
    "parallel",
    "seq",
    "shape",
    "succeed",
    "task",
    "var",
    "wait",
]

context = Reference("$$")
"""The context object; the execution's input is ``context["Execution"]["Input"]``."""

item = Reference("$$.Map.Item.Value")
"""In `select` of a map: the item."""

index = Reference("$$.Map.Item.Index")
"""In `select` of a map: the item's number, from 0."""


def task(
    name: str,
    function: Any = None,
    *,
    input: Any = None,  # noqa: A002 - the word for it
    timeout_s: int | Reference | None = None,
    heartbeat_s: int | Reference | None = None,
) -> Task:
    """Runs user code.

    Args:
        name: of the node.
        function: a construct, or the key of one; the node's name if it is not given.
        input: what the function gets: a place in the node's input, or an object with expressions in it.
        timeout_s: how long it may take, in seconds.
        heartbeat_s: how long it may be silent, in seconds.

    Raises:
        TypeError: `function` is neither.
    """
    if not (function is None or isinstance(function, str) or hasattr(function, "node")):
        raise TypeError(f"{name!r}: expected a function of the CDK, or the key of one, got {function!r}")
    fields = {
        **input_fields(input),
        **_number("TimeoutSeconds", timeout_s),
        **_number("HeartbeatSeconds", heartbeat_s),
    }
    return Task(name=name, fields=fields, function=name if function is None else function)


def map(  # noqa: A001 - what it is called in every language of workflows
    branch: Piece,
    *,
    items: Reference,
    select: Mapping[str, Any] | None = None,
    at_once: int | Reference | None = None,
    name: str = "map",
) -> Map:
    """Runs `branch` for every item, side by side; its output is the array of theirs.

    Args:
        branch: a node or a sequence.
        items: where the array is.
        select: input of each branch, with expressions in it; the item alone if it is not given.
        at_once: how many branches run at the same time; no limit if it is not given.
        name: of the node.
    """
    selector = {} if select is None else {"ItemSelector": payload(dict(select))}
    fields = {"ItemsPath": _place(items).text, **selector, **_number("MaxConcurrency", at_once)}
    return Map(name=name, fields=fields, branch=nodes_of(branch))


def parallel(*branches: Piece, name: str = "parallel") -> Parallel:
    """Runs `branches` side by side, each with the node's input; its output is the array of theirs."""
    return Parallel(name=name, branches=tuple(nodes_of(branch) for branch in branches))


def choose(*ways: tuple[Condition, Piece | None], default: Piece | None = None, name: str = "choose") -> Choose:
    """Goes the first way whose condition holds; then the sequence goes on.

    Args:
        ways: condition and nodes; None for no nodes.
        default: nodes where no condition holds; without, the sequence goes on at once.
        name: of the node.
    """
    checked = tuple((_condition(condition), None if then is None else nodes_of(then)) for condition, then in ways)
    return Choose(name=name, ways=checked, default=None if default is None else nodes_of(default))


def fold(body: Piece, *, items: Reference, initial: Any, name: str = "fold") -> Fold:
    """Runs `body` for one item after the other; its output is what the last one gives.

    The array travels from item to item in a variable: put large items by reference into it.

    Args:
        body: its input is ``{"item": ..., "accumulated": ...}``, and its output is accumulated for the next item.
        items: where the array is.
        initial: accumulated for the first item, and the output where there are no items.
        name: of the node.
    """
    return Fold(name=name, items=_place(items), initial=initial, body=nodes_of(body))


def wait(
    seconds: int | Reference | None = None, *, until: datetime | Reference | None = None, name: str = "wait"
) -> Simple:
    """Passes its input after some time.

    Args:
        seconds: how long.
        until: the time, instead.
        name: of the node.

    Raises:
        ValueError: both are given, or none.
    """
    if (seconds is None) == (until is None):
        raise ValueError(f"{name!r}: expected seconds or until, got {'none' if until is None else 'both'}")
    if isinstance(until, datetime):
        return Simple(name=name, fields={"Type": "Wait", "Timestamp": timestamp(until)})
    if until is not None:
        return Simple(name=name, fields={"Type": "Wait", "TimestampPath": _place(until).text})
    return Simple(name=name, fields={"Type": "Wait", **_number("Seconds", seconds)})


def shape(value: Any, *, name: str = "shape") -> Simple:
    """Gives a part of its input, or an object with expressions in it."""
    return Simple(name=name, fields={"Type": "Pass", **input_fields(value)})


def let(name: str = "let", /, **variables: Any) -> Simple:
    """Passes its input, and sets variables, which `var` names; `name` is the node's."""
    return Simple(name=name, fields={"Type": "Pass"}).assign(**variables)


def succeed(name: str = "succeed") -> Ending:
    """Ends the sequence, and the branch or the execution that it belongs to, with its input."""
    return Ending(name=name, fields={"Type": "Succeed"})


def fail(error: str | Reference, cause: str | Reference | None = None, *, name: str = "fail") -> Ending:
    """Fails with an error.

    Args:
        error: its name.
        cause: text for humans.
        name: of the node.

    Raises:
        TypeError: one of these is neither text nor a place.
    """
    fields = {**_text("Error", error), **({} if cause is None else _text("Cause", cause))}
    return Ending(name=name, fields={"Type": "Fail", **fields})


def goto(name: str) -> Goto:
    """Goes on with the node called `name`, before or after this one in the same branch: so loops are made."""
    return Goto(name=name)


def seq(first: Piece, *others: Piece) -> Piece:
    """One after the other, as with ``>>``."""
    return reduce(lambda before, after: before >> nodes_of(after), others, nodes_of(first))


def _place(value: Any) -> Reference:
    if isinstance(value, Reference):
        return value
    raise TypeError(f'expected a place in data, such as out["items"], got {value!r}')


def _condition(value: Any) -> Condition:
    if isinstance(value, Condition):
        return value
    raise TypeError(f'expected a condition, such as out["total"] > 100, got {value!r}')


def _number(field: str, value: float | Reference | None) -> dict[str, Any]:
    if value is None:
        return {}
    return {f"{field}Path": value.text} if isinstance(value, Reference) else {field: value}


def _text(field: str, value: str | Reference) -> dict[str, str]:
    if not isinstance(value, str | Reference):
        raise TypeError(f"{field.lower()}: expected text, or a place in data, got {value!r}")
    return {f"{field}Path": value.text} if isinstance(value, Reference) else {field: value}
