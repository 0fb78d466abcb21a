"""ResultWriter: results of a Map as S3 objects, or in another shape (Developer Guide, "ResultWriter (Map)")."""

from collections.abc import Mapping
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from botocore.exceptions import BotoCoreError, ClientError

from unum_runtime.asl.serialize import dumps
from unum_runtime.features.data_sets.config import ResultWriterFailed
from unum_runtime.model.states import Json

TRANSFORMATIONS = ("NONE", "COMPACT", "FLATTEN")
OUTPUT_TYPES = ("JSON", "JSONL")

_KNOWN = ("Bucket", "Prefix", "ExpectedBucketOwner")


def transform(results: list[Json], transformation: Json) -> list[Json]:
    """Apply a ``Transformation`` to `results`.

    Raises:
        ResultWriterFailed: unknown transformation.
    """
    match transformation:
        case "NONE":
            return [_record(result) for result in results]
        case "COMPACT":
            return results
        case "FLATTEN":
            return [item for result in results for item in (result if isinstance(result, list) else [result])]
    raise ResultWriterFailed(f"Transformation: expected one of {', '.join(TRANSFORMATIONS)}; got {transformation!r}")


def serialize(results: list[Json], output_type: Json) -> str:
    """Serialize `results` as an ``OutputType``.

    Raises:
        ResultWriterFailed: unknown output type.
    """
    match output_type:
        case "JSON":
            return dumps(results)
        case "JSONL":
            return "".join(f"{dumps(result)}\n" for result in results)
    raise ResultWriterFailed(f"OutputType: expected one of {', '.join(OUTPUT_TYPES)}; got {output_type!r}")


def _record(result: Json) -> dict[str, Json]:
    """Return AWS's record of a child execution, reduced to the facts that exist for a branch."""
    return {"Output": dumps(result), "OutputDetails": {"Included": True}, "Status": "SUCCEEDED"}


def write(arguments: Mapping[str, Json], *, client: Any, key: str) -> Json:
    """Write the results to S3 and return the Map's result; without a ``Resource``, return the transformed results.

    With a ``Resource``, the Map's result is their location: ``MapRunArn``, and in ``ResultWriterDetails`` bucket and
    key of a ``manifest.json`` as AWS writes it. The manifest names a file ``SUCCEEDED_0.json`` with the results of
    successful branches, if any.

    Branches are not executions of their own. So with transformation ``NONE``, each result has only ``Output``,
    ``OutputDetails`` and ``Status``, without name, ARN, dates or input; ``FAILED`` and ``PENDING`` in the manifest list
    no files; and the ARN names a Map Run unknown to every API.

    Args:
        arguments: ``ResultWriter`` of the definition, with paths and expressions resolved: ``Resource``, ``Parameters``
            and ``WriterConfig``; ``Results``, in order; ``StateMachine``, its ARN; and ``Label`` of the Map.
        client: S3 client.
        key: unique text of the event, equal for all of its deliveries, which therefore write the same objects.

    Raises:
        ResultWriterFailed: invalid arguments, or S3 refused a write.
    """
    config = arguments.get("WriterConfig") or {}
    exports = "Resource" in arguments
    results = transform(arguments["Results"], config.get("Transformation", "NONE" if exports else "COMPACT"))
    if not exports:
        return results
    run = str(uuid5(NAMESPACE_URL, key))  # derived, not random: a second delivery overwrites the objects of the first
    parameters = _check_parameters(arguments.get("Parameters") or {})
    folder = f"{_prefix(parameters.pop('Prefix', ''))}{run}"
    machine = arguments["StateMachine"].replace(":stateMachine:", ":mapRun:")
    arn = f"{machine}/{arguments['Label']}:{run}"
    text = serialize(results, config.get("OutputType", "JSON"))
    files = [_put_object(client, parameters, f"{folder}/SUCCEEDED_0.json", text)] if results else []
    manifest = {
        "DestinationBucket": parameters["Bucket"],
        "MapRunArn": arn,
        "ResultFiles": {"FAILED": [], "PENDING": [], "SUCCEEDED": files},
    }
    # Last, so that a manifest never names a missing file.
    written = _put_object(client, parameters, f"{folder}/manifest.json", dumps(manifest))
    return {"MapRunArn": arn, "ResultWriterDetails": {"Bucket": parameters["Bucket"], "Key": written["Key"]}}


def _check_parameters(parameters: Mapping[str, Json]) -> dict[str, Json]:
    """Return a copy of valid `parameters`; an expression gives their names and values only at run time."""
    for name, value in parameters.items():
        if name not in _KNOWN or not isinstance(value, str):
            raise ResultWriterFailed(f"expected {', '.join(_KNOWN)} with strings, got {name} with {value!r}")
    if "Bucket" not in parameters:
        raise ResultWriterFailed(f"Bucket is missing, got {', '.join(parameters) or 'nothing'}")
    return dict(parameters)


def _prefix(prefix: str) -> str:
    return prefix if not prefix or prefix.endswith("/") else f"{prefix}/"


def _put_object(client: Any, parameters: Mapping[str, Json], key: str, text: str) -> dict[str, Json]:
    """Write `text` and return its entry in the manifest."""
    body = text.encode()
    try:
        client.put_object(**parameters, Key=key, Body=body, ContentType="application/json")
    except (BotoCoreError, ClientError) as error:
        raise ResultWriterFailed(f"s3://{parameters['Bucket']}/{key}: {error}") from error
    return {"Key": key, "Size": len(body)}
