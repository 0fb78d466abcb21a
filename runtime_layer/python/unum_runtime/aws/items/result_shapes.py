"""The results of a Map in the form that a ``WriterConfig`` asks for (developer guide, ResultWriter)."""

from unum_runtime.asl.serialize import dumps
from unum_runtime.aws.items.reader_errors import ResultWriterFailed
from unum_runtime.model.ir import Json

TRANSFORMATIONS = ("NONE", "COMPACT", "FLATTEN")
OUTPUT_TYPES = ("JSON", "JSONL")


def transformed(results: list[Json], transformation: Json) -> list[Json]:
    """`results` after a ``Transformation``.

    Raises:
        ResultWriterFailed: there is no such transformation.
    """
    match transformation:
        case "NONE":
            return [_record(result) for result in results]
        case "COMPACT":
            return results
        case "FLATTEN":
            return [item for result in results for item in (result if isinstance(result, list) else [result])]
    raise ResultWriterFailed(f"Transformation: expected one of {', '.join(TRANSFORMATIONS)}; got {transformation!r}")


def text_of(results: list[Json], output_type: Json) -> str:
    """`results` as the text of an ``OutputType``.

    Raises:
        ResultWriterFailed: there is no such type.
    """
    match output_type:
        case "JSON":
            return dumps(results)
        case "JSONL":
            return "".join(f"{dumps(result)}\n" for result in results)
    raise ResultWriterFailed(f"OutputType: expected one of {', '.join(OUTPUT_TYPES)}; got {output_type!r}")


def _record(result: Json) -> dict[str, Json]:
    """What AWS tells of a child execution, as far as there is something to tell of a branch."""
    return {"Output": dumps(result), "OutputDetails": {"Included": True}, "Status": "SUCCEEDED"}
