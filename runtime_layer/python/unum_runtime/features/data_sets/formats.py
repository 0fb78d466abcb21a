"""Items in object contents: rows of CSV or Parquet, lines of JSON, or a JSON array.

Rows of CSV and lines are read lazily. A JSON object is read as a whole, and so is a Parquet file.
"""

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import BinaryIO, TypeAlias

from unum_runtime.asl.item_sources import ObjectField
from unum_runtime.asl.states_errors import excerpt
from unum_runtime.features.data_sets.config import ReaderConfig
from unum_runtime.json_text import parse_foreign
from unum_runtime.model.states import Json

MAX_HEADER = 10 * 1024
"""Most characters of all column names (Developer Guide, "ItemReader (Map)", CSVHeaders); each row repeats them."""

_Format: TypeAlias = Callable[[BinaryIO, ReaderConfig], Iterable[Json]]


def items(stream: BinaryIO, config: ReaderConfig) -> Iterable[Json]:
    """Return the items in `stream`, in the format of `config`.

    Raises:
        ValueError: the content has another format.
        csv.Error: invalid CSV, or a field above 128 KiB.
    """
    if config.format is None:
        raise ValueError(f"InputType is missing; expected one of {', '.join(_FORMATS)}")
    return _FORMATS[config.format](stream, config)


def rows(stream: BinaryIO, delimiter: str, headers: Iterable[str] | None = None) -> Iterator[dict[str, str]]:
    """Yield CSV rows as objects of strings.

    Short rows are filled with empty strings, surplus fields are dropped, and empty rows are skipped (Developer Guide,
    Parsing input CSV files; executions recorded from AWS). Quotes inside quotes are doubled, or follow a backslash, as
    separators may.

    Args:
        stream: text in UTF-8.
        delimiter: field separator.
        headers: column names; None if the first row holds them.

    Raises:
        ValueError: two columns have the same name, or the names are too long.
    """
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")  # spreadsheet programs write a byte order mark
    filled = filter(None, csv.reader(text, delimiter=delimiter, escapechar="\\"))
    names = tuple(next(filled, ()) if headers is None else headers)
    if (size := sum(map(len, names))) > MAX_HEADER:
        raise ValueError(f"CSV header: expected at most {MAX_HEADER} characters, got {size}")
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        # Step Functions fails too (observed; its documentation has no rule). An object cannot hold both columns.
        raise ValueError(f"CSV header: expected different column names, got {excerpt(repeated[0])} more than once")
    blank = [""] * len(names)
    for row in filled:
        yield dict(zip(names, row + blank, strict=False))


def _lines(stream: BinaryIO, _config: ReaderConfig) -> Iterator[Json]:
    """Yield one item for each line; skip blank lines."""
    for line in io.TextIOWrapper(stream, encoding="utf-8-sig"):
        if not line.isspace():
            yield parse_foreign(line)


def _array(stream: BinaryIO, config: ReaderConfig) -> Sequence[Json]:
    value = _resolve_pointer(parse_foreign(stream.read()), config.pointer)
    if isinstance(value, dict):  # observed on AWS in July 2026; in 2023, an object failed the reader
        return [ObjectField({"Key": name, "Value": inner}) for name, inner in value.items()]
    if not isinstance(value, list):
        where = f" at {config.pointer}" if config.pointer else ""
        cause = f"expected an array or an object{where}, got {excerpt(value)}; set ItemsPointer to the path of one"
        raise ValueError(f"Attempting to map over non-iterable node. {cause}")  # noqa: TRY004 - AWS's text; a data error
    return value


def _parquet(stream: BinaryIO, _config: ReaderConfig) -> Iterator[Json]:
    from unum_runtime.features.data_sets.parquet import rows  # noqa: PLC0415 - few data sets have this format

    return rows(stream)


def _resolve_pointer(value: Json, pointer: str) -> Json:
    """Return the value at `pointer` (RFC 6901, Evaluation)."""
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        try:
            value = value[int(name) if isinstance(value, list) else name]
        except (LookupError, TypeError, ValueError):
            cause = f"ItemsPointer {pointer!r} has no target: no {name!r} in {excerpt(value)}"
            raise ValueError(cause) from None
    return value


_FORMATS: Mapping[str, _Format] = {
    "CSV": lambda stream, config: rows(stream, config.delimiter, config.headers),
    "JSON": _array,
    "JSONL": _lines,
    "PARQUET": _parquet,
}
