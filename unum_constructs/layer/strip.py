"""Removal of docstrings and comments from sources; their lines become empty.

Tracebacks keep their line numbers, and the compiled code is equal except for docstrings.
"""

import ast
import re
from collections.abc import Iterator

_TEXT_OR_COMMENT = re.compile(
    r"""(?P<quotes>\"{3}|'{3}|"|')(?:\\.|(?!(?P=quotes)).)*(?P=quotes) | (?P<comment>[ \t]*\#[^\n]*)""",
    re.DOTALL | re.VERBOSE,
)
"""A text, which may contain a number sign, or a comment. The tokenizer of Python 3.11 takes ten times as long, half a
second of each synthesis. Texts inside of formatted ones have other quotes, as Python 3.11 demands."""


def strip_source(source: bytes) -> bytes:
    """Remove docstrings and comments from the module `source`, in UTF-8."""
    lines = source.decode().splitlines(keepends=True)
    for text, is_alone in _texts(ast.parse(source)):
        first, last = text.lineno - 1, text.end_lineno or text.lineno
        # As many empty lines as before keep line numbers in tracebacks.
        lines[first:last] = ["\n"] * (last - first)
        # A block needs a statement.
        if is_alone:
            lines[first] = f"{' ' * text.col_offset}pass\n"
    return _TEXT_OR_COMMENT.sub(_text_alone, "".join(lines)).encode()


def _text_alone(found: re.Match[str]) -> str:
    return "" if found["comment"] is not None else found[0]


def _texts(module: ast.Module) -> Iterator[tuple[ast.Expr, bool]]:
    """Yield text-only statements, each with True if it is its block's only statement."""
    # Expressions are most of a tree, and have no statements in them.
    blocks = [module.body]
    while blocks:
        statements = blocks.pop()
        for each in statements:
            if not isinstance(each, ast.Expr):
                blocks += _blocks(each)
            elif isinstance(each.value, ast.Constant) and isinstance(each.value.value, str):
                yield each, len(statements) == 1


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of a compound statement; none of a simple one."""
    for node in (statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        for name in ("body", "orelse", "finalbody"):
            if block := getattr(node, name, None):
                yield block
