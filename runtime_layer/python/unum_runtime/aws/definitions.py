"""Definitions that no layer brings: those of functions that are container images, which take no layers."""

from typing import Any
from urllib.parse import urlsplit

import botocore.session

from unum_runtime.aws.configuration import client_config


def read_definition(uri: str) -> str:
    """The IR at ``s3://bucket/key``, which never changes: its key says what it is.

    Raises:
        ClientError: it cannot be read.
    """
    place = urlsplit(uri)
    client: Any = botocore.session.get_session().create_client("s3", config=client_config())
    body = client.get_object(Bucket=place.netloc, Key=place.path.removeprefix("/"))["Body"]
    return str(body.read().decode())
