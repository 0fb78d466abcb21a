"""Archives of the runtime in the cloud assembly, for one Python version."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import jsii
from aws_cdk import aws_lambda as lambda_
from constructs import Construct, IValidation

from unum_constructs.cdk.lookup import path_of, resource_of
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
from unum_constructs.layer.interpreters import NoBytecodeError, compile_modules


class RuntimeArchive(NamedTuple):
    """Archive with modules of the runtime.

    Attributes:
        file: path of the archive.
        python: runtime of its functions, such as ``python3.13``.
        digest: digest of all bytes in the archive.
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
    content = runtime_content(unused, runtime_folder(), handlers)
    bytecode, missing = _compile(content, python, place)
    files = deployed_files(content, bytecode, place)
    named = digest(files, python)
    return RuntimeArchive(write_archive(scope, files, named), python, named, missing)


def _compile(content: Content, python: str, place: Place) -> tuple[Content, str]:
    """Return bytecode of the modules in `content`; without a Python that can compile them none, with the reason."""
    try:
        return compile_modules(compilable_modules(content, place), python), ""
    except NoBytecodeError as error:
        return {}, str(error)


@jsii.implements(IValidation)
class RuntimeUnchanged:
    """Runtime check after all constructs and Aspects have run: bytecode fits one version only."""

    def __init__(self, python: str, functions: Sequence[lambda_.Function]) -> None:
        self._python, self._functions = python, functions

    def validate(self) -> list[str]:
        """Return the functions whose runtime is another one now."""
        found = ((each, resource_of(each, lambda_.CfnFunction).runtime) for each in self._functions)
        return [
            f"{path_of(each)}: expected the runtime {self._python!r}, for which its modules are compiled, got "
            f"{runtime!r}, set later; pass the runtime to the function's constructor"
            for each, runtime in found
            if runtime != self._python
        ]
