"""Data sets of distributed Maps in S3: items for an ItemReader, results of a ResultWriter.

A manifest may list the items' files: S3 inventories, Athena's ``UNLOAD``. Only the workflow's service function imports
this package.

Source: AWS Step Functions Developer Guide, "ItemReader (Map)" and "ResultWriter (Map)"; Amazon S3 User Guide, "Locating
your inventory list"; Amazon Athena User Guide, "Identify query output files".
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, BinaryIO, TypeAlias

from unum_runtime.asl.item_sources import read_value
from unum_runtime.asl.states_errors import excerpt
from unum_runtime.features.data_sets.config import ATHENA, ItemReaderFailed, ReaderConfig
from unum_runtime.features.data_sets.dataset_objects import Objects, limited
from unum_runtime.features.data_sets.formats import items, rows
from unum_runtime.features.data_sets.write import write
from unum_runtime.json_text import parse_foreign
from unum_runtime.model.states import Json

_CSV = "CSV"
_SCHEME = "s3://"

_LIST = ":listObjectsV2"
_Item: TypeAlias = tuple[str, Json]
"""URI of the object that holds an item, and the item."""

__all__ = ["read", "write"]


def inventory(stream: BinaryIO, objects: Objects) -> Iterator[tuple[str, str, Iterator[dict[str, str]]]]:
    """Yield bucket, key and rows of each file of the inventory with the ``manifest.json`` `stream`.

    The rows are unchanged: keys in them stay URL-encoded.

    Raises:
        ValueError: the manifest is invalid, or its format is not CSV.
    """
    manifest = parse_foreign(stream.read())
    if not isinstance(manifest, dict) or not {"fileSchema", "files"} <= manifest.keys():
        raise ValueError("expected the manifest.json of an S3 inventory, with fileSchema and files")
    if manifest.get("fileFormat", _CSV) != _CSV:
        raise ValueError(f"an inventory in {manifest['fileFormat']} is not supported; configure it for CSV")
    columns = [name.strip() for name in manifest["fileSchema"].split(",")]
    bucket = manifest.get("destinationBucket", "").rpartition(":")[2] or None  # an ARN, ``arn:aws:s3:::BUCKET``
    for file in manifest["files"]:
        key = _key(file)
        with objects.open(key, bucket) as content:
            yield bucket or objects.parameters["Bucket"], key, rows(content, ",", columns)


def athena_files(stream: BinaryIO) -> Iterator[tuple[str, str]]:
    """Yield bucket and key of each file in an Athena manifest, one URI per line.

    Raises:
        ValueError: a line has no S3 URI.
    """
    for row in rows(stream, ",", ("uri",)):
        uri = row["uri"].strip()
        bucket, slash, key = uri.removeprefix(_SCHEME).partition("/")
        if not uri.startswith(_SCHEME) or not slash:
            raise ValueError(f"expected a manifest of Athena, with {_SCHEME}bucket/key in each line; got {uri!r}")
        yield bucket, key


def _key(file: Json) -> str:
    match file:
        case {"key": str(key)}:
            return key
    raise ValueError(f"expected a file with its key, got {file!r}")


def read(arguments: Mapping[str, Json], *, client: Any) -> Json:
    """Return the items in the order of the data set, at most ``MaxItems``, as `read_value`.

    The rest of a data set is not read, except in JSON objects. Gzip files are decompressed.

    Args:
        arguments: ``ItemReader`` of the definition, with paths and expressions resolved: ``Resource``, ``Parameters``
            and ``ReaderConfig``; ``Sources`` if an expression reads the items' sources.
        client: S3 client.

    Raises:
        ItemReaderFailed: an object cannot be read, or its content does not match ``ReaderConfig``.
    """
    config = ReaderConfig.parse(arguments.get("ReaderConfig") or {})
    objects = Objects(client, _check_parameters(arguments.get("Parameters")))
    read_items = _list_items if arguments["Resource"].endswith(_LIST) else _object_items
    pairs = limited(islice(read_items(objects, config), config.max_items))
    try:
        return read_value(pairs, has_sources=bool(arguments.get("Sources")))
    except ValueError as error:
        raise ItemReaderFailed(str(error)) from error


def _check_parameters(parameters: Json) -> dict[str, Json]:
    if not isinstance(parameters, dict):
        raise ItemReaderFailed(f"expected an object with the parameters, got {excerpt(parameters)}")
    return parameters


def _list_items(objects: Objects, config: ReaderConfig) -> Iterator[_Item]:
    """Yield listed objects, or their contents with ``LOAD_AND_FLATTEN``, without markers of empty folders."""
    bucket = objects.parameters.get("Bucket")
    for listed in objects.list_all():
        if not config.flattens:
            yield f"S3://{bucket}", listed
        # The S3 console creates a folder as an empty object with a slash at the end of its key. Programs that write
        # Parquet mark a complete data set with an empty object, such as ``_SUCCESS``.
        elif listed["Size"] or not (listed["Key"].endswith("/") or config.format == "PARQUET"):
            with objects.open(listed["Key"]) as stream:
                yield from _from(f"{bucket}/{listed['Key']}", items(stream, config))


def _object_items(objects: Objects, config: ReaderConfig) -> Iterator[_Item]:
    with objects.open_named() as stream:
        match config.manifest:
            case None:
                place = f"{objects.parameters.get('Bucket')}/{objects.parameters.get('Key')}"
                yield from _from(place, items(stream, config))
            case kind if kind == ATHENA:
                for bucket, key in athena_files(stream):
                    with objects.open(key, bucket) as file:
                        yield from _from(f"{bucket}/{key}", items(file, config))
            case _:
                for bucket, key, rows in inventory(stream, objects):
                    yield from _from(f"{bucket}/{key}", rows)


def _from(place: str, found: Iterable[Json]) -> Iterator[_Item]:
    return ((f"S3://{place}", item) for item in found)
