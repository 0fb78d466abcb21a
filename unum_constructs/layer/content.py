"""Content of layers for one version of Python: a pure function of definitions and runtime.

Functions cannot store compiled modules. The layer therefore contains bytecode, if this machine has the functions'
Python; otherwise it contains sources, which behave the same and are compiled in each cold start.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from unum_constructs.layer.features import LayerFacts, unused_folders
from unum_constructs.layer.strip import strip_source
from unum_runtime.cold_start import bundle
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import WORKFLOWS_FOLDER

PACKAGE = "unum_runtime"

LEFT_OUT = frozenset({"__pycache__", "former_names.py", "memory.py"})
"""Folders and modules that no Lambda function needs."""

STAY_SOURCES = (
    *("protocol/control", "protocol/history", "functions/operations"),
    *("features/services", "features/kubernetes", "features/data_sets", "features/bucket_state"),
    "features/document_stores",
)
"""Folders that stay sources, which are smaller: deliveries of Tasks seldom load them, or they load botocore anyway."""

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

MOUNTED_AT = "/opt"
"""Folder of layers in a function. Source: AWS Lambda Developer Guide, "Packaging your layer content"."""

Content: TypeAlias = Mapping[str, bytes]
"""Files of a layer: content by path, with slashes, in order."""


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


def runtime_content(unused: Collection[str], runtime: Path) -> Content:
    """Return the modules of the runtime as sources.

    Args:
        unused: folders to leave out; see `unused_folders`.
        runtime: folder of the package `unum_runtime`.
    """
    left_out = {*map(PurePosixPath, unused)}
    modules = ((path, file) for path, file in _modules(runtime) if left_out.isdisjoint((path, *path.parents)))
    files = {f"python/{PACKAGE}/{path}": _text(file) for path, file in modules}
    if _JSONATA_FOLDER not in unused:
        files |= {f"python/{path}": content for path, content in _jsonata()}
    return dict(sorted(files.items()))


def compilable_modules(content: Content) -> Content:
    """Return modules in `content` that load faster as bytecode, by path inside functions."""
    slower = tuple(f"python/{PACKAGE}/{folder}/" for folder in STAY_SOURCES)
    faster = (path for path in content if path.endswith(".py") and not path.startswith(slower))
    return {f"{MOUNTED_AT}/{path}": content[path] for path in faster}


def deployed_files(content: Content, bytecode: Content) -> Content:
    """Return `content` with `bytecode`, by the paths of `compilable_modules`, in place of the sources.

    With bytecode, all modules are in one file, except those that find the others there.
    """
    sources = {path: data for path, data in content.items() if path.endswith(".py") and path not in _FINDERS}
    files = {path: _deployed_file(path, data, bytecode.get(f"{MOUNTED_AT}/{path}")) for path, data in content.items()}
    if not bytecode:
        return dict(files.values())
    # A function of two workflows has both layers in one folder: equal bundles coincide, others need two names.
    bundled = f"python/{PACKAGE}/{digest(sources, '')[:_DIGEST_DIGITS]}{bundle.SUFFIX}"
    modules = dict(files.pop(path) for path in sources)
    return {
        **dict(files.values()),
        bundled: bundle.bundled({path.removeprefix("python/"): modules[path] for path in modules}),
    }


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
        path = file.relative_to(runtime)
        if LEFT_OUT.isdisjoint(path.parts):
            yield PurePosixPath(path.as_posix()), file


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
