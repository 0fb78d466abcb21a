"""S3 objects of a data set: listing, contents as streams, and limits by the function's memory.

All items of a Map are in memory before its branches begin; small archives may hold any number of items, and of bytes.
"""

import csv
import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeVar, cast

from botocore.exceptions import BotoCoreError, ClientError

from unum_runtime.features.data_sets.config import ItemReaderFailed
from unum_runtime.model.states import Json

ITEMS_PER_MB = 1_000
"""Most items of a data set for each MB of the function's memory; a small row of CSV takes some 200 bytes."""

MEMORY_PER_BYTE = 8
"""Bytes of memory for one byte of an object; JSON takes up to ten times its size."""

_LOCAL_MB = 1_024
_Item = TypeVar("_Item")

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_OWNER = "ExpectedBucketOwner"
_UNREADABLE = (BotoCoreError, ClientError, csv.Error, EOFError, OSError, ValueError, zlib.error)
"""Possible errors between bucket and item."""


def memory_mb() -> int:
    """Return the function's memory in MB (AWS Lambda Developer Guide, "Defined runtime environment variables")."""
    return int(os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", _LOCAL_MB))


def limited(items: Iterable[_Item]) -> Iterator[_Item]:
    """Yield `items`.

    Raises:
        ValueError: there are more than the function's memory allows.
    """
    most = ITEMS_PER_MB * memory_mb()
    for count, item in enumerate(items):
        if count == most:
            raise ValueError(
                f"expected at most {most} items in a function with {memory_mb()} MB, got more; set MaxItems, split the "
                "data set, or give the function more memory"
            )
        yield item


def limited_stream(stream: BinaryIO) -> BinaryIO:
    """Return `stream`, reading of which raises ValueError after as many bytes as the function's memory allows."""
    return cast("BinaryIO", io.BufferedReader(_Limited(stream, (memory_mb() << 20) // MEMORY_PER_BYTE)))


class _Limited(io.RawIOBase):
    def __init__(self, stream: BinaryIO, most: int) -> None:
        self._stream, self._most, self._left = stream, most, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # One byte beyond the limit tells a longer object from one that ends there.
        data = self._stream.read(min(len(buffer), self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise ValueError(
                f"expected at most {self._most >> 20} MB of data in a function with {memory_mb()} MB, got more; split "
                "the object, or give the function more memory"
            )
        buffer[: len(data)] = data
        return len(data)


@dataclass(frozen=True, slots=True)
class Objects:
    """S3 objects within reach of a reader's parameters.

    Attributes:
        client: S3 client.
        parameters: parameters of the reader.
    """

    client: Any
    parameters: Mapping[str, Json]

    def list_all(self) -> Iterator[dict[str, Json]]:
        """Yield every object of ``ListObjectsV2``, in Step Functions' shape.

        Raises:
            ItemReaderFailed: S3 refused the listing.
        """
        self._check("ListObjectsV2")
        try:
            for page in self.client.get_paginator("list_objects_v2").paginate(**self.parameters):
                yield from map(_entry, page.get("Contents", ()))
        except (BotoCoreError, ClientError) as error:
            raise ItemReaderFailed(f"s3://{self.parameters['Bucket']}: {error}") from error

    @contextmanager
    def open_named(self) -> Iterator[BinaryIO]:
        """Open the object of the parameters; see `open`."""
        self._check("GetObject")
        with self._read(self.parameters) as stream:
            yield stream

    @contextmanager
    def open(self, key: str, bucket: str | None = None) -> Iterator[BinaryIO]:
        """Open the decompressed content of object `key`, in `bucket` or else in the parameters' bucket.

        Raises:
            ItemReaderFailed: S3 refused the request, or the block cannot decode the content.
        """
        # The listing's other parameters, such as ``Prefix``, are unknown to ``GetObject``.
        owner = {_OWNER: self.parameters[_OWNER]} if _OWNER in self.parameters else {}
        with self._read({"Bucket": bucket or self.parameters["Bucket"], "Key": key, **owner}) as stream:
            yield stream

    @contextmanager
    def _read(self, parameters: Mapping[str, Json]) -> Iterator[BinaryIO]:
        try:
            with closing(self.client.get_object(**parameters)["Body"]) as body:
                yield limited_stream(_decompress(body))
        except _UNREADABLE as error:
            raise ItemReaderFailed(f"s3://{parameters['Bucket']}/{parameters['Key']}: {error}") from error

    def _check(self, operation: str) -> None:
        """Raise ItemReaderFailed for missing or unknown parameters: expressions set their names at run time."""
        shape = self.client.meta.service_model.operation_model(operation).input_shape
        missing = [name for name in shape.required_members if name not in self.parameters]
        unknown = [name for name in self.parameters if name not in shape.members]
        if missing or unknown:
            faults = [*(f"{name} is missing" for name in missing), *(f"there is no {name}" for name in unknown)]
            raise ItemReaderFailed(f"{operation} with {', '.join(self.parameters) or 'nothing'}: {', '.join(faults)}")


def _entry(listed: Mapping[str, Any]) -> dict[str, Json]:
    """Convert one listed object (Developer Guide, "ItemReader (Map)", Amazon S3 objects)."""
    return {
        "Etag": listed["ETag"],
        "Key": listed["Key"],
        "LastModified": int(listed["LastModified"].timestamp()),
        "Size": listed["Size"],
        "StorageClass": listed.get("StorageClass", "STANDARD"),
    }


def _decompress(body: BinaryIO) -> BinaryIO:
    stream = io.BufferedReader(cast("io.RawIOBase", body))
    start = stream.peek(len(_ZSTD))  # by content, not by the key's suffix, which may be anything
    if start.startswith(_ZSTD):
        raise ValueError("compressed with Zstandard, which is not supported by this version; use gzip")
    return cast("BinaryIO", gzip.GzipFile(fileobj=stream)) if start.startswith(_GZIP) else stream
