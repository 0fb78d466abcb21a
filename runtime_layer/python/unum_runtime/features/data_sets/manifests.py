"""Manifests, which list data objects: S3 inventories, and outputs of Athena's ``UNLOAD``.

Source: Amazon S3 User Guide, "Locating your inventory list"; Amazon Athena User Guide, "Identify query output files".
"""

from collections.abc import Iterator
from typing import BinaryIO

from unum_runtime.features.data_sets.dataset_objects import Objects
from unum_runtime.features.data_sets.formats import rows
from unum_runtime.json_text import parse_foreign
from unum_runtime.model.states import Json

_CSV = "CSV"
_SCHEME = "s3://"


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
