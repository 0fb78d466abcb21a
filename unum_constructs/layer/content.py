"""What is in the layer of a workflow, for one version of Python: a pure function of its definition and the runtime.

Lambda cannot keep what Python compiles there. So the layer has bytecode in place of sources where somebody makes it for
the functions' Python; elsewhere it has the sources, which do the same and are compiled in each cold start.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from unum_compiler.analysis.waits import waits_long
from unum_constructs.layer.strip import bare
from unum_runtime.cold_start.bundle import SUFFIX, bundled
from unum_runtime.model.ir import Language, Workflow

PACKAGE = "unum_runtime"
WORKFLOWS_FOLDER = "unum_workflows"
"""Where the runtime looks for the IR: beside its package (`unum_runtime.functions.task_function.WORKFLOWS_FOLDER`)."""

LEFT_OUT = frozenset({"__pycache__", "client", "simulator", "memory.py"})
"""Folders and modules of the package that no function needs."""

_CONTROL = ("control_requests.py", "function_versions.py", "steps.py", "pending.py")

SOURCES_ALONE = frozenset({"services", "items", "service_function.py", "control", *_CONTROL})
"""Folders and modules that stay sources: these are smaller, and what loads them loads botocore as well, which takes
longer."""

JSONATA = "jsonata-python"
"""The distribution that evaluates JSONata; only workflows with such states have it in their layer."""

_FINDERS = frozenset(
    f"python/{PACKAGE}/{module}" for module in ("__init__.py", "cold_start/__init__.py", "cold_start/bundle.py")
)
"""Modules that find the others in a bundle."""

_DIGITS = 16
"""Digits of a digest that tell bundles apart."""

_COMPILER_MODULES = ("asl/jsonata/check.py", "asl/jsonata/syntax.py")
_LANGUAGE_MODULES = {Language.JSONPATH: "asl/jsonpath", Language.JSONATA: "asl/jsonata"}
_INTRINSIC_MODULES = ("asl/jsonpath/intrinsics",)
_SERVICE_MODULES = (
    "aws/services",
    "aws/items",
    "aws/activities.py",
    "functions/service_function.py",
    "service_function.py",
)
_SCHEDULE_MODULES = ("aws/schedules.py",)

_INTRINSIC = re.compile(r"States\.\w+\(")
"""How a call of an intrinsic function begins. Source: Amazon States Language, "Intrinsic Functions"."""

MOUNTED_AT = "/opt"
"""Where functions have what is in their layers."""

Content: TypeAlias = Mapping[str, bytes]
"""Files of a layer: content by path, with slashes, in order."""


def runtime_folder() -> Path:
    """Where the package `unum_runtime` is installed; it is not imported for that."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"{PACKAGE} is not installed as a folder of files; install the wheel unum-runtime")
    return Path(spec.submodule_search_locations[0])


def layer_content(workflow: Workflow, runtime: Path) -> Content:
    """What the layer of `workflow` has in it, as sources.

    Args:
        workflow: the workflow.
        runtime: folder of the package `unum_runtime`.
    """
    unused = (*_unused(workflow),)
    modules = ((path, file) for path, file in _modules(runtime) if not any(map(path.is_relative_to, unused)))
    files = {f"python/{PACKAGE}/{path}": _text(file) for path, file in modules}
    files[f"python/{WORKFLOWS_FOLDER}/{workflow.name}.json"] = workflow.to_json().encode()
    if has_jsonata(workflow):
        files |= {f"python/{path}": content for path, content in _jsonata()}
    return dict(sorted(files.items()))


def compilable(content: Content) -> Content:
    """The modules in `content` that are loaded faster as bytecode, by the paths that they have in a function."""
    paths = {path: PurePosixPath(path) for path in content}
    faster = (
        path for path, parsed in paths.items() if parsed.suffix == ".py" and SOURCES_ALONE.isdisjoint(parsed.parts)
    )
    return {f"{MOUNTED_AT}/{path}": content[path] for path in faster}


def deployed(content: Content, bytecode: Content) -> Content:
    """`content` as functions get it: with `bytecode`, by the paths of `compilable`, in place of the sources of that.

    Where there is any, all modules are in one file, but those that find the others there.
    """
    sources = {path: data for path, data in content.items() if path.endswith(".py") and path not in _FINDERS}
    files = {path: _as_deployed(path, data, bytecode.get(f"{MOUNTED_AT}/{path}")) for path, data in content.items()}
    if not bytecode:
        return dict(files.values())
    # Layers of two workflows in one function come together: they may have the same bundle, or two.
    bundle = f"python/{PACKAGE}/{digest(sources, '')[:_DIGITS]}{SUFFIX}"
    modules = dict(files.pop(path) for path in sources)
    return {**dict(files.values()), bundle: bundled({path.removeprefix("python/"): modules[path] for path in modules})}


def digest(content: Content, python: str) -> str:
    """SHA-256 over the runtime's name, paths, and bytes of sources: not times, modes, or the order in a folder.

    What is deployed follows from these, so the digest is the same on every machine, whichever Python that has.
    """
    seen = hashlib.sha256(f"{python}\0".encode())
    for path, data in content.items():
        seen.update(f"{path}\0{len(data)}\0".encode() + data)
    return seen.hexdigest()


def has_jsonata(workflow: Workflow) -> bool:
    """Whether a state of `workflow` is in JSONata."""
    return Language.JSONATA in _languages(workflow)


def _languages(workflow: Workflow) -> frozenset[Language]:
    return frozenset(state.language for state in workflow.states.values())


def _unused(workflow: Workflow) -> Iterator[str]:
    """Folders and modules that no function of `workflow` loads."""
    yield from _COMPILER_MODULES
    yield from (_LANGUAGE_MODULES[each] for each in Language if each not in _languages(workflow))
    if not _INTRINSIC.search(workflow.to_json()):
        yield from _INTRINSIC_MODULES
    if all(task.resource is None for task in workflow.tasks):
        yield from _SERVICE_MODULES
    if not waits_long(workflow):
        yield from _SCHEDULE_MODULES


def _modules(runtime: Path) -> Iterator[tuple[PurePosixPath, Path]]:
    for file in runtime.rglob("*.py"):
        path = file.relative_to(runtime)
        if LEFT_OUT.isdisjoint(path.parts):
            yield PurePosixPath(path.as_posix()), file


def _jsonata() -> Iterator[tuple[str, bytes]]:
    """The package, without its command line, and its licence.

    Raises:
        PackageNotFoundError: it is not installed; then the compiler has said so before.
    """
    installed = distribution(JSONATA)
    for path in installed.files or ():
        is_module = path.suffix == ".py" and path.parts[0] == "jsonata" and "cli" not in path.parts
        if is_module or path.name.startswith("LICENSE"):
            yield path.as_posix(), _text(Path(str(installed.locate_file(path))))


def _as_deployed(path: str, data: bytes, bytecode: bytes | None) -> tuple[str, bytes]:
    """Path and content of a file.

    Source: Python's documentation of importlib, "SourcelessFileLoader"; PEP 3147, "Case 4: legacy pyc files".
    """
    if bytecode is not None:
        return f"{path}c", bytecode
    is_ours = path.endswith(".py") and PACKAGE in PurePosixPath(path).parts  # others' stay as they published them
    return path, _bare(data) if is_ours else data


_bare = cache(bare)


def _text(file: Path) -> bytes:
    return file.read_bytes().replace(b"\r\n", b"\n")
