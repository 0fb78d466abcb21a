"""A ResultWriter: the results of a Map into objects in S3, or into another shape."""

from collections.abc import Mapping
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from botocore.exceptions import BotoCoreError, ClientError

from unum_runtime.asl.serialize import dumps
from unum_runtime.aws.items.reader_errors import ResultWriterFailed
from unum_runtime.aws.items.result_shapes import text_of, transformed
from unum_runtime.model.ir import Json

_KNOWN = ("Bucket", "Prefix", "ExpectedBucketOwner")


def write(arguments: Mapping[str, Json], *, client: Any, key: str) -> Json:
    """Write the results, and give what the Map comes to.

    With a ``Resource`` that is where the results are: ``MapRunArn``, and in ``ResultWriterDetails`` the bucket and key
    of a ``manifest.json`` as AWS writes it. It names a file ``SUCCEEDED_0.json`` with the results of the branches that
    succeeded, if there are any. Without a ``Resource`` it is these results themselves.

    Branches are no executions of their own here. So with the transformation ``NONE`` each result has only ``Output``,
    ``OutputDetails`` and ``Status``, and no name, ARN, dates or input; ``FAILED`` and ``PENDING`` in the manifest list
    no files; and the ARN names a Map Run that no API describes.

    Args:
        arguments: what the definition has in ``ResultWriter``, with paths and expressions resolved: ``Resource``,
            ``Parameters`` and ``WriterConfig``; the ``Results``, in order; the ARN of the ``StateMachine``; and the
            ``Label`` of the Map.
        client: of S3.
        key: the same for every delivery of the event that this is for, and for no other; who writes again, writes the
            same objects.

    Raises:
        ResultWriterFailed: the results cannot be written so.
    """
    config = arguments.get("WriterConfig") or {}
    exports = "Resource" in arguments
    results = transformed(arguments["Results"], config.get("Transformation", "NONE" if exports else "COMPACT"))
    if not exports:
        return results
    run = str(uuid5(NAMESPACE_URL, key))
    parameters = _checked(arguments.get("Parameters") or {})
    folder = f"{_prefix(parameters.pop('Prefix', ''))}{run}"
    machine = arguments["StateMachine"].replace(":stateMachine:", ":mapRun:")
    arn = f"{machine}/{arguments['Label']}:{run}"
    text = text_of(results, config.get("OutputType", "JSON"))
    files = [_put(client, parameters, f"{folder}/SUCCEEDED_0.json", text)] if results else []
    manifest = {
        "DestinationBucket": parameters["Bucket"],
        "MapRunArn": arn,
        "ResultFiles": {"FAILED": [], "PENDING": [], "SUCCEEDED": files},
    }
    written = _put(client, parameters, f"{folder}/manifest.json", dumps(manifest))
    return {"MapRunArn": arn, "ResultWriterDetails": {"Bucket": parameters["Bucket"], "Key": written["Key"]}}


def _checked(parameters: Mapping[str, Json]) -> dict[str, Json]:
    """A copy of `parameters`, whose names and values may be known only now."""
    for name, value in parameters.items():
        if name not in _KNOWN or not isinstance(value, str):
            raise ResultWriterFailed(f"expected {', '.join(_KNOWN)} with strings, got {name} with {value!r}")
    if "Bucket" not in parameters:
        raise ResultWriterFailed(f"Bucket is missing, got {', '.join(parameters) or 'nothing'}")
    return dict(parameters)


def _prefix(prefix: str) -> str:
    return prefix if not prefix or prefix.endswith("/") else f"{prefix}/"


def _put(client: Any, parameters: Mapping[str, Json], key: str, text: str) -> dict[str, Json]:
    """Write `text`, and give what a manifest says of it."""
    body = text.encode()
    try:
        client.put_object(**parameters, Key=key, Body=body, ContentType="application/json")
    except (BotoCoreError, ClientError) as error:
        raise ResultWriterFailed(f"s3://{parameters['Bucket']}/{key}: {error}") from error
    return {"Key": key, "Size": len(body)}
