"""Objects that list the objects that hold the data: inventories of S3, and what Athena's ``UNLOAD`` has written.

Source: Amazon S3 User Guide, "Locating your inventory list"; Amazon Athena User Guide, "Identify query output files".
"""

from collections.abc import Iterator
from typing import BinaryIO

from unum_runtime.aws.items.dataset_objects import Objects
from unum_runtime.aws.items.formats import parsed, rows
from unum_runtime.model.ir import Json

_CSV = "CSV"
_SCHEME = "s3://"


def inventory(stream: BinaryIO, objects: Objects) -> Iterator[dict[str, str]]:
    """Every row of the inventory whose ``manifest.json`` `stream` is, as it stands there: its keys are URL-encoded.

    Raises:
        ValueError: it is no such manifest, or not of CSV.
    """
    manifest = parsed(stream.read())
    if not isinstance(manifest, dict) or not {"fileSchema", "files"} <= manifest.keys():
        raise ValueError("expected the manifest.json of an S3 inventory, with fileSchema and files")
    if manifest.get("fileFormat", _CSV) != _CSV:
        raise ValueError(f"an inventory in {manifest['fileFormat']} is not supported; configure it for CSV")
    columns = [name.strip() for name in manifest["fileSchema"].split(",")]
    bucket = manifest.get("destinationBucket", "").rpartition(":")[2] or None
    for file in manifest["files"]:
        with objects.opened(_key(file), bucket) as content:
            yield from rows(content, ",", columns)


def athena_files(stream: BinaryIO) -> Iterator[tuple[str, str]]:
    """Bucket and key of each file that a manifest of Athena lists, one URI in each line.

    Raises:
        ValueError: a line is none.
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
