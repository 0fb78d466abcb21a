"""Items in the content of an object: rows of CSV, lines of JSON, or an array in JSON.

All are read as they are asked for, but for JSON, which is read whole.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import BinaryIO, NoReturn, TypeAlias

from unum_runtime.asl.states_errors import excerpt
from unum_runtime.aws.items.config import ReaderConfig
from unum_runtime.model.ir import Json

_Format: TypeAlias = Callable[[BinaryIO, ReaderConfig], Iterable[Json]]


def items(stream: BinaryIO, config: ReaderConfig) -> Iterable[Json]:
    """The items in `stream`, whose format `config` names.

    Raises:
        ValueError: there is something else.
        csv.Error: it is no CSV, or a field has more than 128 KiB.
    """
    if config.format is None:
        raise ValueError(f"InputType is missing; expected one of {', '.join(_FORMATS)}")
    return _FORMATS[config.format](stream, config)


def rows(stream: BinaryIO, delimiter: str, headers: Iterable[str] | None = None) -> Iterator[dict[str, str]]:
    """The rows of CSV, as objects of strings.

    A row that is too short is filled with empty strings, what is too much is left out, and empty rows are no items
    (developer guide, Parsing input CSV files; executions recorded from AWS). Quotes are doubled inside quotes, or
    stand behind a backslash, as separators may.

    Args:
        stream: the text in UTF-8.
        delimiter: what separates fields.
        headers: names of the columns; None if the first row has them.
    """
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    found = filter(None, csv.reader(text, delimiter=delimiter, escapechar="\\"))
    names = tuple(next(found, ()) if headers is None else headers)
    blank = [""] * len(names)
    for row in found:
        yield dict(zip(names, row + blank, strict=False))


def parsed(text: str | bytes) -> Json:
    """The JSON value that `text` is.

    Raises:
        ValueError: it is not JSON; Python's NaN and Infinity are not.
    """
    return json.loads(text, parse_constant=_refuse)


def _rows(stream: BinaryIO, config: ReaderConfig) -> Iterator[Json]:
    return rows(stream, config.delimiter, config.headers)


def _lines(stream: BinaryIO, _config: ReaderConfig) -> Iterator[Json]:
    """One item for every line, but for blank ones."""
    for line in io.TextIOWrapper(stream, encoding="utf-8-sig"):
        if not line.isspace():
            yield parsed(line)


def _array(stream: BinaryIO, config: ReaderConfig) -> list[Json]:
    found = _pointed(parsed(stream.read()), config.pointer)
    if not isinstance(found, list):
        where = f" at {config.pointer}" if config.pointer else ""
        # AWS's own words, and what to do.
        cause = f"expected an array{where}, got {excerpt(found)}; let ItemsPointer lead to an array"
        raise ValueError(f"Attempting to map over non-iterable node. {cause}")  # noqa: TRY004 - of the data, not of code
    return found


def _pointed(value: Json, pointer: str) -> Json:
    """What `pointer` leads to in `value` (RFC 6901, Evaluation)."""
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        try:
            value = value[int(name) if isinstance(value, list) else name]
        except (LookupError, TypeError, ValueError):
            cause = f"ItemsPointer {pointer!r} leads to nothing: there is no {name!r} in {excerpt(value)}"
            raise ValueError(cause) from None
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_FORMATS: Mapping[str, _Format] = {"CSV": _rows, "JSON": _array, "JSONL": _lines}
