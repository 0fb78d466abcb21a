"""Results of a Map in the shape of a ``WriterConfig`` (Developer Guide, "ResultWriter (Map)")."""

from unum_runtime.asl.serialize import dumps
from unum_runtime.features.data_sets.reader_errors import ResultWriterFailed
from unum_runtime.model.states import Json

TRANSFORMATIONS = ("NONE", "COMPACT", "FLATTEN")
OUTPUT_TYPES = ("JSON", "JSONL")


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
