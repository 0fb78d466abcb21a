"""``unum init``: write a new project, a CDK app with one workflow, its functions and its tests."""

import argparse
import re
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from unicodedata import combining, normalize

from unum_cli.commands.command_errors import UsageError
from unum_cli.commands.printing import print_json

_HIDDEN = {"gitignore": ".gitignore"}
"""Files whose own names would hide them in this package."""

_NEXT = """\
{folder}: {number} files
  make test     run the tests; no AWS account, no emulator
  make dev      deploy into an emulator, again after each change, with a page of all executions
  make deploy   deploy into the AWS account of your credentials"""


def run(options: argparse.Namespace) -> None:
    """Write the project, and print the next commands.

    Raises:
        UsageError: the folder has files already, cannot be written, or gives no name for a stack.
    """
    folder: Path = options.folder
    stack = stack_name(folder.resolve().name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: expected a new or empty folder, found files; nothing was written")
    words = {"project-name": folder.resolve().name, "ProjectName": stack, "VERSION": version("unum-cli")}
    try:
        written = _copy(files("unum_cli.project") / "template", folder, words)
    except OSError as error:
        raise UsageError(f"{folder}: {error}") from error
    if options.json:
        print_json({"folder": str(folder), "stack": stack, "files": written})
    else:
        print(_NEXT.format(folder=folder, number=written))


def stack_name(folder: str) -> str:
    """Derive the stack's name from the folder's name: ``MyShop`` from ``my-shop``.

    Raises:
        UsageError: the name begins with no letter. Source: AWS CloudFormation User Guide, "Stack name".
    """
    plain = "".join(each for each in normalize("NFKD", folder) if not combining(each))  # é becomes e
    name = "".join(part[:1].upper() + part[1:] for part in re.findall(r"[A-Za-z0-9]+", plain))
    if not name[:1].isalpha():
        raise UsageError(f"{folder!r}: expected a folder's name that begins with a letter from A to Z")
    return name


def _copy(template: Traversable, folder: Path, words: dict[str, str]) -> int:
    """Write all files of `template` with `words` in place of its own; return their number."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 0
    for each in sorted(template.iterdir(), key=lambda each: each.name):
        target = folder / _HIDDEN.get(each.name, each.name)
        if each.is_dir():
            number += _copy(each, target, words) if each.name != "__pycache__" else 0
        else:
            text = each.read_text(encoding="utf-8")
            for word, own in words.items():
                text = text.replace(word, own)
            target.write_text(text, encoding="utf-8", newline="\n")
            number += 1
    return number
