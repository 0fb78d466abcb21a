"""Modules that functions get, for one version of Python: a pure function of definitions and runtime.

Functions get what their handlers can import, and nothing else. They cannot store compiled modules. They therefore get
bytecode, if this machine has their Python; otherwise sources, which behave the same and are compiled in each cold
start.

Modules that a handler can import, found in the import statements of sources.

Statements are found by their text: the runtime writes them in one style, and parsing all its modules takes most of a
second of each synthesis. A test compares the result with the syntax trees.
"""

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import NamedTuple, TypeAlias

from unum_constructs.layer.features import LayerFacts, unused_folders
from unum_constructs.layer.strip import strip_source
from unum_runtime.cold_start import bundle
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import WORKFLOWS_FOLDER

_CONDITION = re.compile(r"^if [^\n]*\n(?:[ \t]+[^\n]*\n|\n)+", re.MULTILINE)
"""Condition at the top level. What it imports is for type checkers or for programs, and no function loads it."""

_STATEMENT = re.compile(
    r"^[ \t]*(?:from (?P<package>[\w.]+) import (?P<names>\((?:[^)#]|#[^\n]*)*\)|[^\n]*)|import (?P<module>[\w.]+))",
    re.MULTILINE,
)
_COMMENT = re.compile(r"#[^\n]*")

PACKAGE = "unum_runtime"

TASK_HANDLERS = ("unum_runtime.handler.handle", "unum_runtime.service_function.handle")
"""Handlers of functions with the layer. All other functions have code of their own."""

JSONATA = "jsonata-python"
"""Distribution that evaluates JSONata; only layers of workflows with JSONata contain it."""

_JSONATA_FOLDER = "asl/jsonata"

_FINDER = PurePosixPath(*bundle.__name__.split("."))
_FINDERS = frozenset(
    {f"python/{_FINDER}.py", *(f"python/{folder}/__init__.py" for folder in _FINDER.parents if folder.name)}
)
"""Modules that find the others in a bundle."""

_DIGEST_DIGITS = 16
"""Digits of a digest in a bundle's name."""

Content: TypeAlias = Mapping[str, bytes]
"""Files of a layer: content by path, with slashes, in order."""


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


class Place(NamedTuple):
    """Place of a layer's folder ``python`` in a function.

    Attributes:
        mounted_at: folder on Python's path.
        archived_in: that folder in an archive.
    """

    mounted_at: str
    archived_in: str


IN_LAYER = Place("/opt/python/", "python/")
"""Source: AWS Lambda Developer Guide, "Packaging your layer content"."""

IN_CODE = Place("/var/task/", "")
"""Source: AWS Lambda Developer Guide, "Working with .zip file archives for Python Lambda functions"."""


