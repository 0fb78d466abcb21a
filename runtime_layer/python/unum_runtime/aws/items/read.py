"""An ItemReader: the items of a Map from objects in S3."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from unum_runtime.asl.states_errors import excerpt
from unum_runtime.aws.items.config import ATHENA, ReaderConfig
from unum_runtime.aws.items.dataset_objects import Objects
from unum_runtime.aws.items.formats import items
from unum_runtime.aws.items.manifests import athena_files, inventory
from unum_runtime.aws.items.reader_errors import ItemReaderFailed
from unum_runtime.model.ir import Json

_LIST = ":listObjectsV2"


def read(arguments: Mapping[str, Json], *, client: Any) -> list[Json]:
    """The items, in the order of the data set.

    No more is read than ``MaxItems`` asks for, but for JSON. What is compressed with gzip is decompressed.

    Args:
        arguments: what the definition has in ``ItemReader``, with paths and expressions resolved: ``Resource``,
            ``Parameters`` and ``ReaderConfig``.
        client: of S3.

    Raises:
        ItemReaderFailed: an object cannot be read, or has other content than ``ReaderConfig`` says.
    """
    config = ReaderConfig.of(arguments.get("ReaderConfig") or {})
    objects = Objects(client, _object(arguments.get("Parameters")))
    found = _of_list if arguments["Resource"].endswith(_LIST) else _of_object
    return list(islice(found(objects, config), config.most))


def _object(parameters: Json) -> dict[str, Json]:
    if not isinstance(parameters, dict):
        raise ItemReaderFailed(f"expected an object with the parameters, got {excerpt(parameters)}")
    return parameters


def _of_list(objects: Objects, config: ReaderConfig) -> Iterator[Json]:
    """The listed objects, or with ``LOAD_AND_FLATTEN`` what is in them, but for the markers of empty folders."""
    for listed in objects.listed():
        if not config.loads:
            yield listed
        elif listed["Size"] or not listed["Key"].endswith("/"):
            with objects.opened(listed["Key"]) as stream:
                yield from items(stream, config)


def _of_object(objects: Objects, config: ReaderConfig) -> Iterator[Json]:
    with objects.own() as stream:
        match config.manifest:
            case None:
                yield from items(stream, config)
            case kind if kind == ATHENA:
                for bucket, key in athena_files(stream):
                    with objects.opened(key, bucket) as file:
                        yield from items(file, config)
            case _:
                yield from inventory(stream, objects)
