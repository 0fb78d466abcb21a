"""``unum schema``: the JSON Schema of the intermediate representation."""

import argparse

from unum_cli.commands.printing import print_json
from unum_compiler.frontends.ir_schema import ir_schema


def run(_options: argparse.Namespace) -> None:
    """Print it."""
    print_json(ir_schema())
