"""Maps over data sets in S3, which run as distributed Maps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unum_compiler.frontends.graph.graph_expressions import Reference, payload
from unum_compiler.frontends.graph.nodes import Map, Piece, check_text, check_whole, nodes_of, number_field, shown
from unum_runtime.model.states import Json

_DISTRIBUTED = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}


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
