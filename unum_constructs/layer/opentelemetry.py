"""OpenTelemetry SDK layer, made of packages installed on the machine of synth.

They are pure Python, so one layer fits every Python and processor. The option `OpenTelemetry` is here, too.
"""

import py_compile
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path, PurePath
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from aws_cdk import Stack, Token
from aws_cdk import aws_lambda as lambda_

from unum_constructs.cdk.lookup import stack_of
from unum_constructs.layer.assembly_files import write_files
from unum_constructs.layer.bytecode import this_python
from unum_constructs.layer.content import IN_LAYER, Content, digest

SDK = "opentelemetry-sdk"
"""Distribution of the SDK; the extra ``unum-constructs[otel]`` installs it."""

_METADATA = frozenset({"METADATA", "entry_points.txt"})
"""Files with which the SDK finds its parts."""

_REQUIREMENT = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, kw_only=True)
class OpenTelemetry:
    """Spans of user code, which functions send while executions run.

    Attributes:
        endpoint: URL of a collector that takes OTLP over HTTP; ``/v1/traces`` is appended. None: the variable
            ``OTEL_EXPORTER_OTLP_ENDPOINT`` of each function, else ``http://localhost:4318``, a collector in an
            extension.
        layers: layers with the SDK, such as AWS's own (ADOT); empty for functions that bring it themselves. None: a
            layer of the packages that are installed where the app is synthesized.
    """

    endpoint: str | None = None
    layers: Sequence[lambda_.ILayerVersion] | None = None

    def __post_init__(self) -> None:
        """Raise ValueError unless `endpoint` is a URL."""
        url = self.endpoint
        if url is None or Token.is_unresolved(url):
            return
        if not isinstance(url, str) or urlsplit(url).scheme not in ("http", "https"):
            raise ValueError(f"endpoint: expected a URL with http or https, got {url!r}")


class SdkMissingError(Exception):
    """Missing SDK packages, with a remedy."""


def add_sdk(function: lambda_.Function) -> None:
    """Add the stack's layer with the SDK to `function`.

    Raises:
        SdkMissingError: the SDK is not installed.
        RuntimeError: the function has five layers, which is Lambda's maximum.
    """
    stack = stack_of(function)
    if stack not in _layers:
        content = sdk_content()
        named = digest(content, this_python() or "")
        folder = write_files(stack, content, named)
        _compile(folder)
        layer = lambda_.LayerVersion(
            stack,
            "UnumOpenTelemetry",
            code=lambda_.Code.from_asset(str(folder), asset_hash=named),
            description="OpenTelemetry SDK for functions of Unum workflows",
        )
        _layers[stack] = layer, named
    layer, named = _layers[stack]
    function.add_layers(layer)
    # A layer keeps its logical id when its content changes: without this, the CDK would publish no new version.
    function.invalidate_version_based_on(named)


@cache
def sdk_content() -> Content:
    """Return files of the SDK layer: modules of the SDK and its requirements.

    Raises:
        SdkMissingError: one of them is not installed.
    """
    found = (file for each in _distributions(SDK, set()) for file in _files_of(each))
    return dict(sorted(found))


def _distributions(name: str, seen: set[str]) -> Iterator[Distribution]:
    """Yield distribution `name` and its requirements, each once."""
    seen.add(name)
    try:
        found = distribution(name)
    except PackageNotFoundError as missing:
        raise SdkMissingError(f"{missing}: run `pip install 'unum-constructs[otel]'`, or give `layers`") from missing
    yield found
    for requirement in found.requires or ():
        match = _REQUIREMENT.match(requirement)
        # A marker names a part that is optional, or one for Pythons that no function has.
        if match is not None and ";" not in requirement and match[0] not in seen:
            yield from _distributions(match[0], seen)


def _files_of(found: Distribution) -> Iterator[tuple[str, bytes]]:
    for path in found.files or ():
        if _is_needed(path):
            yield f"python/{path.as_posix()}", Path(str(found.locate_file(path))).read_bytes().replace(b"\r\n", b"\n")


def _is_needed(path: PurePath) -> bool:
    if ".." in path.parts:  # a program, beside the packages
        return False
    is_about = path.parts[0].endswith(".dist-info")
    return (path.name in _METADATA or "LICENSE" in path.name) if is_about else path.suffix == ".py"


def _compile(folder: Path) -> None:
    """Add bytecode for this Python beside the modules in `folder`, as functions cannot store any; others compile."""
    for file in folder.rglob("*.py"):
        inside = f"{IN_LAYER.mounted_at}{file.relative_to(folder / 'python').as_posix()}"
        # Times of files change on their way into a function, so bytecode must not depend on them.
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        # The usual place lies elsewhere where PYTHONPYCACHEPREFIX is set, and the layer would have no bytecode.
        cached = file.parent / "__pycache__" / f"{file.stem}.{sys.implementation.cache_tag}.pyc"
        py_compile.compile(str(file), cfile=str(cached), dfile=inside, doraise=True, invalidation_mode=mode)


_layers: WeakKeyDictionary[Stack, tuple[lambda_.LayerVersion, str]] = WeakKeyDictionary()
