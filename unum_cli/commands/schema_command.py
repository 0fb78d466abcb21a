"""``unum schema``: print the JSON Schema of the IR."""

import argparse

from unum_cli.commands.printing import print_json
from unum_compiler.frontends.ir_schema import ir_schema


def run(_options: argparse.Namespace) -> None:
    """Print the schema."""
    print_json(ir_schema())
