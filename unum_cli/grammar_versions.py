"""Options of ``unum versions``."""

import argparse
from functools import partial
from typing import Any

from unum_cli.grammar_amounts import count


def add_versions(commands: Any) -> argparse.ArgumentParser:
    """Add the command to subparsers `commands` without address options; return its parser."""
    summary = "list the published versions of a workflow's functions, or delete those that nothing needs"
    parser: argparse.ArgumentParser = commands.add_parser(
        "versions", help=summary, description=f"{summary[0].upper()}{summary[1:]}."
    )
    parser.set_defaults(command="versions", module="versions.command")
    parser.add_argument("action", choices=("list", "prune"), help="what to do")
    parser.add_argument("--yes", action="store_true", help="delete them (default: say what would be deleted)")
    text = "newest versions of each function to keep in any case (default: 2, for a rollback)"
    parser.add_argument("--keep", metavar="N", type=partial(count, 1), default=2, help=text)
    return parser