def runtime_folder() -> Path:
    """Return the folder of the package `unum_runtime`, without importing it."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"{PACKAGE} is not installed as a folder of files; install the wheel unum-runtime")
    return Path(spec.submodule_search_locations[0])


def layer_content(facts: LayerFacts, runtime: Path) -> Content:
    """Return all that layers can give to a function of a workflow with `facts`, as sources: runtime and definition.

    Args:
        facts: the workflow, and what decides which features it uses.
        runtime: folder of the package `unum_runtime`.
    """
    files = runtime_content(unused_folders(facts), runtime)
    return dict(sorted({**files, **definition_content(facts.workflow)}.items()))


def definition_content(workflow: Workflow) -> Content:
    """Return the file with the definition of `workflow`."""
    return {f"python/{WORKFLOWS_FOLDER}/{workflow.name}.json": workflow.to_json().encode()}


def runtime_content(unused: Collection[str], runtime: Path, handlers: Collection[str] = TASK_HANDLERS) -> Content:
    """Return the modules that functions with `handlers` can import, as sources.

    Args:
        unused: folders to leave out; see `unused_folders`.
        runtime: folder of the package `unum_runtime`.
        handlers: handlers in the runtime, as ``module.function``; those in folders that are `unused` count for nothing.
    """
    left_out = {*map(PurePosixPath, unused)}
    modules = ((path, file) for path, file in _modules(runtime) if left_out.isdisjoint((path, *path.parents)))
    sources = {f"{PACKAGE}/{path}": _text(file) for path, file in modules}
    loaded = importable(sources, {handler.rpartition(".")[0] for handler in handlers})
    files = {f"python/{path}": sources[path] for path in loaded}
    if any(path.startswith(f"{PACKAGE}/{_JSONATA_FOLDER}/") for path in loaded):
        files |= {f"python/{path}": content for path, content in _jsonata()}
    return dict(sorted(files.items()))


def compilable_modules(content: Content, place: Place = IN_LAYER) -> Content:
    """Return the modules in `content` by their paths inside functions, which tracebacks show."""
    return {_mounted(path, place): data for path, data in content.items() if path.endswith(".py")}


def deployed_files(content: Content, bytecode: Content, place: Place = IN_LAYER) -> Content:
    """Return the files of an archive with `content`, with `bytecode` in place of sources.

    With bytecode, all modules are in one file, except those that find the others there.

    Args:
        content: files of a layer.
        bytecode: compiled modules, by the paths of `compilable_modules`; empty if there are none.
        place: place of the files in a function.
    """
    sources = {path: data for path, data in content.items() if path.endswith(".py") and path not in _FINDERS}
    files = {path: _deployed_file(path, data, bytecode.get(_mounted(path, place))) for path, data in content.items()}
    if not bytecode:
        return _archived(dict(files.values()), place)
    # A function of two workflows has both layers in one folder: equal bundles coincide, others need two names.
    bundled = f"python/{PACKAGE}/{digest(sources, '')[:_DIGEST_DIGITS]}{bundle.SUFFIX}"
    modules = dict(files.pop(path) for path in sources)
    content_of_bundle = bundle.bundled({path.removeprefix("python/"): modules[path] for path in modules})
    return _archived({**dict(files.values()), bundled: content_of_bundle}, place)


def _mounted(path: str, place: Place) -> str:
    """Return the path inside functions of a layer's file at `path`."""
    return f"{place.mounted_at}{path.removeprefix('python/')}"


def _archived(files: Content, place: Place) -> Content:
    return {f"{place.archived_in}{path.removeprefix('python/')}": data for path, data in files.items()}


def digest(files: Content, python: str) -> str:
    """Return SHA-256 over the runtime's name, and paths and bytes of `files`, without times, modes, or folder order.

    Args:
        files: all that is deployed, so that nothing else can be deployed under the same digest.
        python: runtime of the functions, such as ``python3.13``.
    """
    seen = hashlib.sha256(f"{python}\0".encode())
    for path, data in sorted(files.items()):
        # The length separates path and content: concatenations of other files cannot be equal.
        seen.update(f"{path}\0{len(data)}\0".encode() + data)
    return seen.hexdigest()


def _modules(runtime: Path) -> Iterator[tuple[PurePosixPath, Path]]:
    for file in runtime.rglob("*.py"):
        yield PurePosixPath(file.relative_to(runtime).as_posix()), file


def _jsonata() -> Iterator[tuple[str, bytes]]:
    """Yield the JSONata package without its command line, and its licence.

    Raises:
        PackageNotFoundError: it is not installed; the compiler has reported that before.
    """
    installed = distribution(JSONATA)
    for path in installed.files or ():
        is_module = path.suffix == ".py" and path.parts[0] == "jsonata" and "cli" not in path.parts
        if is_module or path.name.startswith("LICENSE"):
            yield path.as_posix(), _text(Path(str(installed.locate_file(path))))


def _deployed_file(path: str, data: bytes, bytecode: bytes | None) -> tuple[str, bytes]:
    """Return path and content of a file.

    Source: Python documentation of importlib, "SourcelessFileLoader"; PEP 3147, "Case 4: legacy pyc files".
    """
    if bytecode is not None:
        return f"{path}c", bytecode
    is_ours = path.endswith(".py") and PACKAGE in PurePosixPath(path).parts  # JSONata stays as published
    return path, _strip_source(data) if is_ours else data


_strip_source = cache(strip_source)


def _text(file: Path) -> bytes:
    # Git may check out CRLF on Windows; the digest must not depend on that.
    return file.read_bytes().replace(b"\r\n", b"\n")
