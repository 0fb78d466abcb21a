"""Bytecode of modules, without docstrings, assertions and types.

Annotations are evaluated when functions and classes are defined, and need `typing`. That takes 3 to 5 ms of a cold
start, and nothing reads them there. Interpreters run this file as a program, with ``-X no_debug_ranges``, which leaves
columns out of positions. So it imports the standard library alone.
"""

import ast
import json
import marshal
import sys
from importlib.util import MAGIC_NUMBER, source_hash

_UNCHECKED = 1
"""Flag of bytecode that Python does not compare with its source. Source: PEP 552, "Deterministic pycs"."""


def this_python() -> str | None:
    """Return the Lambda runtime for this Python's bytecode, such as ``python3.13``.

    None for other implementations than CPython, and for pre-releases, whose bytecode format still changes.
    """
    is_one = sys.implementation.name == "cpython" and sys.version_info.releaselevel == "final"
    return f"python{sys.version_info.major}.{sys.version_info.minor}" if is_one else None


def name_of_this_python() -> str:
    """Return the full name of this Python, such as ``cpython 3.14.0rc2``."""
    return f"{sys.implementation.name} {sys.version.split()[0]}"


def compile_source(source: bytes, path: str) -> bytes:
    """Return the content of the ``.pyc`` file of `source`; tracebacks show `path`."""
    module = _drop_unused_typing(_WithoutTypes().visit(ast.parse(source)))
    # `dont_inherit`: this module's own future imports must not change the result.
    code = compile(module, path, "exec", dont_inherit=True, optimize=2)
    head = MAGIC_NUMBER + _UNCHECKED.to_bytes(4, "little") + source_hash(source)
    return head + marshal.dumps(code)


class _WithoutTypes(ast.NodeTransformer):
    """Transformer that removes annotations and names of types."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """Remove the annotation of an argument."""
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Remove the annotation of a function's result."""
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """Remove the annotation of a coroutine's result."""
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Replace the annotation of a field by None; classes of records need the field's name."""
        node.annotation = ast.copy_location(ast.Constant(None), node.annotation)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Remove the bases `Protocol` and `Generic`, which mean nothing at run time."""
        node.bases = [base for base in node.bases if not _is_typing(base)]
        return self.generic_visit(node)

    def visit_Module(self, node: ast.Module) -> ast.AST:
        """Remove variables without a value, and set type aliases, which other modules import, to `object`."""
        node.body = [kept for each in node.body if (kept := _without_type(each)) is not None]
        return self.generic_visit(node)


def _without_type(statement: ast.stmt) -> ast.stmt | None:
    match statement:
        case ast.AnnAssign(target=target, annotation=annotation, value=value):
            if value is None:
                return None
            # `object`, not None: modules that stay sources combine aliases of other modules with `|`.
            kept = ast.Name("object", ast.Load()) if _is_named(annotation, "TypeAlias") else value
        case ast.Assign(targets=[target], value=ast.Call(func=function)) if _is_named(function, "TypeVar"):
            kept = ast.Name("object", ast.Load())
        case ast.If(test=test) if _is_named(test, "TYPE_CHECKING"):
            return None
        case _:
            return statement
    return ast.fix_missing_locations(ast.copy_location(ast.Assign([target], kept), statement))


def _drop_unused_typing(module: ast.Module) -> ast.Module:
    """Remove imports from `typing` that no name uses any more."""
    used = {node.id for node in ast.walk(module) if isinstance(node, ast.Name)}
    for node in module.body:
        if isinstance(node, ast.ImportFrom) and node.module == "typing":
            node.names = [each for each in node.names if each.name in used]
    module.body = [each for each in module.body if not isinstance(each, ast.ImportFrom) or each.names]
    return module


def _is_typing(base: ast.expr) -> bool:
    kind = base.value if isinstance(base, ast.Subscript) else base
    return _is_named(kind, "Protocol") or _is_named(kind, "Generic")


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def main() -> None:
    """Compile modules for another Python process, as a program.

    The argument is the wanted runtime; standard input is a JSON object of sources by path, and standard output one of
    bytecode by path, both in hexadecimal digits.
    """
    wanted = sys.argv[1]
    if this_python() != wanted:
        sys.exit(f"it is {name_of_this_python()}, no final release of CPython's {wanted}")
    sources = json.load(sys.stdin)
    json.dump({path: compile_source(bytes.fromhex(source), path).hex() for path, source in sources.items()}, sys.stdout)


if __name__ == "__main__":
    main()
