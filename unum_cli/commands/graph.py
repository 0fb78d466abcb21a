"""``unum graph``: draw a definition."""

import argparse

from unum_cli.commands.arguments import compiled_or_failed, write_text
from unum_cli.commands.printing import print_json
from unum_cli.picture.draw import draw
from unum_cli.picture.mermaid import mermaid


def run(options: argparse.Namespace) -> None:
    """Print the picture, or write it to a file.

    Raises:
        UsageError: unreadable file.
        CommandFailed: problems in the definition, or an unwritable picture.
    """
    workflow = compiled_or_failed(options.file, options.name)
    picture = mermaid(workflow) if options.format == "mermaid" else draw(workflow)
    if options.output:
        write_text(options.output, picture)
    if options.json:
        print_json({"output": options.output} if options.output else {"picture": picture})
    elif not options.output:
        print(picture, end="")
