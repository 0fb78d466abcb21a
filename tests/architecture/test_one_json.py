"""The product reads and writes JSON in one module, so that what is no JSON is refused everywhere."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.house import DISTRIBUTIONS, ROOT, modules

ALLOWED = {
    "unum_runtime/json_text.py": "the one module",
    "unum_runtime/cold_start/bundle.py": "finds all other modules, and reads only the index that it has written",
    "unum_stepfunctions/client.py": "a distribution without dependencies; the aliases check what it sends",
    "unum_task_responses/__init__.py": "a distribution without dependencies; the response alias checks what it sends",
    "unum_compiler/parsing/document.py": "refuses more, such as repeated names, and says the place of each fault",
    "unum_compiler/frontends/files.py": "finds lines in the text of a definition, and hands on no value",
    "unum_constructs/layer/bytecode.py": "runs in other Pythons, which lack the product; the text has paths and digits",
}
READERS = frozenset({"json", "simplejson", "orjson", "ujson"})


def product() -> Iterator[Path]:
    own = (folder for name, folder in DISTRIBUTIONS.items() if name != "unum_emulator")
    besides = (ROOT / "runtime_layer/python" / each for each in ("unum_stepfunctions", "unum_task_responses"))
    folders = (*own, *besides)
    return (path for folder in folders for path in modules(folder) if "template" not in path.parts)


def module_name(path: Path) -> str:
    return str(path.relative_to(ROOT)).removeprefix("runtime_layer/python/")


def uses_json(source: str) -> bool:
    """Return True if a module imports a reader or writer of JSON, or a method of requests or responses that is one."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names) if any(each.name.partition(".")[0] in READERS for each in names):
                return True
            case ast.ImportFrom(module=str(name), level=0) if name.partition(".")[0] in READERS:
                return True
            case ast.Call(func=ast.Attribute(attr="json" | "get_json"), args=[]):
                return True
            case ast.Call(
                func=ast.Name(id="__import__") | ast.Attribute(attr="import_module"), args=[ast.Constant(value=name)]
            ):
                if str(name).partition(".")[0] in READERS:
                    return True
    return False


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import json", True),
        ("import json.decoder as d", True),
        ("def f():\n    from json import loads", True),
        ("from json.encoder import encode_basestring", True),
        ("import orjson", True),
        ("value = response.json()", True),
        ("value = request.get_json(silent=True)", True),
        ("__import__('json').loads('1')", True),
        ("importlib.import_module('json')", True),
        ("from unum_runtime.json_text import parse_json", False),
        ("from package.json import loads", False),
        ("import jsonschema", False),
        ("options.json", False),
    ],
)
def test_search_finds_each_way_to_use_json(source: str, *, expected: bool) -> None:
    assert uses_json(source) is expected


def test_product_uses_json_in_one_module_only() -> None:
    found = {module_name(path) for path in product() if uses_json(path.read_text(encoding="utf-8"))}
    assert found == ALLOWED.keys()
