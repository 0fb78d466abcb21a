"""The lines of a history, with plain items in place of DynamoDB's."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

Line = Mapping[str, Any]


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
        items = {side: plain(line[side]) for side in ("before", "after") if line.get(side)}
        yield {"line": number, **line, **items}


def plain(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item with texts and numbers in place of typed values."""
    return {name: _value(*value.popitem()) for name, value in item.items()}


def _value(kind: str, value: Any) -> Any:
    return int(value) if kind == "N" and value.lstrip("-").isdigit() else value
