"""``unum init``: write a new project, a CDK app with one workflow, its functions and its tests."""

import argparse
import re
import shlex
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from unicodedata import combining, normalize

from unum_cli.commands.command_errors import UsageError
from unum_cli.commands.printing import print_json

_HIDDEN = {"gitignore": ".gitignore"}
"""Files whose own names would hide them in this package."""

_KEPT = {".git"}
"""Names that a folder may have already: a repository that was made or cloned empty."""

_LONGEST = 128
"""Longest name of a stack. Source: AWS CloudFormation API Reference, CreateStack, "StackName"."""

_NEXT = """\
{folder}: {number} files{enter}
  make test     run the tests; no AWS account, no emulator
  make dev      deploy into an emulator, again after each change, with a page of all executions
  make deploy   deploy into the AWS account of your credentials"""


def run(options: argparse.Namespace) -> None:
    """Write the project, and print the next commands.

    Raises:
        UsageError: the folder has files already, cannot be written, or gives no name for a stack.
    """
    folder: Path = options.folder
    try:
        name = folder.resolve().name
        stack = stack_name(name)
        _check_empty(folder)
        words = {"project-name": name, "ProjectName": stack, "VERSION": version("unum-cli")}
        written = _copy(files("unum_cli.project") / "template", folder, words)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}") from error
    if options.json:
        print_json({"folder": str(folder), "stack": stack, "files": written})
    else:
        enter = "" if folder.samefile(Path.cwd()) else f"\n  cd {shlex.quote(str(folder))}"
        print(_NEXT.format(folder=folder, enter=enter, number=written))


def stack_name(folder: str) -> str:
    """Derive the stack's name from the folder's name: ``MyShop`` from ``my-shop``.

    Raises:
        UsageError: the name begins with no letter, is too long or has control characters. Source: AWS CloudFormation
            User Guide, "Stack name".
    """
    plain = "".join(each for each in normalize("NFKD", folder) if not combining(each))  # é becomes e
    name = "".join(part[:1].upper() + part[1:] for part in re.findall(r"[A-Za-z0-9]+", plain))
    if not name[:1].isalpha():
        raise UsageError(f"{folder!r}: expected a folder's name that begins with a letter from A to Z")
    if len(name) > _LONGEST:
        raise UsageError(f"{folder!r}: expected a folder's name of at most {_LONGEST} letters and digits")
    if not folder.isprintable():
        raise UsageError(f"{folder!r}: expected a folder's name of printable characters")
    return name


def _check_empty(folder: Path) -> None:
    """Raise UsageError if `folder` is a file or has files."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: expected a new or empty folder, found a file; nothing was written")
    found = sorted({path.name for path in folder.iterdir()} - _KEPT) if folder.exists() else []
    if found:
        rest = f" and {len(found) - 1} more" if len(found) > 1 else ""
        raise UsageError(f"{folder}: expected a new or empty folder, found {found[0]}{rest}; nothing was written")


def _copy(template: Traversable, folder: Path, words: dict[str, str]) -> int:
    """Write all files of `template` with `words` in place of its own; return their number."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 0
    for each in sorted(template.iterdir(), key=lambda each: each.name):
        target = folder / _HIDDEN.get(each.name, each.name)
        if each.is_dir():
            number += _copy(each, target, words) if each.name != "__pycache__" else 0
        else:
            # In one pass, because a folder may be called VERSION.
            text = re.sub("|".join(words), lambda word: words[word[0]], each.read_text(encoding="utf-8"))
            target.write_text(text, encoding="utf-8", newline="\n")
            number += 1
    return number
