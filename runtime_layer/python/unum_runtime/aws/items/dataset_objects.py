"""The objects of a data set in S3: their list, and the content of each as a stream."""

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from botocore.exceptions import BotoCoreError, ClientError

from unum_runtime.aws.items.reader_errors import ItemReaderFailed
from unum_runtime.model.ir import Json

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_OWNER = "ExpectedBucketOwner"
_UNREADABLE = (BotoCoreError, ClientError, csv.Error, EOFError, OSError, ValueError, zlib.error)
"""What goes wrong between the bucket and an item."""


@dataclass(frozen=True, slots=True)
class Objects:
    """What a reader's parameters give access to.

    Attributes:
        client: of S3.
        parameters: of the reader.
    """

    client: Any
    parameters: Mapping[str, Json]

    def listed(self) -> Iterator[dict[str, Json]]:
        """Every object that ``ListObjectsV2`` lists, as Step Functions shows it.

        Raises:
            ItemReaderFailed: the bucket cannot be listed.
        """
        self._check("ListObjectsV2")
        try:
            for page in self.client.get_paginator("list_objects_v2").paginate(**self.parameters):
                yield from map(_shown, page.get("Contents", ()))
        except (BotoCoreError, ClientError) as error:
            raise ItemReaderFailed(f"s3://{self.parameters['Bucket']}: {error}") from error

    @contextmanager
    def own(self) -> Iterator[BinaryIO]:
        """The object that the parameters name; see `opened`."""
        self._check("GetObject")
        with self._read(self.parameters) as stream:
            yield stream

    @contextmanager
    def opened(self, key: str, bucket: str | None = None) -> Iterator[BinaryIO]:
        """The content of the object `key` in `bucket`, which is that of the parameters if None; decompressed.

        Raises:
            ItemReaderFailed: it cannot be read, or the block fails for what it reads.
        """
        owner = {_OWNER: self.parameters[_OWNER]} if _OWNER in self.parameters else {}
        with self._read({"Bucket": bucket or self.parameters["Bucket"], "Key": key, **owner}) as stream:
            yield stream

    @contextmanager
    def _read(self, parameters: Mapping[str, Json]) -> Iterator[BinaryIO]:
        try:
            with closing(self.client.get_object(**parameters)["Body"]) as body:
                yield _decompressed(body)
        except _UNREADABLE as error:
            raise ItemReaderFailed(f"s3://{parameters['Bucket']}/{parameters['Key']}: {error}") from error

    def _check(self, operation: str) -> None:
        """Names are known only now where an expression gives the parameters."""
        shape = self.client.meta.service_model.operation_model(operation).input_shape
        missing = [name for name in shape.required_members if name not in self.parameters]
        unknown = [name for name in self.parameters if name not in shape.members]
        if missing or unknown:
            faults = [*(f"{name} is missing" for name in missing), *(f"there is no {name}" for name in unknown)]
            raise ItemReaderFailed(f"{operation} with {', '.join(self.parameters) or 'nothing'}: {', '.join(faults)}")


def _shown(listed: Mapping[str, Any]) -> dict[str, Json]:
    """One object of the list (developer guide, ItemReader, Amazon S3 objects)."""
    return {
        "Etag": listed["ETag"],
        "Key": listed["Key"],
        "LastModified": int(listed["LastModified"].timestamp()),
        "Size": listed["Size"],
        "StorageClass": listed.get("StorageClass", "STANDARD"),
    }


def _decompressed(body: BinaryIO) -> BinaryIO:
    stream = io.BufferedReader(cast("io.RawIOBase", body))
    start = stream.peek(len(_ZSTD))
    if start.startswith(_ZSTD):
        raise ValueError("compressed with Zstandard, which is not supported by this version; use gzip")
    return cast("BinaryIO", gzip.GzipFile(fileobj=stream)) if start.startswith(_GZIP) else stream
