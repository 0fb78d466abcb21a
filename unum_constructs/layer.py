"""The layer of a workflow: the runtime and the workflow's IR, the same sources on every machine.

Beside the sources lies their bytecode, for Lambda cannot keep what Python compiles there. It is made by the Python that
synthesizes, and functions with another minor version pass over it; so the layer's digest is that of the sources alone.
"""

import hashlib
import sys
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from aws_cdk import Stage
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from unum_constructs.bytecode import compiled
from unum_runtime.model.ir import Language, Workflow

PACKAGE = "unum_runtime"
WORKFLOWS_FOLDER = "unum_workflows"
"""Where the runtime looks for the IR: beside its package (`unum_runtime.handler.WORKFLOWS_FOLDER`)."""

LEFT_OUT = frozenset({"__pycache__", "client", "simulator"})
"""Folders of the package that no function needs."""

_JSONATA_FOLDER = PurePosixPath("asl/jsonata")
"""The one that only functions of workflows with such states need."""

_CONTROL = ("control", "control_plane", "versions", "course", "frontier", "nudge", "redrive", "carry", "fork")

SOURCES_ALONE = frozenset({"services", "items", *(f"{module}.py" for module in _CONTROL)})
"""Folders and modules of which the bytecode is left out: what loads them loads botocore as well, which takes longer."""

JSONATA = "jsonata-python"
"""The distribution that evaluates JSONata; only workflows with such states have it in their layer."""

Content: TypeAlias = Mapping[str, bytes]
"""Files of a layer: content by path, with slashes, in order."""


class WorkflowLayer(lambda_.LayerVersion):
    """The layer version of one workflow.

    Attributes:
        digest: changes when any byte of the layer does; versions of functions depend on it.
    """

    def __init__(self, scope: Construct, construct_id: str, *, workflow: Workflow) -> None:
        content = layer_content(workflow, runtime_folder())
        self.digest = digest(content)
        folder = _written({**content, **bytecode(content)}, _staging_folder(scope) / f"unum-{self.digest}")
        super().__init__(
            scope,
            construct_id,
            code=lambda_.Code.from_asset(str(folder), asset_hash=self.digest),
            description=f"Unum runtime and definition of workflow {workflow.name}",
        )
        self._definition = folder / "python" / WORKFLOWS_FOLDER / f"{workflow.name}.json"

    @cached_property
    def definition(self) -> s3_assets.Asset:
        """The IR alone, for functions that take no layer; an asset as soon as it is asked for."""
        return s3_assets.Asset(self, "Definition", path=str(self._definition))


def runtime_folder() -> Path:
    """Where the package `unum_runtime` is installed; it is not imported for that."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"{PACKAGE} is not installed as a folder of files; install the wheel unum-runtime")
    return Path(spec.submodule_search_locations[0])


def layer_content(workflow: Workflow, runtime: Path) -> Content:
    """What the layer of `workflow` has in it.

    Args:
        workflow: the workflow.
        runtime: folder of the package `unum_runtime`.
    """
    has_jsonata = any(state.language is Language.JSONATA for state in workflow.states.values())
    modules = ((path, content) for path, content in _modules(runtime) if has_jsonata or not _is_for_jsonata(path))
    files = {f"python/{PACKAGE}/{path}": content for path, content in modules}
    files[f"python/{WORKFLOWS_FOLDER}/{workflow.name}.json"] = workflow.to_json().encode()
    if has_jsonata:
        files |= {f"python/{path}": content for path, content in _jsonata()}
    return dict(sorted(files.items()))


def bytecode(content: Content) -> Content:
    """What Python finds in place of the modules in `content`, where its version is the one that runs now."""
    modules = {PurePosixPath(path): data for path, data in content.items() if path.endswith(".py")}
    return {
        _beside(path): _compiled(path, data) for path, data in modules.items() if SOURCES_ALONE.isdisjoint(path.parts)
    }


def digest(content: Content) -> str:
    """SHA-256 over paths and bytes alone: not times, modes, or the order in a folder."""
    seen = hashlib.sha256()
    for path, data in content.items():
        seen.update(f"{path}\0{len(data)}\0".encode() + data)
    return seen.hexdigest()


def _modules(runtime: Path) -> Iterator[tuple[str, bytes]]:
    for file in runtime.rglob("*.py"):
        path = file.relative_to(runtime)
        if LEFT_OUT.isdisjoint(path.parts):
            yield path.as_posix(), _text(file)


def _is_for_jsonata(path: str) -> bool:
    return PurePosixPath(path).is_relative_to(_JSONATA_FOLDER)


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


def _beside(module: PurePosixPath) -> str:
    """Where Python looks for the bytecode of `module`. Source: PEP 3147, "PYC Repository Directories"."""
    return str(module.parent / "__pycache__" / f"{module.stem}.{sys.implementation.cache_tag}.pyc")


@cache
def _compiled(path: PurePosixPath, source: bytes) -> bytes:
    return compiled(source, f"/opt/{path}")


def _text(file: Path) -> bytes:
    return file.read_bytes().replace(b"\r\n", b"\n")


def _staging_folder(scope: Construct) -> Path:
    stage = Stage.of(scope)
    assert stage is not None  # noqa: S101 - every stack is in an app, which is a stage
    return Path(stage.asset_outdir)


def _written(content: Content, folder: Path) -> Path:
    """`folder` with `content` in it; its name says what that is, so what is there already is right."""
    for path, data in content.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return folder
