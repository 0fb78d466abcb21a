"""Workflow definitions: read, bound to functions, compiled."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from unum_compiler import compile_workflow, warnings_of
from unum_compiler.checks.warnings import Warned
from unum_compiler.compatibility import Compatibility
from unum_compiler.frontends.deploy_time_values import substitute, take_objects, take_values
from unum_compiler.frontends.files import read_file
from unum_compiler.frontends.from_ir import read_ir, refuse_extensions, refuse_ir, with_extensions
from unum_compiler.lowering.lower import with_calls
from unum_compiler.options import FunctionOptions
from unum_compiler.parsing.document import copy_json, parse
from unum_runtime.json_text import parse_json, to_readable
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json

if TYPE_CHECKING:
    from unum_compiler.frontends.graph.nodes import Piece

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Definition:
    """A workflow as written, immutable, without checks.

    Attributes:
        text: state machine in the Amazon States Language, as JSON.
        functions: functions of the definition itself, by the key in its Tasks: constructs, from CDK state machines and
            Python graphs.
        values: values that are known at deployment, by name: CDK tokens that replace ``${name}`` in texts.
        statements: permissions of its Tasks, besides invoking functions: objects of `aws_iam.PolicyStatement`.
        declared: IAM actions in the statements of a Task, by its name: nothing else is derived from such a Task.
        extensions: fields of the IR that the Amazon States Language lacks, by the name of their state.
        compatibility: mode; `STRICT` refuses what Step Functions does otherwise, and applies its quotas.
    """

    text: str
    functions: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    statements: tuple[Any, ...] = ()
    declared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    extensions: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    compatibility: Compatibility = Compatibility.GENEROUS

    @classmethod
    def from_asl(
        cls, definition: Mapping[str, Any] | str, *, substitutions: Mapping[str, str] | None = None
    ) -> "Definition":
        """Return a definition in the Amazon States Language, from Python objects or JSON text.

        Args:
            definition: state machine.
            substitutions: text or CDK token for every ``${Name}``. Without substitutions, only Tasks may have such
                names, as keys of functions.

        Raises:
            DefinitionError: the text is no JSON, or names and substitutions do not match; `compile` checks the rest.
        """
        if isinstance(definition, str):
            return cls._of(parse(definition), substitutions)
        source = take_objects(definition)
        kept = None if substitutions is None else {**substitutions, **{name: f"${{{name}}}" for name in source.values}}
        return replace(cls._of(copy_json(source.machine), kept), values=source.values)

    @classmethod
    def from_asl_file(cls, path: str | Path, *, substitutions: Mapping[str, str] | None = None) -> "Definition":
        """Read a definition from a UTF-8 file: YAML for ``.yaml`` and ``.yml``, otherwise JSON.

        Args:
            path: path of the file.
            substitutions: as in `from_asl`.

        Raises:
            OSError: the file cannot be read.
            DefinitionError: syntax error, with file, line and column; or as in `from_asl`.
        """
        return cls._of(read_file(path), substitutions)

    @classmethod
    def from_chainable(cls, chainable: Any, **options: Any) -> "Definition":
        """Return a definition from `aws_cdk.aws_stepfunctions` objects, including functions and permissions.

        The states cannot be part of a `StateMachine` as well, because the CDK gives each state to one graph.

        Args:
            chainable: a state, a chain, or the `DefinitionBody` of either.
            options: `query_language`, `timeout` and `comment`, as in `StateMachine`.

        Raises:
            DefinitionError: `chainable` has another type.
        """
        # Loaded by name: the compiler and the command line must work without the CDK.
        return cls._built(import_module("unum_compiler.frontends.chainable").read_chainable(chainable, **options))

    @classmethod
    def from_body(cls, body: Any, scope: Any, *, substitutions: Mapping[str, str] | None = None) -> "Definition":
        """Return what `StateMachine` makes of its `definition_body`, including functions and permissions.

        Args:
            body: a `DefinitionBody` from a chain, a file or a text; or a state or a chain.
            scope: any construct of the app, whose functions a file or text may name by ARN or name.
            substitutions: text or CDK token for every ``${Name}`` in a file or text; as in `from_asl`.

        Raises:
            OSError: the file cannot be read.
            DefinitionError: syntax error, or names and substitutions do not match.
        """
        frontend = import_module("unum_compiler.frontends.chainable")
        return cls._built(frontend.read_body(body, scope.node.root, substitutions))

    @classmethod
    def from_graph(cls, graph: "Piece") -> "Definition":
        """Return the workflow built with `unum_compiler.graph`.

        Raises:
            DefinitionError: the Amazon States Language cannot express the graph; says where and why.
            TypeError: `graph` is no graph.
        """
        from unum_compiler.frontends.graph.nodes import nodes_of  # noqa: PLC0415 - faster start for files
        from unum_compiler.frontends.graph.render import render  # noqa: PLC0415 - the same

        rendered = render(nodes_of(graph))
        return replace(cls._of(rendered.machine), functions=rendered.functions, extensions=rendered.extensions)

    @classmethod
    def from_unum(cls, folder: str | Path) -> "Definition":
        """Return an application in the formats of the original Unum, in any of its three dialects.

        Tasks have the names that the template gives to functions, and name them as keys.

        Args:
            folder: folder of ``unum-template.yaml``, which names the folder of each function with its
                ``unum_config.json``, or a file in the Amazon States Language.

        Raises:
            OSError: a file cannot be read.
            DefinitionError: a file is missing, or a part of it is not supported; names the file and the field.
        """
        from unum_compiler.frontends.unum import read_application  # noqa: PLC0415 - faster start for files

        machine, extensions = read_application(folder)
        return replace(cls._of(machine), extensions=extensions)

    @classmethod
    def from_ir(cls, ir: Mapping[str, Any] | str) -> "Definition":
        """Return a workflow that was compiled: the output of ``unum compile``, or `unum_compiler.to_compiled`.

        Raises:
            DefinitionError: the compiler of this version did not write `ir`, as its digest tells.
        """
        value = parse(ir) if isinstance(ir, str) else copy_json(ir)
        read_ir(value)
        return _Compiled(to_readable(value))

    def bind(self, functions: Mapping[str, str]) -> "Definition":
        """Return the definition with function keys in its Tasks, and placeholders instead of other CDK tokens.

        Args:
            functions: key of each function, by the CDK tokens of its ARN and of its name.
        """
        machine, values = take_values(self._json(), functions)
        return replace(self, text=_text(machine), values={**self.values, **values})

    def compile(
        self,
        name: str,
        functions: Collection[str] | None,
        options: Mapping[str, FunctionOptions] = _NOTHING,
        called: Collection[str] = (),
    ) -> Workflow:
        """Return the compiled workflow.

        Args:
            name: name of the workflow.
            functions: keys of the workflow's functions, which Tasks may name; None accepts every name.
            options: options of functions by key; other functions have the default.
            called: keys of functions that cannot have the runtime, so that Tasks call them.

        Raises:
            DefinitionError: with every problem, in the order of the definition.
        """
        if self.compatibility is Compatibility.STRICT:
            refuse_extensions(self.extensions)
        workflow = compile_workflow(
            self._json(),
            name=name,
            functions=functions,
            options=options,
            called=called,
            compatibility=self.compatibility,
        )
        return with_extensions(workflow, self.extensions)

    def machine(self) -> Json:
        """Return the state machine in the Amazon States Language; None for a compiled definition."""
        return self._json()

    def warnings(self) -> tuple[Warned, ...]:
        """Return warnings about valid parts that most likely mean something else; see ``docs/asl.md``."""
        return warnings_of(self._json())

    @classmethod
    def _built(cls, built: Any) -> "Definition":
        bound = replace(cls._of(built.machine), values=built.values).bind(built.keys)
        return replace(bound, functions=built.functions, statements=built.statements, declared=built.declared)

    @classmethod
    def _of(cls, value: Json, substitutions: Mapping[str, str] | None = None) -> "Definition":
        return cls(_text(value if substitutions is None else substitute(value, substitutions)))

    def _json(self) -> Json:
        return parse_json(self.text)


@dataclass(frozen=True, slots=True)
class _Compiled(Definition):
    """A definition in IR."""

    def bind(self, functions: Mapping[str, str]) -> Definition:  # noqa: ARG002 - it has keys already
        return self

    def compile(
        self,
        name: str,
        functions: Collection[str] | None,
        options: Mapping[str, FunctionOptions] = _NOTHING,
        called: Collection[str] = (),
    ) -> Workflow:
        if self.compatibility is Compatibility.STRICT:
            refuse_ir()
        return with_calls(replace(read_ir(self._json(), functions, options), name=name), called)

    def machine(self) -> None:
        """Return nothing: the text is no state machine."""

    def warnings(self) -> tuple[Warned, ...]:
        """Return no warnings: IR means exactly its text."""
        return ()


def _text(value: Json) -> str:
    return to_readable(value)
