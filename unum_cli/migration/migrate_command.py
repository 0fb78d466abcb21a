"""``unum migrate``: turn the state machines of a Python CDK app into workflows."""

import argparse
import os
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from tokenize import detect_encoding
from typing import TYPE_CHECKING, NamedTuple

from unum_cli.commands.command_errors import CommandFailed, UsageError
from unum_cli.commands.printing import print_json
from unum_cli.safe_output import raw
from unum_runtime.model.states import Json

if TYPE_CHECKING:
    from unum_cli.migration.decisions import Decision

_WORDS = (b"stepfunctions", b"StepFunctions", b"StateMachine", b"states:", b"step_function")
"""A file without any of them has nothing to move, and is not parsed."""

_SKIPPED = {"node_modules", "cdk.out", "__pycache__"}
_ENVIRONMENT = "pyvenv.cfg"


class _Moved(NamedTuple):
    """Result for one file."""

    file: str
    diff: str = ""
    content: bytes = b""
    edits: int = 0
    decisions: "tuple[Decision, ...]" = ()
    unreadable: str = ""

    def to_json(self) -> dict[str, Json]:
        decisions: list[Json] = [each._asdict() for each in self.decisions]
        unread = {"unreadable": self.unreadable} if self.unreadable else {}
        return {"file": self.file, "edits": self.edits, "diff": self.diff, "decisions": decisions, **unread}


def run(options: argparse.Namespace) -> None:
    """Print the edits as a unified diff, or write them, and print the places that a person must decide about.

    Raises:
        UsageError: a file that cannot be read or written, or is no Python; the others are still reported and written.
        CommandFailed: the package `libcst`, which reads Python with its comments and blanks, is missing.
    """
    try:
        import libcst  # noqa: F401, PLC0415 - only this command needs it, and it need not be installed
    except ImportError as error:
        raise CommandFailed(f"{error}; this command needs libcst: pip install 'unum-cli[migrate]'") from error
    results = [_moved(file, written=options.write) for file in dict.fromkeys(_files(options.files))]
    if options.json:
        print_json([each.to_json() for each in results if each.edits or each.decisions or each.unreadable])
    else:
        _print(results, written=options.write)
    unreadable = [each.unreadable for each in results if each.unreadable]
    if unreadable:
        raise UsageError("\n".join(unreadable))


def _print(results: list[_Moved], *, written: bool) -> None:
    """Print diffs on standard output, so that `patch` can read it, and everything else on standard error."""
    # `patch` needs the file's own line breaks; a terminal gets nothing that it would obey.
    out = sys.stdout if sys.stdout.isatty() else raw(sys.stdout)
    for each in results if not written else ():
        out.write(each.diff)
    out.flush()
    for each in results:
        for line, text in each.decisions:
            print(f"{each.file}:{line}: {text}", file=sys.stderr)
    edits, files = sum(each.edits for each in results), sum(each.edits > 0 for each in results)
    decisions = sum(len(each.decisions) for each in results)
    verb, remedy = ("made", "") if written else ("found", " (make them with --write)" if edits else "")
    summary = f"{verb} {_count(edits, 'edit')} in {files} of {_count(len(results), 'file')}{remedy}"
    print(f"{summary}; {_count(decisions, 'place')} to decide about", file=sys.stderr)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _files(paths: list[Path]) -> Iterator[Path]:
    """Yield the files `paths`, and the Python files in folders `paths`, without those that tools put there."""
    for each in paths:
        if not each.is_dir():
            yield each
            continue
        for folder, folders, names in os.walk(each):
            if _ENVIRONMENT in names:
                folders.clear()
                continue
            folders[:] = sorted(name for name in folders if name not in _SKIPPED and not name.startswith("."))
            yield from (Path(folder, name) for name in sorted(names) if name.endswith(".py"))


def _moved(path: Path, *, written: bool) -> _Moved:
    """Return the result for the file `path`; write it if `written`."""
    file = path.as_posix()
    try:
        content = path.read_bytes()
        found = _edited(file, content, written=written) if any(word in content for word in _WORDS) else _Moved(file)
        if written and found.edits:
            path.write_bytes(found.content)
    except OSError as error:
        return _Moved(file, unreadable=f"{file}: {error.strerror}")
    return found


def _edited(file: str, content: bytes, *, written: bool) -> _Moved:
    import libcst  # noqa: PLC0415 - `run` has checked that it is there

    from unum_cli.migration.rewriting import (  # noqa: PLC0415 - needs libcst
        diff_text,
        moved_line,
        rewrite,
    )

    try:
        encoding, _ = detect_encoding(BytesIO(content).readline)
        text = content.decode(encoding)
        new, edits, decisions = rewrite(text, is_package=file.endswith("__init__.py"))
    except libcst.ParserSyntaxError as error:
        return _Moved(file, unreadable=f"{file}:{error.raw_line}: expected Python, found {error.message}")
    except (SyntaxError, ValueError, RecursionError) as error:
        return _Moved(file, unreadable=f"{file}: expected Python, found: {error}")
    if written:
        decisions = tuple(each._replace(line=moved_line(text, new, each.line)) for each in decisions)
    return _Moved(file, diff_text(text, new, file), new.encode(encoding), edits, decisions)
