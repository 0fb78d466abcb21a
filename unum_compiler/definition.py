"""Where workflows come from: definitions, before and after their functions are known."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from unum_compiler import compile_workflow, warnings_of
from unum_compiler.checks.warnings import Warned
from unum_compiler.frontends.extensions import extended
from unum_compiler.frontends.files import read_file
from unum_compiler.frontends.from_ir import read_ir
from unum_compiler.frontends.substitutions import substitute
from unum_compiler.frontends.values import take_values
from unum_compiler.options import FunctionOptions
from unum_compiler.parsing.document import copy_json, parse
from unum_runtime.model.ir import Json, Workflow

if TYPE_CHECKING:
    from unum_compiler.frontends.graph.nodes import Piece

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Definition:
    """A workflow as it is written, immutable and not checked yet.

    Attributes:
        text: a state machine in the Amazon States Language, as JSON.
        functions: the functions that it brings along, by the key that Tasks name them with: constructs, as CDK state
            machines and Python graphs have them.
        values: what is known when the workflow is deployed, by name: CDK tokens of texts that take the place of
            ``${name}``.
        statements: what its Tasks must be allowed beside invoking functions: objects of `aws_iam.PolicyStatement`.
        extensions: fields of the IR, for which the Amazon States Language has no words, by the name of their state.
    """

    text: str
    functions: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    statements: tuple[Any, ...] = ()
    extensions: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)

    @classmethod
    def from_asl(
        cls, definition: Mapping[str, Any] | str, *, substitutions: Mapping[str, str] | None = None
    ) -> "Definition":
        """A definition in the Amazon States Language, as Python objects or as JSON text.

        Args:
            definition: the state machine.
            substitutions: text or CDK token for every ``${Name}`` in it. Without, only Tasks may have such names,
                and each is a function's key.

        Raises:
            DefinitionError: it is no JSON, or names and substitutions do not fit; what it says is checked by
                `compile`.
        """
        value = parse(definition) if isinstance(definition, str) else copy_json(definition)
        return cls._of(value, substitutions)

    @classmethod
    def from_asl_file(cls, path: str | Path, *, substitutions: Mapping[str, str] | None = None) -> "Definition":
        """The definition in a file of JSON, or of YAML where the name ends in ``.yaml`` or ``.yml``, in UTF-8.

        Args:
            path: of the file.
            substitutions: as in `from_asl`.

        Raises:
            OSError: the file cannot be read.
            DefinitionError: its content is neither, with file, line and column; or as in `from_asl`.
        """
        return cls._of(read_file(path), substitutions)

    @classmethod
    def from_chainable(cls, chainable: Any, **options: Any) -> "Definition":
        """What `aws_cdk.aws_stepfunctions` has built, with its functions and with what its Tasks must be allowed.

        The states cannot be part of a `StateMachine` as well, because the CDK gives each state to one graph.

        Args:
            chainable: a state, a chain, or the `DefinitionBody` of either.
            options: `query_language`, `timeout` and `comment`, as `StateMachine` has them.

        Raises:
            DefinitionError: it is none of these.
        """
        # By name, because the compiler and the command line must not load the CDK.
        built = import_module("unum_compiler.frontends.chainable").read_chainable(chainable, **options)
        bound = cls._of(built.machine).bind(built.keys)
        return replace(bound, functions=built.functions, statements=built.statements)

    @classmethod
    def from_graph(cls, graph: "Piece") -> "Definition":
        """A workflow built with `unum_compiler.graph`.

        Raises:
            DefinitionError: it cannot be written in the Amazon States Language; says where and why.
            TypeError: it is no graph.
        """
        from unum_compiler.frontends.graph.nodes import nodes_of  # noqa: PLC0415 - not for whoever has a file
        from unum_compiler.frontends.graph.render import render  # noqa: PLC0415 - the same

        rendered = render(nodes_of(graph))
        return replace(cls._of(rendered.machine), functions=rendered.functions, extensions=rendered.extensions)

    @classmethod
    def from_ir(cls, ir: Mapping[str, Any] | str) -> "Definition":
        """A workflow in the intermediate representation, written by hand or by ``unum compile``.

        Raises:
            DefinitionError: with every problem that it has, each with its JSON path.
        """
        value = parse(ir) if isinstance(ir, str) else copy_json(ir)
        read_ir(value)
        return _Compiled(json.dumps(value, ensure_ascii=False))

    def bind(self, functions: Mapping[str, str]) -> "Definition":
        """The definition with Tasks that name their functions by key, and with names for all other CDK tokens.

        Args:
            functions: key of each function, by its ARN or by the CDK token that stands for the ARN.
        """
        machine, values = take_values(self._json(), functions)
        return replace(self, text=_text(machine), values={**self.values, **values})

    def compile(
        self, name: str, functions: Collection[str] | None, options: Mapping[str, FunctionOptions] = _NOTHING
    ) -> Workflow:
        """The compiled workflow.

        Args:
            name: of the workflow.
            functions: keys of the workflow's functions, which Tasks may name; None accepts every name.
            options: of functions by key; others have the default.

        Raises:
            DefinitionError: with every problem of the definition, in its order.
        """
        workflow = compile_workflow(self._json(), name=name, functions=functions, options=options)
        return extended(workflow, self.extensions)

    def warnings(self) -> tuple[Warned, ...]:
        """What the definition, if it compiles, says and most likely does not mean; see ``docs/asl.md``."""
        return warnings_of(self._json())

    @classmethod
    def _of(cls, value: Json, substitutions: Mapping[str, str] | None = None) -> "Definition":
        return cls(_text(value if substitutions is None else substitute(value, substitutions)))

    def _json(self) -> Json:
        return json.loads(self.text)


@dataclass(frozen=True, slots=True)
class _Compiled(Definition):
    """A definition whose text is the IR."""

    def bind(self, functions: Mapping[str, str]) -> Definition:  # noqa: ARG002 - it has keys already
        return self

    def compile(
        self, name: str, functions: Collection[str] | None, options: Mapping[str, FunctionOptions] = _NOTHING
    ) -> Workflow:
        return replace(read_ir(self._json(), functions, options), name=name)

    def warnings(self) -> tuple[Warned, ...]:
        """None: the IR is what was meant, as far as its text tells."""
        return ()


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
