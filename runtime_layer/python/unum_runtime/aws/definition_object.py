"""Definitions in S3, for functions from container images: these cannot have layers."""

from urllib.parse import urlsplit

from unum_runtime.aws.client_factory import botocore_client


def read_definition(uri: str) -> str:
    """Return the IR at ``s3://bucket/key``, an immutable object: its key contains the digest.

    Raises:
        ClientError: S3 refused the request, or the object is missing.
    """
    location = urlsplit(uri)
    body = botocore_client("s3").get_object(Bucket=location.netloc, Key=location.path.removeprefix("/"))["Body"]
    return str(body.read().decode())
