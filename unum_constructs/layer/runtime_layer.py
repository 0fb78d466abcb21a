"""Layers with the runtime: one for each stack and Python version, which all workflows of the stack share.

A layer has the modules that its workflows need together. It grows with each workflow that needs others.
"""

from pathlib import Path
from weakref import WeakKeyDictionary

import jsii
from aws_cdk import Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct, IValidation

from unum_constructs.cdk.lookup import path_of, resource_of
from unum_constructs.layer.assembly_files import write_archive
from unum_constructs.layer.content import (
    Content,
    compilable_modules,
    deployed_files,
    digest,
    runtime_content,
    runtime_folder,
)
from unum_constructs.layer.interpreters import NoBytecodeError, compile_modules


class RuntimeLayer(lambda_.LayerVersion):
    """Layer version with the runtime for one Python version.

    Attributes:
        python: runtime of its functions, such as ``python3.13``.
        digest: digest of all bytes in the layer; versions of functions depend on it.
        missing_bytecode: the reason why the layer contains sources; empty for bytecode.
    """

    def __init__(self, stack: Stack, *, python: str, unused: frozenset[str]) -> None:
        self.python, self._unused = python, unused
        self._functions: list[lambda_.Function] = []
        self._versioned: dict[lambda_.Function, None] = {}
        file = self._write(stack)
        super().__init__(
            stack,
            f"UnumRuntime-{python}",
            code=lambda_.Code.from_asset(str(file), asset_hash=self.digest),
            description="Unum runtime for all workflows of the stack",
        )
        # Aspects may change runtimes until the end of synthesis, and bytecode fits one version only.
        self.node.add_validation(_RuntimeUnchanged(python, self._functions))

    @classmethod
    def of(cls, stack: Stack, python: str, unused: frozenset[str]) -> "RuntimeLayer":
        """Return the layer of `stack` for `python`, for a workflow that leaves the modules `unused` unloaded."""
        found = _layers.setdefault(stack, {})
        if python not in found:
            found[python] = cls(stack, python=python, unused=unused)
        found[python]._take(unused)  # noqa: SLF001 - the same class
        return found[python]

    def add_to(self, function: lambda_.Function) -> None:
        """Add the layer to `function` once, and check its Python at the end of synthesis."""
        if function not in self._functions:
            function.add_layers(self)
            self._functions.append(function)
        self.publish_with(function)

    def publish_with(self, function: lambda_.Function) -> None:
        """Publish another version of `function` when the runtime changes."""
        # A layer keeps its logical id when its content changes: without this, the CDK would publish no new version.
        if function not in self._versioned:
            self._versioned[function] = None
            function.invalidate_version_based_on(self.digest)

    def _take(self, unused: frozenset[str]) -> None:
        """Add the modules that a workflow needs, unless it leaves them `unused`."""
        if self._unused <= unused:
            return
        self._unused &= unused
        file = self._write(self)
        asset = s3_assets.Asset(self, f"Code-{self.digest[:_DIGITS]}", path=str(file), asset_hash=self.digest)
        resource_of(self, lambda_.CfnLayerVersion).content = lambda_.CfnLayerVersion.ContentProperty(
            s3_bucket=asset.s3_bucket_name, s3_key=asset.s3_object_key
        )
        for function in self._versioned:
            function.invalidate_version_based_on(self.digest)

    def _write(self, scope: Construct) -> Path:
        """Write the layer's archive; return its path."""
        content = runtime_content(self._unused, runtime_folder())
        files = deployed_files(content, self._bytecode(content))
        self.digest = digest(files, self.python)
        return write_archive(scope, files, self.digest)

    def _bytecode(self, content: Content) -> Content:
        """Return bytecode of the modules in `content`; empty if no Python can compile them, with the reason stored."""
        self.missing_bytecode = ""
        try:
            return compile_modules(compilable_modules(content), self.python)
        except NoBytecodeError as error:
            self.missing_bytecode = str(error)
            return {}


_layers: WeakKeyDictionary[Stack, dict[str, RuntimeLayer]] = WeakKeyDictionary()
"""Layers of stacks by Python version."""

_DIGITS = 8


@jsii.implements(IValidation)
class _RuntimeUnchanged:
    """Runtime check after all constructs and Aspects have run."""

    def __init__(self, python: str, functions: list[lambda_.Function]) -> None:
        self._python, self._functions = python, functions

    def validate(self) -> list[str]:
        found = ((each, resource_of(each, lambda_.CfnFunction).runtime) for each in self._functions)
        return [
            f"{path_of(each)}: expected the runtime {self._python!r}, which the workflow's layer is made for, got "
            f"{runtime!r}, set later; pass the runtime to the function's constructor"
            for each, runtime in found
            if runtime != self._python
        ]
