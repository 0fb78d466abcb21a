"""Workflows as Python expressions: nodes in sequences, with choices, fan-outs and folds.

Everything is immutable and reusable. The input of a node is the output of the node before it, `out`::

    small, big = task("small", reply), task("big", review)
    flow = task("price", price) >> choose((out["total"] > 100, big), default=small) >> task("send", send)
    definition = Definition.from_graph(flow)

A function is a construct, or the key of a function that is passed to the workflow. The result is a definition in the
Amazon States Language with JSONPath, which needs no further library at run time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Any

from unum_compiler.frontends.graph import nodes
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
    Flow,
    Map,
    Node,
    Piece,
    Step,
    check_text,
    check_whole,
    input_fields,
    nodes_of,
    number_field,
    shown,
)
from unum_compiler.frontends.graph.service_nodes import activity, ask, check_function, nested, service, token, wait_for
from unum_runtime.model.states import Json

_DISTRIBUTED = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}

__all__ = [
    "Condition",
    "DataSet",
    "Expression",
    "Flow",
    "Folder",
    "Node",
    "Piece",
    "Reference",
    "Step",
    "activity",
    "ask",
    "call",
    "choose",
    "content",
    "context",
    "dag",
    "fail",
    "fold",
    "goto",
    "index",
    "item",
    "let",
    "map",
    "map_data",
    "nested",
    "objects",
    "out",
    "parallel",
    "seq",
    "service",
    "shape",
    "succeed",
    "task",
    "token",
    "var",
    "wait",
    "wait_for",
]

context = Reference("$$")
"""The context object; ``context["Execution"]["Input"]`` is the execution's input."""

item = Reference("$$.Map.Item.Value")
"""The item, in `select` of a map."""

index = Reference("$$.Map.Item.Index")
"""The item's index from 0, in `select` of a map."""


@dataclass(frozen=True, eq=False)
class DataSet:
    """Items in S3.

    Attributes:
        reader: ``ItemReader`` of the Amazon States Language.
    """

    reader: Mapping[str, Json]


@dataclass(frozen=True, eq=False)
class Folder:
    """A place in S3 for the results of a Map.

    Attributes:
        bucket: name of the bucket, or its place in data.
        prefix: beginning of the objects' keys, or its place in data.
    """

    bucket: str | Reference
    prefix: str | Reference = ""

    def __post_init__(self) -> None:
        _check_texts("folder", bucket=self.bucket, prefix=self.prefix)


def objects(bucket: str | Reference, prefix: str | Reference = "", *, max_items: int | None = None) -> DataSet:
    """List objects of a bucket as items with ``Key``, ``Size``, ``LastModified`` and more.

    Args:
        bucket: name of the bucket.
        prefix: beginning of the objects' keys.
        max_items: number of items at most.

    Raises:
        TypeError: an argument has another kind.
    """
    _check_texts("objects", bucket=bucket, prefix=prefix)
    begins = {"Prefix": prefix} if prefix != "" or isinstance(prefix, Reference) else {}
    return _data_set("listObjectsV2", {"Bucket": bucket, **begins}, {}, max_items)


def content(
    bucket: str | Reference,
    key: str | Reference,
    kind: str,
    *,
    headers: Sequence[str] | None = None,
    max_items: int | None = None,
) -> DataSet:
    """Return the rows, lines or elements of an object as items.

    Args:
        bucket: name of the bucket.
        key: key of the object.
        kind: format of the object, such as ``"CSV"``, ``"JSON"`` or ``"JSONL"``.
        headers: names of the columns of a CSV object without a row of headers.
        max_items: number of items at most.

    Raises:
        TypeError: an argument has another kind.
    """
    _check_texts("content", bucket=bucket, key=key)
    check_text("content", "kind", kind)
    config: dict[str, Json] = {"InputType": kind}
    if headers is not None:
        config |= {"CSVHeaderLocation": "GIVEN", "CSVHeaders": [*headers]}
    elif kind == "CSV":
        config["CSVHeaderLocation"] = "FIRST_ROW"
    return _data_set("getObject", {"Bucket": bucket, "Key": key}, config, max_items)


