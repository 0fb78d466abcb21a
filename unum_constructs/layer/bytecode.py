"""Bytecode of modules as it is loaded fastest: without what only readers of sources and checkers of types ask for.

Left out are docstrings, assertions, annotations, what is only named in these, and the columns of places. Line numbers
stay, so that tracebacks are the same but for the marks below their lines. Of annotations in classes the names stay:
fields are made of them.

This is a program, too, for interpreters of other versions, which need nothing but this file.
"""

import ast
import json
import marshal
import sys
from collections.abc import Iterator
from importlib.util import MAGIC_NUMBER, source_hash
from types import CodeType

_UNCHECKED = 1
"""The flag of bytecode that nobody compares with its source again. Source: PEP 552, "Deterministic pycs"."""

_LONGEST = 8
"""How many code units one entry of a table of places is for at most. Source of this and of all about these tables:
CPython, "Description of the locations table", the same from 3.11 on."""

_LINE_ALONE, _NO_PLACE = 13, 15


def this_python() -> str | None:
    """The Lambda runtime whose bytecode this Python makes, such as ``python3.13``.

    None for another than CPython, and before a version's first final release, for until then its bytecode changes.
    """
    is_one = sys.implementation.name == "cpython" and sys.version_info.releaselevel == "final"
    return f"python{sys.version_info.major}.{sys.version_info.minor}" if is_one else None


def name_of_this_python() -> str:
    """What it is in full, such as ``cpython 3.14.0rc2``."""
    return f"{sys.implementation.name} {sys.version.split()[0]}"


def compiled(source: bytes, path: str) -> bytes:
    """What a ``.pyc`` file of `source` has in it, of which tracebacks say that it is at `path`."""
    bare = _without_typing(_WithoutAnnotations().visit(ast.parse(source)))
    code = compile(bare, path, "exec", dont_inherit=True, optimize=2)
    head = MAGIC_NUMBER + _UNCHECKED.to_bytes(4, "little") + source_hash(source)
    return head + marshal.dumps(_without_columns(code))


class _WithoutAnnotations(ast.NodeTransformer):
    """Takes away what is evaluated when a function, class or module is defined, and kept for nobody."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """An argument's annotation."""
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """That of what a function returns, and all in it."""
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """That of a variable in a function or class; its name stays."""
        node.annotation = ast.copy_location(ast.Constant(None), node.annotation)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """The base that says that there is none."""
        node.bases = [base for base in node.bases if not _is_named(base, "Protocol")]
        return self.generic_visit(node)

    def visit_Module(self, node: ast.Module) -> ast.AST:
        """Those of variables, and the names of types: modules import them from each other, and use them nowhere."""
        node.body = [bare for each in node.body if (bare := _without_type(each)) is not None]
        return self.generic_visit(node)


def _without_type(statement: ast.stmt) -> ast.stmt | None:
    match statement:
        case ast.AnnAssign(target=target, annotation=annotation, value=value):
            if value is None:
                return None
            kept = ast.Constant(None) if _is_named(annotation, "TypeAlias") else value
        case ast.Assign(targets=[target], value=ast.Call(func=function)) if _is_named(function, "TypeVar"):
            kept = ast.Constant(None)
        case ast.If(test=test) if _is_named(test, "TYPE_CHECKING"):
            return None
        case _:
            return statement
    return ast.fix_missing_locations(ast.copy_location(ast.Assign([target], kept), statement))


def _without_typing(module: ast.Module) -> ast.Module:
    """`module` without imports from `typing` that are left with nothing to name."""
    used = {node.id for node in ast.walk(module) if isinstance(node, ast.Name)}
    for node in module.body:
        if isinstance(node, ast.ImportFrom) and node.module == "typing":
            node.names = [each for each in node.names if each.name in used]
    module.body = [each for each in module.body if not isinstance(each, ast.ImportFrom) or each.names]
    return module


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


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


def main() -> None:
    """Answer a Python that cannot make the bytecode of this one.

    The argument is the runtime that it is wanted for, the input a JSON object with sources by path, and the output one
    with bytecode by path, all bytes as hexadecimal digits.
    """
    wanted = sys.argv[1]
    if this_python() != wanted:
        sys.exit(f"it is {name_of_this_python()}, no final release of CPython's {wanted}")
    sources = json.load(sys.stdin)
    json.dump({path: compiled(bytes.fromhex(source), path).hex() for path, source in sources.items()}, sys.stdout)


if __name__ == "__main__":
    main()
