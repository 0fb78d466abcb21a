"""Definitions in files of JSON or YAML."""

from pathlib import Path

from unum_compiler.frontends.yaml_text import parse_yaml
from unum_compiler.parsing.document import parse
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.ir import Json

_YAML = (".yaml", ".yml")


def read_file(path: str | Path) -> Json:
    """Return the value in the file at `path`, in UTF-8: YAML by the file's name, else JSON.

    Raises:
        OSError: the file cannot be read.
        DefinitionError: syntax error; names file, line and column.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DefinitionError((Problem(str(path), f"expected text in UTF-8: {error}"),)) from error
    read = parse_yaml if file.suffix.lower() in _YAML else parse
    return read(text, source=str(path))
