"""Layers of one workflow in one stack: the shared runtime, and the definition for functions that bring it.

Functions that a workflow makes for itself have the modules of their handlers as code of their own. Neither kind loads
what the other needs: that would lengthen the cold starts of both. All workflows of a stack share one layer with the
runtime for each Python. It has the modules that they need together, and grows with each workflow that needs others.
"""

import binascii
import zlib
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from weakref import WeakKeyDictionary

from aws_cdk import Annotations, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from unum_constructs.cdk.lookup import path_of, resource_of, runtime_of, stack_of
from unum_constructs.layer.assembly_files import write_files
from unum_constructs.layer.bytecode import name_of_this_python
from unum_constructs.layer.content import IN_CODE, IN_LAYER, TASK_HANDLERS, definition_content, digest
from unum_constructs.layer.features import LayerFacts, unused_by_own_functions, unused_folders
from unum_constructs.layer.interpreters import FOLDERS, are_declined
from unum_constructs.layer.runtime_archive import RuntimeArchive, RuntimeUnchanged, write_runtime
from unum_runtime.functions.configuration import INLINE
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import WORKFLOWS_FOLDER

SLOWER_STARTS = "unum:slowerStarts"
"""Id of the message about functions without bytecode. It is an info: ``cdk deploy --strict`` fails on warnings, and
slow starts are no error."""


MAX_NAMED = 3
"""Most functions that a message names."""


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


class DefinitionLayer(lambda_.LayerVersion):
    """Layer version with the definition of one workflow, for definitions that exceed an environment.

    Attributes:
        digest: digest of the definition; versions of functions depend on it.
    """

    def __init__(self, scope: Construct, construct_id: str, *, workflow: Workflow) -> None:
        folder, self.digest = write_definition(scope, workflow)
        super().__init__(
            scope,
            construct_id,
            code=lambda_.Code.from_asset(str(folder), asset_hash=self.digest),
            description=f"Definition of workflow {workflow.name}",
        )
        self._file = folder / "python" / WORKFLOWS_FOLDER / f"{workflow.name}.json"

    @cached_property
    def object(self) -> s3_assets.Asset:
        """Definition alone, for container images; uploaded only if used."""
        return s3_assets.Asset(self, "Definition", path=str(self._file))

    def add_to(self, function: lambda_.Function) -> None:
        """Add the layer to `function`."""
        function.add_layers(self)
        # A layer keeps its logical id when its content changes: without this, the CDK would publish no new version.
        function.invalidate_version_based_on(self.digest)


def write_definition(scope: Construct, workflow: Workflow) -> tuple[Path, str]:
    """Write the file with the definition of `workflow` into the assembly; return its folder and digest."""
    content = definition_content(workflow)
    named = digest(content, "")
    return write_files(scope, content, named), named


class OwnCode:
    """Code of functions without user code.

    Args:
        scope: construct in whose assembly the code is, and which tells what is wrong.
        unused: folders of the runtime that no such function loads.
        python: runtime of the functions.
    """

    def __init__(self, scope: Construct, unused: Collection[str], python: str) -> None:
        self.scope, self._python = scope, python
        self._unused_by_own = unused
        self._archives: dict[str, RuntimeArchive] = {}
        self._own_functions: list[lambda_.Function] = []
        self._functions: dict[lambda_.Function, RuntimeLayer | RuntimeArchive] = {}

    def code_of(self, handler: str) -> lambda_.Code:
        """Return the code of a function with `handler`, which needs no layer with the runtime."""
        archive = self._archive_of(handler)
        return lambda_.Code.from_asset(str(archive.file), asset_hash=archive.digest)

    def watch(self, function: lambda_.Function, handler: str) -> None:
        """Check the Python of `function`, which has the code of `handler`, at the end of synthesis."""
        self._functions[function] = self._archive_of(handler)
        if not self._own_functions:
            self.scope.node.add_validation(RuntimeUnchanged(self._python, self._own_functions))
        self._own_functions.append(function)

    def report_slow_starts(self) -> None:
        """Report the functions whose Python has no bytecode, unless the user wants none."""
        if are_declined():
            return
        slow: dict[tuple[str, str], list[lambda_.Function]] = {}
        for function, code in self._functions.items():
            if code.missing_bytecode:
                slow.setdefault((code.python, code.missing_bytecode), []).append(function)
        for (python, missing_bytecode), functions in slow.items():
            Annotations.of(self.scope).add_info_v2(
                SLOWER_STARTS,
                f"{_first_paths(functions)}: cold starts take longer without bytecode for their runtime {python}: "
                f"this app is synthesized by {name_of_this_python()}, and {missing_bytecode}; synthesize with "
                f"{python}, set {FOLDERS} to the folder of one, or set the functions' `runtime` to this Python",
            )

    def _archive_of(self, handler: str) -> RuntimeArchive:
        if handler not in self._archives:
            made = write_runtime(self.scope, self._unused_by_own, (handler,), self._python, IN_CODE)
            self._archives[handler] = made
        return self._archives[handler]


class WorkflowLayers(OwnCode):
    """Layers and code for functions of one workflow in one stack.

    Args:
        scope: parent construct of the layer with the definition, in the stack.
        facts: compiled workflow, with what decides which features its functions use.
        python: runtime of the first layer's functions, and of functions that the workflow makes.

    Attributes:
        scope: parent construct of the layer with the definition.
        facts: compiled workflow, with what decides which features its functions use.
    """

    def __init__(self, scope: Construct, *, facts: LayerFacts, python: str) -> None:
        super().__init__(scope, unused_by_own_functions(facts), python)
        self.facts, self._workflow = facts, facts.workflow
        self._unused = unused_folders(facts)
        # The command line reads the definitions of an assembly from such files, also of those in environments.
        write_definition(scope, facts.workflow)

    @cached_property
    def first(self) -> RuntimeLayer:
        """Runtime for the first Python."""
        return self._runtime_for(self._python)

    @cached_property
    def inline_definition(self) -> str:
        """Definition as text for an environment, compressed."""
        return INLINE + binascii.b2a_base64(zlib.compress(self._workflow.to_json().encode(), 9), newline=False).decode()

    @cached_property
    def definition(self) -> DefinitionLayer:
        """Definition, for functions whose environment has no room for it; made with the first of them."""
        return DefinitionLayer(self.scope, "Definition", workflow=self._workflow)

    def add_to(self, function: lambda_.Function, *, is_watched: bool) -> None:
        """Add the runtime to `function`, which runs Tasks.

        Args:
            function: the function.
            is_watched: True to check its Python at the end of synthesis.
        """
        layer = self._runtime_for(str(runtime_of(function)))
        layer.add_to(function, is_watched=is_watched)
        self._functions[function] = layer

    def _runtime_for(self, python: str) -> RuntimeLayer:
        return RuntimeLayer.of(stack_of(self.scope), python, self._unused)


def _first_paths(functions: Sequence[lambda_.Function]) -> str:
    """Return paths of the first `functions`, and a count of the rest."""
    others = len(functions) - MAX_NAMED
    return ", ".join(map(path_of, functions[:MAX_NAMED])) + (f" and {others} more" if others > 0 else "")
