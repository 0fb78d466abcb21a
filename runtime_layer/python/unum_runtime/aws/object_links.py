"""Links to single S3 objects, for values that exceed an invocation: valid for a short time, for one content."""

import base64
from collections.abc import Callable
from typing import Any

from unum_runtime.cold_start.records import dataclass
from unum_runtime.model.states import Json

LINK_S = 300
"""Lifetime of a link, in seconds."""


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
