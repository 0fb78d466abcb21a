"""The layers of a workflow: the runtime and the workflow's IR, from the same sources on every machine.

There is one for each version of Python that functions of the workflow have, and for each stack that they are in.
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
    compilable,
    deployed,
    digest,
    layer_content,
    runtime_folder,
)
from unum_constructs.layer.interpreters import NoBytecodeError, compiled
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import WORKFLOWS_FOLDER

SLOWER_STARTS = "unum:slowerStarts"
"""The information that functions compile the runtime whenever they start; no warning, for `cdk deploy --strict` takes
those for errors, and nothing is wrong."""


MOST_NAMED = 3
"""Functions that a message names."""


class WorkflowLayer(lambda_.LayerVersion):
    """The layer version of one workflow, for functions with one version of Python.

    Attributes:
        digest: changes when any byte of the layer does; versions of functions depend on it.
        python: the runtime of the functions that it is for, such as ``python3.13``.
    """

    def __init__(self, scope: Construct, construct_id: str, *, workflow: Workflow, python: str) -> None:
        content = layer_content(workflow, runtime_folder())
        self.digest = digest(content, python)
        self.python = python
        files = deployed(content, self._bytecode(content))
        folder = Path(_stage(scope).asset_outdir) / f"unum-{self.digest}"
        was_there = folder.exists()
        _write(files, folder)
        super().__init__(
            scope,
            construct_id,
            code=lambda_.Code.from_asset(str(folder), asset_hash=self.digest),
            description=f"Unum runtime and definition of workflow {workflow.name}",
        )
        if was_there:
            self._stage_again(files)
        self._definition = folder / "python" / WORKFLOWS_FOLDER / f"{workflow.name}.json"
        self._takers: list[lambda_.Function] = []
        self.node.add_validation(_StillThatPython(python, self._takers))

    @cached_property
    def definition(self) -> s3_assets.Asset:
        """The IR alone, for functions that take no layer; an asset as soon as it is asked for."""
        return s3_assets.Asset(self, "Definition", path=str(self._definition))

    def taken_by(self, function: lambda_.Function) -> None:
        """Have it said in time if `function` gets another Python later, by which it could not load the layer."""
        self._takers.append(function)

    def tell_of_slow_starts(self) -> None:
        """Say so if nobody has made bytecode for its functions."""
        if self._takers and self._lacking:
            Annotations.of(self).add_info_v2(
                SLOWER_STARTS,
                f"{_some(self._takers)}: cold starts take longer, because their runtime is {self.python} and nobody "
                f"makes bytecode for it: this app is synthesized by {name_of_this_python()}, and {self._lacking}; "
                f"have a {self.python} that answers, synthesize with it, or give functions the `runtime` of yours",
            )

    def _stage_again(self, files: Content) -> None:
        """Have the assembly get `files` in place of what another Python may have made by the same digest.

        The CDK leaves a copy that it finds as it is, and its command line the archive of that.
        """
        asset, assembly = self.node.find_child("Code"), Path(_stage(self).outdir)
        assert isinstance(asset, s3_assets.Asset)  # noqa: S101 - what `Code.from_asset` makes
        _write(files, assembly / asset.asset_path)
        (assembly / ".cache" / f"{asset.asset_hash}.zip").unlink(missing_ok=True)

    def _bytecode(self, content: Content) -> Content:
        """That of the modules in `content`; nothing, and why, where nobody makes it."""
        self._lacking = ""
        try:
            return compiled(compilable(content), self.python)
        except NoBytecodeError as error:
            self._lacking = str(error)
            return {}


class WorkflowLayers:
    """The layers of a workflow in one stack.

    Args:
        scope: where they are made.
        workflow: the workflow, compiled.
        python: the runtime of functions that the first one is made for.

    Attributes:
        first: its logical id is the same whatever other versions there are.
    """

    def __init__(self, scope: Construct, *, workflow: Workflow, python: str) -> None:
        self._scope, self._workflow = scope, workflow
        self.first = WorkflowLayer(scope, "Layer", workflow=workflow, python=python)
        self._layers = {python: self.first}

    def give(self, function: lambda_.Function) -> WorkflowLayer:
        """Have `function` take the one for its Python."""
        layer = self._for(str(runtime_of(function)))
        function.add_layers(layer)
        layer.taken_by(function)
        return layer

    def tell_of_slow_starts(self) -> None:
        """Say which functions start more slowly than they could."""
        for layer in self._layers.values():
            layer.tell_of_slow_starts()

    def _for(self, python: str) -> WorkflowLayer:
        if python not in self._layers:
            made = WorkflowLayer(self._scope, f"Layer-{python}", workflow=self._workflow, python=python)
            self._layers[python] = made
        return self._layers[python]


@jsii.implements(IValidation)
class _StillThatPython:
    """Looks at functions that take a layer once more when all constructs and Aspects have done their part."""

    def __init__(self, python: str, takers: list[lambda_.Function]) -> None:
        self._python, self._takers = python, takers

    def validate(self) -> list[str]:
        found = ((each, resource_of(each, lambda_.CfnFunction).runtime) for each in self._takers)
        return [
            f"{path_of(each)}: expected the runtime {self._python!r}, for which the workflow's layer is made, got "
            f"{runtime!r}, which was set later; give it to the function when it is made"
            for each, runtime in found
            if runtime != self._python
        ]


def _some(functions: Sequence[lambda_.Function]) -> str:
    """Where the first of `functions` are, and how many others there are."""
    others = len(functions) - MOST_NAMED
    return ", ".join(map(path_of, functions[:MOST_NAMED])) + (f" and {others} more" if others > 0 else "")


def _stage(scope: Construct) -> Stage:
    stage = Stage.of(scope)
    assert stage is not None  # noqa: S101 - every stack is in an app, which is a stage
    return stage


def _write(content: Content, folder: Path) -> None:
    """Let `folder` have `content` in it and nothing else, also where another Python has synthesized there before."""
    rmtree(folder, ignore_errors=True)
    for path, data in content.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
