"""Layers of a workflow: runtime and IR, equal wherever the same Python makes the bytecode.

There is one layer for each Python of the workflow's functions, in each stack with functions.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from shutil import rmtree

import jsii
from aws_cdk import Annotations, Stage
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct, IValidation

from unum_constructs.cdk.lookup import path_of, resource_of, runtime_of
from unum_constructs.layer.bytecode import name_of_this_python
from unum_constructs.layer.content import (
    Content,
    compilable_modules,
    deployed_files,
    digest,
    layer_content,
    runtime_folder,
)
from unum_constructs.layer.interpreters import FOLDERS, NoBytecodeError, compile_modules
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import WORKFLOWS_FOLDER

SLOWER_STARTS = "unum:slowerStarts"
"""Id of the message about functions without bytecode. It is an info: ``cdk deploy --strict`` fails on warnings, and
slow starts are no error."""


MAX_NAMED = 3
"""Most functions that a message names."""


class WorkflowLayer(lambda_.LayerVersion):
    """Layer version for one workflow and one Python version.

    Attributes:
        digest: digest of all bytes in the layer; versions of functions depend on it.
        runtime_digest: the same without the definition.
        python: runtime of its functions, such as ``python3.13``.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, workflow: Workflow, python: str, in_bucket: bool = False
    ) -> None:
        content = layer_content(workflow, runtime_folder(), in_bucket=in_bucket)
        self.python = python
        files = deployed_files(content, self._bytecode(content))
        self.digest = digest(files, python)
        own = f"python/{WORKFLOWS_FOLDER}/{workflow.name}.json"
        self.runtime_digest = digest({path: data for path, data in files.items() if path != own}, python)
        folder = Path(_stage(scope).asset_outdir) / f"unum-{self.digest}"
        _write(files, folder)
        super().__init__(
            scope,
            construct_id,
            code=lambda_.Code.from_asset(str(folder), asset_hash=self.digest),
            description=f"Unum runtime and definition of workflow {workflow.name}",
        )
        self._definition = folder / "python" / WORKFLOWS_FOLDER / f"{workflow.name}.json"
        self._functions: list[lambda_.Function] = []
        # Aspects may change runtimes until the end of synthesis, and bytecode fits one version only.
        self.node.add_validation(_RuntimeUnchanged(python, self._functions))

    @cached_property
    def definition(self) -> s3_assets.Asset:
        """IR alone, for container images; uploaded only if used."""
        return s3_assets.Asset(self, "Definition", path=str(self._definition))

    def check_runtime_of(self, function: lambda_.Function) -> None:
        """Check at the end of synthesis that `function` still has the layer's Python."""
        self._functions.append(function)

    def report_slow_starts(self) -> None:
        """Report this layer's functions, if bytecode is missing."""
        if self._functions and self._missing_bytecode:
            Annotations.of(self).add_info_v2(
                SLOWER_STARTS,
                f"{_first_paths(self._functions)}: cold starts take longer without bytecode for their runtime "
                f"{self.python}: this app is synthesized by {name_of_this_python()}, and {self._missing_bytecode}; "
                f"synthesize with {self.python}, set {FOLDERS} to the folder of one, or set the functions' `runtime` "
                "to this Python",
            )

    def _bytecode(self, content: Content) -> Content:
        """Return bytecode of the modules in `content`; empty if no Python can compile them, with the reason stored."""
        self._missing_bytecode = ""
        try:
            return compile_modules(compilable_modules(content), self.python)
        except NoBytecodeError as error:
            self._missing_bytecode = str(error)
            return {}


class WorkflowLayers:
    """Workflow layers of one stack, by Python version.

    Args:
        scope: parent construct of the layers.
        workflow: compiled workflow.
        python: runtime of the first layer's functions.
        in_bucket: True if the state is in a bucket.

    Attributes:
        first: first layer; its logical id does not depend on the Python.
        in_bucket: True if the state is in a bucket.
    """

    def __init__(self, scope: Construct, *, workflow: Workflow, python: str, in_bucket: bool = False) -> None:
        self._scope, self._workflow, self.in_bucket = scope, workflow, in_bucket
        self.first = WorkflowLayer(scope, "Layer", workflow=workflow, python=python, in_bucket=in_bucket)
        self._layers = {python: self.first}

    def add_to(self, function: lambda_.Function) -> WorkflowLayer:
        """Add the matching layer to `function`."""
        layer = self._layer_for(str(runtime_of(function)))
        function.add_layers(layer)
        layer.check_runtime_of(function)
        return layer

    def report_slow_starts(self) -> None:
        """Report functions of layers without bytecode."""
        for layer in self._layers.values():
            layer.report_slow_starts()

    def _layer_for(self, python: str) -> WorkflowLayer:
        if python not in self._layers:
            made = WorkflowLayer(
                self._scope, f"Layer-{python}", workflow=self._workflow, python=python, in_bucket=self.in_bucket
            )
            self._layers[python] = made
        return self._layers[python]


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


def _first_paths(functions: Sequence[lambda_.Function]) -> str:
    """Return paths of the first `functions`, and a count of the rest."""
    others = len(functions) - MAX_NAMED
    return ", ".join(map(path_of, functions[:MAX_NAMED])) + (f" and {others} more" if others > 0 else "")


def _stage(scope: Construct) -> Stage:
    stage = Stage.of(scope)
    assert stage is not None  # noqa: S101 - every stack is in an app, which is a stage
    return stage


def _write(content: Content, folder: Path) -> None:
    """Replace `folder` by `content`, whatever lies there."""
    rmtree(folder, ignore_errors=True)
    for path, data in content.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
