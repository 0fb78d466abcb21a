"""``unum compile``: print a definition's IR, or all its errors."""

import argparse
from dataclasses import asdict

from unum_cli.commands.arguments import compiled, problem_lines
from unum_cli.commands.command_errors import CommandFailed
from unum_runtime.errors import DefinitionError
from unum_runtime.json_text import parse_json, to_readable


def run(options: argparse.Namespace) -> None:
    """Print the IR.

    Raises:
        UsageError: unreadable file.
        CommandFailed: with every problem of the definition, one per line or as a JSON array.
    """
    as_json = options.format == "json"
    try:
        text = compiled(options.file, options.name, strict=options.strict).to_json()
    except DefinitionError as error:
        report = _json(options.file, error) if as_json else "\n".join(problem_lines(options.file, error))
        raise CommandFailed(report) from error
    print(text if as_json else to_readable(parse_json(text), indent=2))


def _json(file: str, error: DefinitionError) -> str:
    return to_readable([{"file": file, **asdict(problem)} for problem in error.problems])
