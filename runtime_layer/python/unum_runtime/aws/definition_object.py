"""Definitions that no layer brings: those of functions that are container images, which take no layers."""

from urllib.parse import urlsplit

from unum_runtime.aws.client_factory import botocore_client


def read_definition(uri: str) -> str:
    """The IR at ``s3://bucket/key``, which never changes: its key says what it is.

    Raises:
        ClientError: it cannot be read.
    """
    place = urlsplit(uri)
    body = botocore_client("s3").get_object(Bucket=place.netloc, Key=place.path.removeprefix("/"))["Body"]
    return str(body.read().decode())
