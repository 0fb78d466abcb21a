"""Layers with the runtime for Tasks' functions: one for each stack and Python, which all workflows of the stack share.

A layer has the modules that its workflows need together. It grows with each workflow that needs others.
"""

from pathlib import Path
from weakref import WeakKeyDictionary

from aws_cdk import Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from unum_constructs.cdk.lookup import resource_of
from unum_constructs.layer.content import IN_LAYER, TASK_HANDLERS
from unum_constructs.layer.runtime_archive import RuntimeUnchanged, write_runtime


class RuntimeLayer(lambda_.LayerVersion):
    """Layer version with the runtime for one Python version.

    Attributes:
        python: runtime of its functions, such as ``python3.13``.
        digest: digest of the layer's sources, the same on every machine; versions of functions depend on it.
        missing_bytecode: the reason why the layer contains sources; empty for bytecode.
    """

    def __init__(self, stack: Stack, *, python: str, unused: frozenset[str]) -> None:
        self.python, self._unused = python, unused
        self._functions: dict[lambda_.Function, None] = {}
        self._watched: list[lambda_.Function] = []
        self._versioned: dict[lambda_.Function, None] = {}
        file = self._write(stack)
        super().__init__(
            stack,
            f"UnumRuntime-{python}",
            code=lambda_.Code.from_asset(str(file), asset_hash=self.digest),
            description="Unum runtime for all workflows of the stack",
        )

    @classmethod
    def of(cls, stack: Stack, python: str, unused: frozenset[str]) -> "RuntimeLayer":
        """Return the layer of `stack` for `python`, for a workflow that leaves the modules `unused` unloaded."""
        found = _layers.setdefault(stack, {})
        if python not in found:
            found[python] = cls(stack, python=python, unused=unused)
        found[python]._take(unused)  # noqa: SLF001 - the same class
        return found[python]

    def add_to(self, function: lambda_.Function, *, is_watched: bool) -> None:
        """Add the layer to `function` once.

        Args:
            function: the function.
            is_watched: True to check its Python at the end of synthesis. Aspects may change runtimes until then, and
                bytecode fits one version only.
        """
        if function not in self._functions:
            function.add_layers(self)
            self._functions[function] = None
            if is_watched:
                self._watch(function)
        self.publish_with(function)

    def _watch(self, function: lambda_.Function) -> None:
        if not self._watched:
            self.node.add_validation(RuntimeUnchanged(self.python, self._watched))
        self._watched.append(function)

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
        archive = write_runtime(scope, self._unused, TASK_HANDLERS, self.python, IN_LAYER)
        self.digest, self.missing_bytecode = archive.digest, archive.missing_bytecode
        return archive.file


_layers: WeakKeyDictionary[Stack, dict[str, RuntimeLayer]] = WeakKeyDictionary()
"""Layers of stacks by Python version."""

_DIGITS = 8
