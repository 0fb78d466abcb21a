"""Definitions in files of JSON or YAML."""

from collections.abc import Mapping
from pathlib import Path

from unum_compiler.frontends.yaml_text import parse_yaml
from unum_compiler.parsing.document import parse
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.states import Json

_YAML = (".yaml", ".yml")


def read_file(path: str | Path) -> Json:
    """Return the value in the file at `path`, in UTF-8: YAML by the file's name, else JSON.

    Raises:
        OSError: the file cannot be read.
        DefinitionError: syntax error; names file, line and column.
    """
    text = _text(path)
    read = parse_yaml if _is_yaml(path) else parse
    return read(text, source=str(path))


def file_lines(path: str | Path) -> Mapping[str, int]:
    """Return the line of every value in the file at `path`, which `read_file` has read, by its JSON path."""
    from unum_compiler.frontends.lines import lines_of  # noqa: PLC0415 - for problems alone

    return lines_of(_text(path), is_yaml=_is_yaml(path))


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DefinitionError((Problem(str(path), f"expected text in UTF-8: {error}"),)) from error


def _is_yaml(path: str | Path) -> bool:
    return Path(path).suffix.lower() in _YAML
