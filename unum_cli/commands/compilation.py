"""``unum compile``: print a definition's IR, or all its errors."""

import argparse
from dataclasses import asdict

from unum_cli.commands.command_arguments import compiled, problem_lines
from unum_cli.commands.command_errors import CommandFailed
from unum_runtime.errors import DefinitionError
from unum_runtime.json_text import to_readable, to_sorted


def run(options: argparse.Namespace) -> None:
    """Print the IR.

    Raises:
        UsageError: unreadable file.
        CommandFailed: with every problem of the definition, one per line or as a JSON array.
    """
    as_json = options.format == "json"
    try:
        workflow = compiled(options.file, options.name, strict=options.strict)
    except DefinitionError as error:
        report = _json(options.file, error) if as_json else "\n".join(problem_lines(options.file, error))
        raise CommandFailed(report) from error
    from unum_compiler.frontends.from_ir import to_compiled  # noqa: PLC0415 - as for all that compiles

    found = to_compiled(workflow)
    print(to_sorted(found) if as_json else to_readable(found, indent=2))


def _json(file: str, error: DefinitionError) -> str:
    return to_readable([{"file": file, **asdict(problem)} for problem in error.problems])