def map_data(  # noqa: PLR0913 - all but two have defaults
    branch: Piece,
    *,
    data: DataSet,
    select: Mapping[str, Any] | None = None,
    batch: int | None = None,
    at_once: int | Reference | None = None,
    tolerated: int | Reference | None = None,
    results: Folder | None = None,
    name: str = "map",
) -> Map:
    """Return a node that runs `branch` for the items of a data set, as a distributed Map.

    Args:
        branch: a node or a sequence.
        data: the items.
        select: input of each branch, with expressions; by default the item alone.
        batch: number of items of a branch, whose input is then ``{"Items": [...]}``; by default one item alone.
        at_once: number of branches that run at the same time; no limit by default.
        tolerated: number of branches that may fail.
        results: place in S3 for the outputs, of which the node's output then names the object.
        name: name of the node.

    Raises:
        TypeError: an argument has another kind.
        ValueError: a number is too small.
    """
    if not isinstance(data, DataSet):
        raise TypeError(f"{name!r}: data: expected a data set of objects or content, got {shown(data)}")
    if not (results is None or isinstance(results, Folder)):
        raise TypeError(f"{name!r}: results: expected a Folder, got {shown(results)}")
    check_whole(name, "batch", batch, 1)
    fields = {
        "ItemReader": data.reader,
        **({} if select is None else {"ItemSelector": payload(dict(select))}),
        **({} if batch is None else {"ItemBatcher": {"MaxItemsPerBatch": batch}}),
        **number_field(name, "at_once", "MaxConcurrency", at_once, 1),
        **number_field(name, "tolerated", "ToleratedFailureCount", tolerated),
        **({} if results is None else {"ResultWriter": _writer(results)}),
    }
    return Map(name=name, fields=fields, branch=nodes_of(branch), config=_DISTRIBUTED)


def _data_set(action: str, parameters: dict[str, Any], config: dict[str, Json], max_items: int | None) -> DataSet:
    check_whole("data set", "max_items", max_items, 1)
    limit = {} if max_items is None else {"MaxItems": max_items}
    settings = {"ReaderConfig": {**config, **limit}} if config or limit else {}
    return DataSet({"Resource": f"arn:aws:states:::s3:{action}", "Parameters": payload(parameters), **settings})


def _writer(folder: Folder) -> Json:
    parameters = payload({"Bucket": folder.bucket, "Prefix": folder.prefix})
    return {"Resource": "arn:aws:states:::s3:putObject", "Parameters": parameters}


def _check_texts(node: str, **texts: Any) -> None:
    for argument, value in texts.items():
        check_text(node, argument, value, may_be_place=True)


def task(
    name: str,
    function: Any = None,
    *,
    input: Any = None,  # noqa: A002 - the word for it
    timeout_s: int | Reference | None = None,
    heartbeat_s: int | Reference | None = None,
) -> nodes.Task:
    """Return a node that runs user code.

    Args:
        name: name of the node.
        function: construct or key; by default the node's name is the key.
        input: input of the function: a place in the node's input, or an object with expressions.
        timeout_s: time limit, in seconds.
        heartbeat_s: time limit between heartbeats, in seconds.

    Raises:
        TypeError: an argument has another kind.
        ValueError: `function` is the resource of a service, or a number is too small.
    """
    check_function(name, function)
    fields = {
        **input_fields(input),
        **number_field(name, "timeout_s", "TimeoutSeconds", timeout_s, 1),
        **number_field(name, "heartbeat_s", "HeartbeatSeconds", heartbeat_s, 1),
    }
    return nodes.Task(name=name, fields=fields, function=name if function is None else function)


def map(  # noqa: A001 - what it is called in every language of workflows
    branch: Piece,
    *,
    items: Reference,
    select: Mapping[str, Any] | None = None,
    at_once: int | Reference | None = None,
    name: str = "map",
) -> nodes.Map:
    """Return a node that runs `branch` once per item, side by side; outputs form an array.

    Args:
        branch: a node or a sequence.
        items: place of the array.
        select: input of each branch, with expressions; by default the item alone.
        at_once: number of branches that run at the same time; no limit by default.
        name: name of the node.
    """
    selector = {} if select is None else {"ItemSelector": payload(dict(select))}
    fields = {
        "ItemsPath": _place(name, "items", items).text,
        **selector,
        **number_field(name, "at_once", "MaxConcurrency", at_once, 1),
    }
    return nodes.Map(name=name, fields=fields, branch=nodes_of(branch))


def parallel(*branches: Piece, name: str = "parallel") -> nodes.Parallel:
    """Return a node that runs `branches` side by side, each with its input; outputs form an array.

    Raises:
        TypeError: a branch is no node and no sequence.
        ValueError: there is no branch.
    """
    if not branches:
        raise ValueError(f"{name!r}: expected at least one branch, got none")
    return nodes.Parallel(name=name, branches=tuple(nodes_of(branch) for branch in branches))


def dag(graph: Mapping[str, Piece], *, name: str = "dag") -> nodes.Parallel:
    """Return a node that runs a graph of named nodes, each once, as soon as all its sources have ended.

    A node's input is the object of the results of its sources, by name; without sources, the input of this node. The
    output is the object of the results that no node waits for, by name::

        dag({
            "split": task("split"),
            "left": task("left").after("split"),
            "right": task("right").after("split"),
            "both": task("both").after("left", "right"),
        })

    Args:
        graph: nodes or sequences by name, with `after` if they wait for others; at most 256, in any order.
        name: name of the node.

    Raises:
        ValueError: there are no nodes, a node waits for one that does not exist, or some wait for each other.
    """
    made = {each: node if isinstance(node, Node) else Node(nodes_of(node), ()) for each, node in graph.items()}
    needs = nodes.ordered({each: node.sources for each, node in made.items()}, name)
    return nodes.Parallel(
        name=name,
        branches=tuple(made[each].piece for each, _ in needs),
        extensions={"needs": needs},
    )


