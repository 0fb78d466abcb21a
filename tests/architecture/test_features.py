"""Optional features of the runtime: folders that nothing outside loads before a workflow uses them."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.house import DISTRIBUTIONS, modules

RUNTIME = DISTRIBUTIONS["unum_runtime"]
FEATURES = "unum_runtime.features"
HANDLER_PATHS = {"aws/forwarder.py", "service_function/__init__.py"}
"""Modules that templates name, and that layers have with their feature alone."""


def loaded_at_once(tree: ast.Module) -> Iterator[str]:
    """Yield the modules that loading a module imports: everything outside of functions and type checks."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            left += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            left += ast.iter_child_nodes(node)


def early_imports(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [name for name in loaded_at_once(tree) if name.startswith(FEATURES)]


def test_nothing_outside_imports_a_feature_at_top_level() -> None:
    outside = [path for path in modules(RUNTIME) if "features" not in path.relative_to(RUNTIME).parts]
    found = {path.relative_to(RUNTIME).as_posix(): early_imports(path) for path in outside}
    assert {path: names for path, names in found.items() if names and path not in HANDLER_PATHS} == {}


def test_imports_outside_of_functions_are_found() -> None:
    text = (
        f"if 1:\n    import {FEATURES}.a\ndef f():\n    import {FEATURES}.b\nclass C:\n    from {FEATURES} import c\n"
    )
    assert sorted(loaded_at_once(ast.parse(text))) == [f"{FEATURES}.a", f"{FEATURES}.c"]


def test_each_feature_says_who_uses_it() -> None:
    packages = [path for path in modules(RUNTIME / "features") if path.name == "__init__.py"]
    texts = {path.parent.name: ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) for path in packages}
    assert [name for name, text in texts.items() if not text] == []
