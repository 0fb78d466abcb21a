"""Layers with packages that stand in for boto3, for functions outside of workflows."""

from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from weakref import WeakKeyDictionary

from aws_cdk import Annotations, Stack
from aws_cdk import aws_lambda as lambda_

from unum_constructs.cdk.lookup import stack_of
from unum_constructs.layer.assembly_files import write_files
from unum_constructs.layer.content import Content, digest
from unum_constructs.layer.strip import strip_source


@dataclass(frozen=True, eq=False)
class DropIn:
    """Package that stands in for boto3, with the addresses that it needs.

    Attributes:
        package: package of the distribution `unum-runtime`.
        variable: environment variable with addresses, separated by commas.
        construct_id: id of the layer below its stack.
        description: description of the layer.
        notice: id of the message about a function that has no room for the layer.
        purpose: what such a function cannot do, in the message.
    """

    package: str
    variable: str
    construct_id: str
    description: str
    notice: str
    purpose: str
    _addresses: "WeakKeyDictionary[lambda_.Function, dict[str, None]]" = field(default_factory=WeakKeyDictionary)
    _layers: "WeakKeyDictionary[Stack, lambda_.LayerVersion]" = field(default_factory=WeakKeyDictionary)

    def equip(self, function: lambda_.Function, *addresses: str) -> None:
        """Give `function` the package, if it is Python, and more addresses."""
        if function.runtime.family != lambda_.RuntimeFamily.PYTHON:
            return
        known = self._addresses.setdefault(function, {})
        if not known:
            self._add_layer(function)
        known.update(dict.fromkeys(addresses))
        # Lambda@Edge takes no variables.
        function.add_environment(self.variable, ",".join(known), remove_in_edge=True)

    def _add_layer(self, function: lambda_.Function) -> None:
        stack = stack_of(function)
        if stack not in self._layers:
            files = self._files()
            named = digest(files, "")
            self._layers[stack] = lambda_.LayerVersion(
                stack,
                self.construct_id,
                code=lambda_.Code.from_asset(str(write_files(stack, files, named)), asset_hash=named),
                description=self.description,
            )
        try:
            function.add_layers(self._layers[stack])
        except RuntimeError as error:  # it has five layers, which is Lambda's maximum
            Annotations.of(function).add_info_v2(
                self.notice,
                f"{error}; add the package {self.package} (pip install unum-runtime) to its code {self.purpose}",
            )

    def _files(self) -> Content:
        spec = find_spec(self.package)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"{self.package} is not installed; install the wheel unum-runtime")
        return {
            f"python/{self.package}/{file.name}": strip_source(file.read_bytes().replace(b"\r\n", b"\n"))
            for file in sorted(Path(spec.origin).parent.glob("*.py"))
        }
