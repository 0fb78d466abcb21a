"""Archives of the runtime in the cloud assembly, for one Python version."""

import hashlib
import sys
import zlib
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import jsii
from aws_cdk import aws_lambda as lambda_
from constructs import Construct, IValidation

from unum_constructs.cdk.lookup import path_of, resource_of
from unum_constructs.layer import archive as archive_module
from unum_constructs.layer import bytecode, content, strip
from unum_constructs.layer.archive import archive
from unum_constructs.layer.archive_cache import cached_archive
from unum_constructs.layer.assembly_files import write_archive
from unum_constructs.layer.content import (
    Content,
    Place,
    compilable_modules,
    deployed_files,
    digest,
    runtime_content,
    runtime_folder,
)
from unum_constructs.layer.interpreters import NoBytecodeError, compile_modules, identity_of
from unum_runtime.cold_start import bundle


class RuntimeArchive(NamedTuple):
    """Archive with modules of the runtime.

    Attributes:
        file: path of the archive.
        python: runtime of its functions, such as ``python3.13``.
        digest: digest of the sources of all that is in the archive, the same on every machine.
        missing_bytecode: the reason why the archive contains sources; empty for bytecode.
    """

    file: Path
    python: str
    digest: str
    missing_bytecode: str


def write_runtime(
    scope: Construct, unused: Collection[str], handlers: Collection[str], python: str, place: Place
) -> RuntimeArchive:
    """Write an archive for functions with `handlers` into the cloud assembly of `scope`.

    Args:
        scope: construct in the assembly.
        unused: folders of the runtime that the functions leave out.
        handlers: handlers in the runtime, as ``module.function``.
        python: runtime of the functions.
        place: place of the files in a function.
    """
    sources = runtime_content(unused, runtime_folder(), handlers)
    what = digest({**sources, **_makers()}, f"{python} {place.mounted_at}")
    made, missing = _archive(sources, python, place, what)
    file = write_archive(scope, made, hashlib.sha256(made).hexdigest())
    return RuntimeArchive(file, python, what, missing)


def _archive(sources: Content, python: str, place: Place, what: str) -> tuple[bytes, str]:
    """Return an archive of `sources`, and the reason why it contains no bytecode; empty for bytecode.

    Args:
        sources: files of the runtime.
        python: runtime of the functions.
        place: place of the files in a function.
        what: digest of `sources` and of the modules that make an archive of them.
    """
    try:
        compiler = identity_of(python)
    except NoBytecodeError as error:
        made = cached_archive(_key(what, ""), lambda: archive(deployed_files(sources, {}, place)))
        return made, str(error)
    try:
        made = cached_archive(_key(what, compiler), lambda: archive(_compiled(sources, python, place)))
    except NoBytecodeError as error:
        # Not cached: the interpreter may answer next time.
        return archive(deployed_files(sources, {}, place)), str(error)
    return made, ""


def _key(what: str, compiler: str) -> str:
    """Return the key of an archive in the cache.

    Args:
        what: digest of the sources, and of the modules that make the archive.
        compiler: identity of the interpreter that compiles the sources; empty for none.
    """
    # This Python strips the sources, and compresses them by its zlib.
    parts = (what, compiler, _source_of(archive_module).hex(), sys.version, zlib.ZLIB_RUNTIME_VERSION)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@cache
def _makers() -> Content:
    """Return the modules that decide which bytes the archive has for given sources.

    Bytecode itself does not count: it differs between releases of one Python, and a machine may have none. It does what
    the sources do, so a deployment from another machine need not replace what is deployed.
    """
    modules = (bytecode, bundle, content, strip)
    return {each.__name__: _source_of(each) for each in modules}


def _source_of(module: ModuleType) -> bytes:
    return Path(str(module.__file__)).read_bytes().replace(b"\r\n", b"\n")


def _compiled(sources: Content, python: str, place: Place) -> Content:
    """Return the files of an archive with bytecode of the modules in `sources`.

    Raises:
        NoBytecodeError: the Python that should compile does not.
    """
    return deployed_files(sources, compile_modules(compilable_modules(sources, place), python), place)


@jsii.implements(IValidation)
class RuntimeUnchanged:
    """Runtime check after all constructs and Aspects have run: bytecode fits one version only."""

    def __init__(self, python: str, functions: Sequence[lambda_.Function]) -> None:
        self._python, self._functions = python, functions

    def validate(self) -> list[str]:
        """Return the functions whose runtime is another one now."""
        found = ((each, resource_of(each, lambda_.CfnFunction).runtime) for each in self._functions)
        return [
            f"{path_of(each)}: {other_runtime(self._python, runtime)}"
            for each, runtime in found
            if runtime != self._python
        ]


def other_runtime(expected: str | None, runtime: str | None) -> str:
    """Return the problem of a function whose runtime is not the `expected` one any more."""
    return (
        f"expected the runtime {expected!r}, for which its modules are compiled, got {runtime!r}, set later; pass the "
        "runtime to the function's constructor"
    )
