"""Entry point of the command ``unum``, and its exit codes.

Exit codes: 0 success; 1 failure of the definition, the execution or AWS; 2 invalid command line; 130 after Ctrl-C.
Results go to standard output, everything else to standard error. Only the module of the requested command is loaded
(`unum_cli.commands`, `unum_cli.ui`), so a compilation starts no AWS client.
"""

import argparse
import importlib
import os
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence

from unum_cli.commands.command_errors import CommandFailed, UsageError
from unum_cli.grammar import grammar
from unum_cli.safe_output import safe_output, speak_utf8


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `arguments`, by default those of this process.

    Returns:
        The exit code.

    Raises:
        SystemExit: for ``--help`` and for invalid arguments, as argparse does.
    """
    speak_utf8()
    # argparse itself prints help and errors, so the streams must be ready before it runs.
    options = grammar().parse_args(arguments)
    add_defaults(options, os.environ)
    with safe_output():
        return _run(options)


def _run(options: Namespace) -> int:
    command = importlib.import_module(f"unum_cli.{options.module}")
    try:
        command.run(options)
    except UsageError as error:
        return _complain(error, 2)
    except CommandFailed as error:
        return _complain(error, 1)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does. Python would report the same error again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _complain(error: Exception, code: int) -> int:
    print(f"{error}", file=sys.stderr)
    return code


_ADDRESSES = ("table", "start_alias", "control_alias", "payload_bucket", "queue_url")
"""Options that name a workflow without its stack."""


def add_defaults(options: argparse.Namespace, environment: Mapping[str, str]) -> None:
    """Set ``--stack`` and ``--workflow`` from `environment`, unless the command line names what it is about itself."""
    if "stack" not in options or _is_about_files(options):
        return
    if all(getattr(options, name, None) is None for name in _ADDRESSES):
        options.stack = options.stack or environment.get("UNUM_STACK") or None
    options.workflow = options.workflow or environment.get("UNUM_WORKFLOW") or None


def _is_about_files(options: argparse.Namespace) -> bool:
    """Return True for a picture or a comparison of definitions in files alone."""
    argument = {"export": "file", "graph": "file", "diff": "old"}.get(options.command)
    return argument is not None and getattr(options, argument) is not None
