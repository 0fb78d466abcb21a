"""Modules that a handler can import."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.architecture.house import DISTRIBUTIONS, PYTHON, modules
from unum_constructs.layer.content import importable

FORMER_NAMES = "unum_runtime/former_names.py"
"""Imported by programs that have it beside the runtime; no function has it."""

STYLES = {
    "import p.other": {"p/other.py"},
    "import p.other as other": {"p/other.py"},
    "from p import other": {"p/other.py"},
    "from p import (\n    missing,  # it has a (reason)\n    other,\n)": {"p/other.py"},
    "from p import missing, other as named": {"p/other.py"},
    "from p.other import name": {"p/other.py"},
    "from p.inner import name": {"p/inner/__init__.py"},
    "from p.inner import deep": {"p/inner/__init__.py", "p/inner/deep.py"},
    "import p.inner.deep": {"p/inner/__init__.py", "p/inner/deep.py"},
    "def f():\n    from p import other  # noqa: PLC0415 - it is slow": {"p/other.py"},
    "if TYPE_CHECKING:\n    from p import other\n\n    import p.inner\nimport os": set(),
    "if TYPE_CHECKING:\n    import p.inner\nelse:\n    import p.other": {"p/other.py"},
    "def f():\n    if g():\n        from p import other": {"p/other.py"},
}


@pytest.mark.parametrize("statement", STYLES)
def test_statement_imports_modules_and_packages_around_them(statement: str) -> None:
    sources = dict.fromkeys(("p/__init__.py", "p/other.py", "p/inner/__init__.py", "p/inner/deep.py"), b"")
    found = importable({**sources, "p/entry.py": statement.encode()}, ["p.entry"])
    assert found == {"p/entry.py", "p/__init__.py"} | STYLES[statement]


def test_imports_of_imports_count_and_circles_end() -> None:
    sources = {"a.py": b"import b", "b.py": b"import c\nimport a", "c.py": b"", "d.py": b"import a"}
    assert importable(sources, ["a"]) == {"a.py", "b.py", "c.py"}
    assert importable(sources, ["missing"]) == frozenset()


def test_each_module_of_the_runtime_imports_what_its_syntax_tree_says() -> None:
    paths = {path.relative_to(PYTHON).as_posix(): path for path in modules(DISTRIBUTIONS["unum_runtime"])}
    sources = {path: file.read_bytes() for path, file in paths.items()}
    names = {module_at(path): path for path in sources}
    assert len(sources) > 200
    for path, source in sources.items():
        alone = {**dict.fromkeys(sources, b""), path: source}
        found = importable(alone, [module_at(path)])
        expected = {names[name] for name in imported(ast.parse(source)) if name in names} - {FORMER_NAMES}
        assert found == {path} | expected | packages_around(names, [path, *expected]), path


def module_at(path: str) -> str:
    parts = Path(path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def packages_around(names: Mapping[str, str], paths: list[str]) -> set[str]:
    packages = {module_at(path).rpartition(".")[0] for path in paths} - {""}
    while deeper := {name.rpartition(".")[0] for name in packages} - packages - {""}:
        packages |= deeper
    return {names[name] for name in packages}


def imported(module: ast.Module) -> Iterator[str]:
    """Yield the names that running `module` and its functions imports."""
    left: list[ast.AST] = [module]
    while left:
        node = left.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            yield from (str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names))
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            left += node.orelse
        else:
            left += ast.iter_child_nodes(node)


def test_only_user_code_is_imported_by_a_name_that_is_computed() -> None:
    """A module that is imported by a computed name would be missing in functions."""
    found = {
        path.relative_to(PYTHON).as_posix()
        for path in modules(DISTRIBUTIONS["unum_runtime"])
        if any(name in path.read_text(encoding="utf-8") for name in ("import_module", "__import__"))
    }
    assert found == {FORMER_NAMES, "unum_runtime/functions/runtime_factory.py"}
