"""ItemReader: items of a Map from S3 objects."""

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
    """Return the items in the order of the data set, at most ``MaxItems``.

    The rest of a data set is not read, except in JSON objects. Gzip files are decompressed.

    Args:
        arguments: ``ItemReader`` of the definition, with paths and expressions resolved: ``Resource``, ``Parameters``
            and ``ReaderConfig``.
        client: S3 client.

    Raises:
        ItemReaderFailed: an object cannot be read, or its content does not match ``ReaderConfig``.
    """
    config = ReaderConfig.parse(arguments.get("ReaderConfig") or {})
    objects = Objects(client, _check_parameters(arguments.get("Parameters")))
    read_items = _list_items if arguments["Resource"].endswith(_LIST) else _object_items
    return list(islice(read_items(objects, config), config.max_items))


def _check_parameters(parameters: Json) -> dict[str, Json]:
    if not isinstance(parameters, dict):
        raise ItemReaderFailed(f"expected an object with the parameters, got {excerpt(parameters)}")
    return parameters


def _list_items(objects: Objects, config: ReaderConfig) -> Iterator[Json]:
    """Yield listed objects, or their contents with ``LOAD_AND_FLATTEN``, without markers of empty folders."""
    for listed in objects.list_all():
        if not config.flattens:
            yield listed
        # The S3 console creates a folder as an empty object with a slash at the end of its key.
        elif listed["Size"] or not listed["Key"].endswith("/"):
            with objects.open(listed["Key"]) as stream:
                yield from items(stream, config)


def _object_items(objects: Objects, config: ReaderConfig) -> Iterator[Json]:
    with objects.open_named() as stream:
        match config.manifest:
            case None:
                yield from items(stream, config)
            case kind if kind == ATHENA:
                for bucket, key in athena_files(stream):
                    with objects.open(key, bucket) as file:
                        yield from items(file, config)
            case _:
                yield from inventory(stream, objects)
