"""``unum export``: print a workflow as a state machine of Step Functions, and what stays behind."""

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unum_cli.commands.command_arguments import definition_in, problem_lines, workflow_name, write_text
from unum_cli.commands.command_errors import CommandFailed, UsageError
from unum_cli.commands.executions import connected, names_workflow
from unum_cli.commands.printing import print_json
from unum_runtime.errors import DefinitionError, UnumError
from unum_runtime.json_text import to_readable
from unum_runtime.model.ir import Workflow

if TYPE_CHECKING:
    from unum_compiler.definition import Definition
    from unum_compiler.export.exported import Exported


def run(options: argparse.Namespace) -> None:
    """Print the state machine, or write it to a file.

    Raises:
        UsageError: unreadable file, no such object, or neither a file nor a workflow.
        CommandFailed: problems in the definition; or results would change, without ``--anyway``.
    """
    from unum_compiler.export.exported import export  # noqa: PLC0415 - slow, as all of the compiler

    definition, name = _given(options)
    try:
        found = export(definition, name, _functions(options.function))
    except DefinitionError as error:
        raise CommandFailed("\n".join(problem_lines(options.file or name, error))) from error
    if options.json:
        print_json(
            {
                "machine": found.machine,
                "changed": [*found.changed],
                "lost": [*found.lost],
                "substitutions": [*found.substitutions],
            }
        )
        return
    _report(found)
    if found.changed and not options.anyway:
        raise CommandFailed("nothing was exported, because of what is marked with !; --anyway exports the rest")
    text = to_readable(found.machine, indent=2) + "\n"
    if options.output:
        write_text(options.output, text)
    else:
        print(text, end="")


def _report(found: "Exported") -> None:
    """Say on standard error what stays behind."""
    for each in found.changed:
        print(f"! {each}", file=sys.stderr)
    for each in found.lost:
        print(f"- {each}", file=sys.stderr)
    if found.substitutions:
        print(f"definition_substitutions: {', '.join(found.substitutions)}", file=sys.stderr)


def _given(options: argparse.Namespace) -> "tuple[Definition, str]":
    """Return the definition and the name of the workflow."""
    from unum_compiler.definition import Definition  # noqa: PLC0415 - as above
    from unum_compiler.frontends.from_ir import to_compiled  # noqa: PLC0415 - as above

    if options.file is None:
        if not names_workflow(options):
            raise UsageError("expected FILE, or --stack STACK, or --table TABLE and --workflow NAME, of a workflow")
        try:
            deployed = connected(options).deployed_definition()
        except UnumError as error:
            raise CommandFailed(str(error)) from error
        return Definition.from_ir(to_compiled(deployed)), deployed.name
    path, _, attribute = options.file.rpartition(":")
    if path.endswith(".py"):
        return _as_definition(_loaded(path, attribute), options.file), workflow_name(path, options.name)
    return definition_in(options.file), workflow_name(options.file, options.name)


def _loaded(path: str, attribute: str) -> Any:
    """Return the object called `attribute` of the Python file at `path`; what it returns, if it is a function.

    Raises:
        UsageError: no such file or object.
    """
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise UsageError(f"{path}: expected a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)
    sys.path.insert(0, str(Path(path).parent))
    spec.loader.exec_module(module)
    if not hasattr(module, attribute):
        raise UsageError(f"{path}: expected an object called {attribute!r}, found none")
    found = getattr(module, attribute)
    return found() if callable(found) and not isinstance(found, type) else found


def _as_definition(given: Any, file: str) -> "Definition":
    """Return the definition `given`: a graph, a chain of the CDK, or a definition in any form.

    Raises:
        UsageError: another object.
    """
    from unum_compiler.definition import Definition  # noqa: PLC0415 - as above
    from unum_compiler.frontends.from_ir import to_compiled  # noqa: PLC0415 - as above
    from unum_compiler.frontends.graph.nodes import Piece  # noqa: PLC0415 - as above

    match given:
        case Definition():
            return given
        case Workflow():
            return Definition.from_ir(to_compiled(given))
        case dict() | str():
            return Definition.from_asl(given)
        case Piece():
            return Definition.from_graph(given)
    if type(given).__module__.partition(".")[0] == "aws_cdk":
        return Definition.from_chainable(given)
    try:
        return Definition.from_graph(given)
    except TypeError as error:
        raise UsageError(f"{file}: expected a graph, a chain of the CDK or a `Definition`: {error}") from error


def _functions(given: Sequence[str]) -> dict[str, str]:
    for text in given:
        if "=" not in text:
            raise UsageError(f"--function: expected KEY=ARN, got {text!r}")
    return dict(text.split("=", 1) for text in given)
