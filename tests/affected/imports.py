"""Imports of the repository's Python files, read from their sources."""

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ("runtime_layer/python/", "emulator/src/", "")
"""Folders in which modules begin, the longest first; the last one is the repository itself."""


def module_of(file: str) -> str:
    """Return the name under which other files import `file`, a path from the root of the repository."""
    source = next(each for each in SOURCES if file.startswith(each))
    name = file.removeprefix(source).removesuffix(".py").replace("/", ".")
    return name.removesuffix(".__init__")


def imports_of(text: str) -> frozenset[str]:
    """Return all names that may be modules which `text` imports, inside of functions too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{each.name}" for each in node.names)
    return frozenset(found)


def importers(files: Iterable[str]) -> Mapping[str, frozenset[str]]:
    """Return the importers among `files` of each file."""
    known = {module_of(file): file for file in files}
    found: dict[str, set[str]] = {file: set() for file in known.values()}
    for file in known.values():
        for name in imports_of((ROOT / file).read_text(encoding="utf-8")) & known.keys():
            found[known[name]].add(file)
    return {file: frozenset(by) for file, by in found.items()}
