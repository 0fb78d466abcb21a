"""Bytecode of modules as it is loaded fastest: without what only readers of sources and checkers of types ask for.

Left out are docstrings, assertions, annotations of functions, and the columns of places. Line numbers stay, so that
tracebacks are the same but for the marks below their lines. Annotations in classes stay: fields are made of them.
"""

import ast
import marshal
from collections.abc import Iterator
from importlib.util import MAGIC_NUMBER, source_hash
from types import CodeType

_UNCHECKED = 1
"""The flag of bytecode that nobody compares with its source again. Source: PEP 552, "Deterministic pycs"."""

_LONGEST = 8
"""How many code units one entry of a table of places is for at most. Source of this and of all about these tables:
CPython, "Description of the locations table", the same from 3.11 on."""

_LINE_ALONE, _NO_PLACE = 13, 15


def compiled(source: bytes, path: str) -> bytes:
    """What a ``.pyc`` file of `source` has in it, of which tracebacks say that it is at `path`."""
    bare = _WithoutAnnotations().visit(ast.parse(source))
    code = compile(bare, path, "exec", dont_inherit=True, optimize=2)
    head = MAGIC_NUMBER + _UNCHECKED.to_bytes(4, "little") + source_hash(source)
    return head + marshal.dumps(_without_columns(code))


class _WithoutAnnotations(ast.NodeTransformer):
    """Takes away what is evaluated when a function is defined, and kept for nobody."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """An argument's annotation."""
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """That of what a function returns, and all in it."""
        node.returns = None
        return self.generic_visit(node)


def _without_columns(code: CodeType) -> CodeType:
    inner = (_without_columns(const) if isinstance(const, CodeType) else const for const in code.co_consts)
    return code.replace(co_consts=tuple(inner), co_linetable=b"".join(_entries(code)))


def _entries(code: CodeType) -> Iterator[bytes]:
    """The table of places, with lines alone."""
    last = code.co_firstlineno
    for start, end, line in code.co_lines():
        units = (end - start) // 2
        for done in range(0, units, _LONGEST):
            length = min(_LONGEST, units - done) - 1
            if line is None:
                yield bytes([0x80 | _NO_PLACE << 3 | length])
            else:
                yield bytes([0x80 | _LINE_ALONE << 3 | length]) + _signed(line - last)
                last = line


def _signed(number: int) -> bytes:
    """A number in groups of six bits, the lowest first; the very lowest is its sign."""
    rest = -number << 1 | 1 if number < 0 else number << 1
    groups = bytearray()
    while rest >= 1 << 6:
        groups.append(1 << 6 | rest & 0x3F)
        rest >>= 6
    return bytes([*groups, rest])
