"""S3 objects for values above the size limit of table items, connected on first use; and links to single objects.

A link is for a value that exceeds an invocation: valid for a short time, for one content.
"""

import base64
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import StoreError
from unum_runtime.model.states import Json
from unum_runtime.wire.call_errors import call_errors, error_code

PARALLEL_READS = 16
"""Concurrent reads: a join may need several hundred objects of several megabytes each."""

_MISSING = "NoSuchKey"

LINK_S = 300
"""Lifetime of a link, in seconds."""


@dataclass(frozen=True)
class S3Objects:
    """Objects in one bucket, deleted by its lifecycle rule.

    Attributes:
        client: function that returns the S3 client, of boto3 or botocore; called on first use.
        bucket: bucket name.
    """

    client: Callable[[], Any]
    bucket: str

    def put(self, name: str, content: bytes) -> None:
        """Write one object; see `Objects.put`."""
        try:
            self.client().put_object(Bucket=self.bucket, Key=name, Body=content, ContentType="application/json")
        except call_errors() as error:
            raise StoreError(f"PutObject s3://{self.bucket}/{name}: {error}") from error

    def get(self, names: Iterable[str]) -> dict[str, bytes]:
        """Read several objects in parallel; see `Objects.get`."""
        wanted = list(dict.fromkeys(names))
        read = partial(self._content, self.client())  # clients are thread-safe, their creation is not (boto3)
        with ThreadPoolExecutor(PARALLEL_READS) as pool:
            contents = list(pool.map(read, wanted))
        return {name: content for name, content in zip(wanted, contents, strict=True) if content is not None}

    def erase_folder(self, folder: str) -> None:
        """Delete all versions of the objects in a folder; see `ErasableObjects.erase_folder`."""
        try:
            pages = self.client().get_paginator("list_object_versions")
            for page in pages.paginate(Bucket=self.bucket, Prefix=f"{folder}/"):
                self._delete([*page.get("Versions", ()), *page.get("DeleteMarkers", ())])
        except call_errors() as error:
            raise StoreError(f"DeleteObjects s3://{self.bucket}/{folder}/: {error}") from error

    def _delete(self, versions: list[Mapping[str, Any]]) -> None:
        if not versions:
            return
        named = [{"Key": each["Key"], "VersionId": each["VersionId"]} for each in versions]
        # A page has at most 1,000 versions, as many as one request deletes.
        refused = self.client().delete_objects(Bucket=self.bucket, Delete={"Objects": named, "Quiet": True})
        for each in refused.get("Errors", ()):
            raise StoreError(f"DeleteObjects s3://{self.bucket}/{each['Key']}: {each['Code']}: {each['Message']}")

    def _content(self, client: Any, name: str) -> bytes | None:
        try:
            content: bytes = client.get_object(Bucket=self.bucket, Key=name)["Body"].read()
        except call_errors() as error:
            if error_code(error) == _MISSING:
                return None
            raise StoreError(f"GetObject s3://{self.bucket}/{name}: {error}") from error
        return content


@dataclass(frozen=True)
class S3Links:
    """Links to objects of one bucket, signed with the function's own credentials.

    Attributes:
        client: function that returns the S3 client of botocore, which signs links by Signature Version 4.
        bucket: bucket name.
    """

    client: Callable[[], Any]
    bucket: str

    def upload(self, name: str, *, size: int, sha256: str) -> dict[str, Json]:
        """Return ``url`` and ``headers`` to upload one object.

        The headers are part of the signature, so S3 takes no content of another size or digest.
        """
        checksum = base64.b64encode(bytes.fromhex(sha256)).decode()
        fields = {"ContentLength": size, "ContentType": "application/json", "ChecksumSHA256": checksum}
        url = self._link("put_object", name, **fields)
        headers = {"content-length": str(size), "content-type": "application/json", "x-amz-checksum-sha256": checksum}
        return {"url": url, "headers": headers}

    def download(self, name: str) -> str:
        """Return the URL from which the content of one object may be read."""
        return self._link("get_object", name)

    def _link(self, operation: str, name: str, **fields: Any) -> str:
        parameters = {"Bucket": self.bucket, "Key": name, **fields}
        url: str = self.client().generate_presigned_url(operation, Params=parameters, ExpiresIn=LINK_S)
        return url
