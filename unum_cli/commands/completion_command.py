"""``unum completion``: print a shell script that completes commands, options and files."""

import argparse
from collections.abc import Iterator

from unum_cli.commands.command_errors import CommandFailed
from unum_cli.commands.printing import print_json
from unum_cli.grammar import grammar

_FILES = frozenset({"FILE", "OLD", "NEW", "PICTURE", "SVG", "MODULE", "PYTHON", "FOLDER"})
"""What arguments are called whose values are files."""


def run(options: argparse.Namespace) -> None:
    """Print the script.

    Raises:
        CommandFailed: the package `shtab`, which writes such scripts, is missing.
    """
    try:
        import shtab  # noqa: PLC0415 - only this command needs it, and it need not be installed
    except ImportError as error:
        raise CommandFailed(f"{error}; this command needs shtab: pip install 'unum-cli[completion]'") from error
    parser = grammar()
    for action in _actions(parser):
        if action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # shtab looks for it
    script = shtab.complete(parser, options.shell)
    if options.json:
        print_json({"script": script})
    else:
        print(script)


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield arguments of `parser` and all subcommands."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to them, and shtab takes the same
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - has no public name
            for command in action.choices.values():
                yield from _actions(command)