def choose(*ways: tuple[Condition, Piece | None], default: Piece | None = None, name: str = "choose") -> nodes.Choose:
    """Return a node that runs the nodes behind the first true condition, then continues the sequence.

    Args:
        ways: conditions with nodes; None for no nodes.
        default: nodes if no condition holds; by default the sequence continues at once.
        name: name of the node.
    """
    for way in ways:
        if not isinstance(way, tuple) or len(way) != 2:  # noqa: PLR2004 - condition and nodes
            raise TypeError(f"{name!r}: expected pairs of a condition and nodes, got {shown(way)}")
    checked = tuple((_condition(name, condition), None if then is None else nodes_of(then)) for condition, then in ways)
    return nodes.Choose(name=name, ways=checked, default=None if default is None else nodes_of(default))


def fold(body: Piece, *, items: Reference, initial: Any, name: str = "fold") -> nodes.Fold:
    """Return a node that runs `body` item by item, in sequence; the last run's output is its output.

    A variable carries the array from item to item: store large items elsewhere, and put references into the array.

    Args:
        body: nodes with the input ``{"item": ..., "accumulated": ...}``; the next item gets their output as
            `accumulated`.
        items: place of the array.
        initial: `accumulated` of the first item, and the output for an empty array.
        name: name of the node.
    """
    return nodes.Fold(name=name, items=_place(name, "items", items), initial=initial, body=nodes_of(body))


def wait(
    seconds: int | Reference | None = None, *, until: datetime | Reference | None = None, name: str = "wait"
) -> nodes.Simple:
    """Return a node that delays, then passes its input.

    Args:
        seconds: duration.
        until: time, instead of a duration.
        name: name of the node.

    Raises:
        ValueError: both are given, or none.
    """
    if (seconds is None) == (until is None):
        raise ValueError(f"{name!r}: expected seconds or until, got {'none' if until is None else 'both'}")
    if isinstance(until, datetime):
        return nodes.Simple(name=name, fields={"Type": "Wait", "Timestamp": timestamp(until)})
    if until is not None:
        return nodes.Simple(name=name, fields={"Type": "Wait", "TimestampPath": _place(name, "until", until).text})
    return nodes.Simple(name=name, fields={"Type": "Wait", **number_field(name, "seconds", "Seconds", seconds)})


def shape(value: Any, *, name: str = "shape") -> nodes.Simple:
    """Return a node that outputs part of its input, or an object containing expressions."""
    return nodes.Simple(name=name, fields={"Type": "Pass", **input_fields(value)})


def let(name: str = "let", /, **variables: Any) -> nodes.Simple:
    """Return a node that passes its input and sets variables for `var`; `name` is the node's name."""
    return nodes.Simple(name=name, fields={"Type": "Pass"}).assign(**variables)


def succeed(name: str = "succeed") -> nodes.Ending:
    """Return a node that ends branch or execution, passing its input."""
    return nodes.Ending(name=name, fields={"Type": "Succeed"})


def fail(error: str | Reference, cause: str | Reference | None = None, *, name: str = "fail") -> nodes.Ending:
    """Return a node that raises an error.

    Args:
        error: name of the error.
        cause: text for humans.
        name: name of the node.

    Raises:
        TypeError: an argument is neither text nor a place.
    """
    fields = {**_text(name, "Error", error), **({} if cause is None else _text(name, "Cause", cause))}
    return nodes.Ending(name=name, fields={"Type": "Fail", **fields})


def goto(name: str) -> nodes.Goto:
    """Return a node that continues with node `name` of the same branch; backwards, this makes a loop.

    Raises:
        TypeError: `name` is no text.
    """
    return nodes.Goto(name=name)


def seq(first: Piece, *others: Piece) -> Piece:
    """Return a node sequence, like ``>>``."""
    return reduce(lambda before, after: before >> nodes_of(after), others, nodes_of(first))


def _place(node: str, argument: str, value: Any) -> Reference:
    if isinstance(value, Reference):
        return value
    raise TypeError(f'{node!r}: {argument}: expected a place in data, such as out["items"], got {value!r}')


def _condition(node: str, value: Any) -> Condition:
    if isinstance(value, Condition):
        return value
    raise TypeError(f'{node!r}: expected a condition, such as out["total"] > 100, got {value!r}')


def _text(node: str, field: str, value: str | Reference) -> dict[str, str]:
    check_text(node, field.lower(), value, may_be_place=True)
    return {f"{field}Path": value.text} if isinstance(value, Reference) else {field: value}
