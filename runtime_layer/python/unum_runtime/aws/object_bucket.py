"""Objects in a bucket, for values that are too large for the table; loaded and connected when there is one of them."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import StoreError
from unum_runtime.wire.call_errors import call_errors, error_code

PARALLEL_READS = 16
"""How many objects are read at the same time: a join may have some hundred, of some megabytes each."""

_MISSING = "NoSuchKey"


@dataclass(frozen=True)
class S3Objects:
    """Keeps objects in a bucket, which expires them.

    Attributes:
        client: gives the S3 client, boto3's or botocore's; called when there is something to do.
        bucket: name of the bucket.
    """

    client: Callable[[], Any]
    bucket: str

    def put(self, name: str, content: bytes) -> None:
        """See `Objects.put`."""
        try:
            self.client().put_object(Bucket=self.bucket, Key=name, Body=content, ContentType="application/json")
        except call_errors() as error:
            raise StoreError(f"PutObject s3://{self.bucket}/{name}: {error}") from error

    def get(self, names: Iterable[str]) -> dict[str, bytes]:
        """See `Objects.get`."""
        wanted = list(dict.fromkeys(names))
        read = partial(self._content, self.client())  # threads may share a client, but not make it
        with ThreadPoolExecutor(PARALLEL_READS) as pool:
            contents = list(pool.map(read, wanted))
        return {name: content for name, content in zip(wanted, contents, strict=True) if content is not None}

    def _content(self, client: Any, name: str) -> bytes | None:
        try:
            content: bytes = client.get_object(Bucket=self.bucket, Key=name)["Body"].read()
        except call_errors() as error:
            if error_code(error) == _MISSING:
                return None
            raise StoreError(f"GetObject s3://{self.bucket}/{name}: {error}") from error
        return content
