"""Modules that a handler can import, found in the import statements of sources.

Statements are found by their text: the runtime writes them in one style, and parsing all its modules takes most of a
second of each synthesis. A test compares the result with the syntax trees.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache

_CONDITION = re.compile(r"^if [^\n]*\n(?:[ \t]+[^\n]*\n|\n)+", re.MULTILINE)
"""Condition at the top level. What it imports is for type checkers or for programs, and no function loads it."""

_STATEMENT = re.compile(
    r"^[ \t]*(?:from (?P<package>[\w.]+) import (?P<names>\((?:[^)#]|#[^\n]*)*\)|[^\n]*)|import (?P<module>[\w.]+))",
    re.MULTILINE,
)
_COMMENT = re.compile(r"#[^\n]*")


def importable(sources: Mapping[str, bytes], modules: Collection[str]) -> frozenset[str]:
    """Return the paths in `sources` that running `modules` can load: they, their imports, and the packages around both.

    Imports inside of functions count. Modules that are not in `sources` import nothing.
    """
    paths = {_module_name(path): path for path in sources if path.endswith(".py")}
    found: set[str] = set()
    ahead = {*modules}
    while ahead:
        around = {package for module in ahead for package in _packages_around(module)}
        new = ((ahead | around) & paths.keys()) - found
        found |= new
        ahead = {name for module in new for name in _imported_by(sources[paths[module]])}
    return frozenset(paths[module] for module in found)


@cache
def _imported_by(source: bytes) -> frozenset[str]:
    """Return the names that `source` imports, each of which may be a module."""
    return frozenset(_imports(_CONDITION.sub("", source.decode())))


def _imports(text: str) -> Iterator[str]:
    for statement in _STATEMENT.finditer(text):
        if statement["module"]:
            yield statement["module"]
            continue
        yield statement["package"]
        for name in _COMMENT.sub("", statement["names"]).strip("() \n").split(","):
            yield f"{statement['package']}.{name.partition(' as ')[0].strip()}"


def _packages_around(module: str) -> Iterator[str]:
    """Yield the packages around `module`, which Python loads before it."""
    while module := module.rpartition(".")[0]:
        yield module


def _module_name(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
