"""The lines of a history, with plain items in place of DynamoDB's and of S3's objects."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

Line = Mapping[str, Any]

BUCKET = "s3://"
"""Begin of the name that a bucket has as a table."""

_STATE = "state:"


def read(path: Path) -> list[Line]:
    """Return the lines that an emulator has written so far, each with its number as ``line``."""
    with path.open(encoding="utf-8") as file:
        return [*parsed(file)]


def parsed(texts: Iterable[str]) -> Iterator[Line]:
    """Yield the lines in `texts`; a last line that is still being written is left out."""
    for number, text in enumerate(texts):
        if not text.endswith("\n"):
            return
        line = json.loads(text)
        if line["what"] == "object":
            yield {"line": number, **_of_object(line)}
            continue
        items = {side: plain(line[side]) for side in ("before", "after") if line.get(side)}
        yield {"line": number, **line, **items}


def _of_object(line: Line) -> Line:
    """Return the line of an object with an item as a write of the item; others as they are.

    The name of such an object is ``state:PARTITION/=SORT``, of an addition to a set ``state:PARTITION/=SORT/...``.
    """
    partition, _, sort = line["name"].removeprefix(_STATE).rpartition("/=")
    if not line["name"].startswith(_STATE) or "/" in sort:
        return line
    key = [partition, sort.replace("%2F", "/").replace("%25", "%")]
    items = {side: line[side] and line[side]["item"] for side in ("before", "after")}
    return {**line, "what": "write", "table": f"{BUCKET}{line['bucket']}", "key": key, **items}


def plain(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item with texts and numbers in place of typed values."""
    return {name: _value(*value.popitem()) for name, value in item.items()}


def _value(kind: str, value: Any) -> Any:
    return int(value) if kind == "N" and value.lstrip("-").isdigit() else value
