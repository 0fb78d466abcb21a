"""Command-line arguments: definitions, inputs, output files."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from unum_cli.commands.command_errors import CommandFailed, UsageError
from unum_runtime.errors import DefinitionError
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import MAX_NAME, NAME_RULE, is_name
from unum_runtime.model.start_facts import checked_attributes
from unum_runtime.model.states import Json

if TYPE_CHECKING:
    from unum_compiler.definition import Definition


def workflow_name(file: str, name: str | None) -> str:
    """Return the name from the command line, or one made from the file's: ``orders`` for ``flows/orders.asl.json``.

    Raises:
        UsageError: a workflow name has other characters or length.
    """
    if name is None:
        return re.sub(r"[^A-Za-z0-9_-]+", "-", Path(file).name.split(".")[0])[:MAX_NAME] or "workflow"
    if not is_name(name):
        raise UsageError(f"--name: expected {NAME_RULE}, got {name!r}")
    return name


def attributes_in(texts: Sequence[str]) -> dict[str, str]:
    """Return attributes by name from ``NAME=VALUE``.

    Raises:
        UsageError: a text lacks the equals sign, or the attributes are beyond their bounds.
    """
    for text in texts:
        if "=" not in text:
            raise UsageError(f"--attribute: expected NAME=VALUE, such as customer=7, got {text!r}")
    try:
        return checked_attributes(dict(text.split("=", 1) for text in texts))
    except ValueError as error:
        raise UsageError(f"--{error}") from error


def compiled(file: str, name: str | None, *, strict: bool = False) -> Workflow:
    """Compile the definition in `file`: Amazon States Language, IR, or a folder for `Definition.from_unum`.

    Raises:
        UsageError: unreadable file, or invalid workflow name.
        DefinitionError: with every problem of the definition.
    """
    return definition_in(file, strict=strict).compile(workflow_name(file, name), None)


def definition_in(file: str, *, strict: bool = False) -> "Definition":
    """Return the unchecked definition in `file`; see `compiled`."""
    # Here and below: the compiler is a sixth of the time that a command for deployed workflows takes.
    from unum_compiler.compatibility import Compatibility  # noqa: PLC0415
    from unum_compiler.definition import Definition  # noqa: PLC0415

    if Path(file).is_dir():
        with _readable(file):
            definition = Definition.from_unum(file)
    else:
        value = document(file)
        is_compiled = isinstance(value, dict) and "start_at" in value
        definition = Definition.from_ir(value) if is_compiled else Definition.from_asl(value)
    return replace(definition, compatibility=Compatibility.STRICT) if strict else definition


def compiled_or_failed(file: str, name: str | None) -> Workflow:
    """Compile the definition in `file` for a command that needs the workflow, not the problems as data.

    Raises:
        UsageError: unreadable file.
        CommandFailed: with every problem of the definition, one per line.
    """
    try:
        return compiled(file, name)
    except DefinitionError as error:
        raise CommandFailed("\n".join(problem_lines(file, error))) from error


def problem_lines(file: str, error: DefinitionError) -> list[str]:
    """Return one line for each problem, prefixed with the file name and the line in the file."""
    lines = problem_places(file, error)
    texts = (" ".join(str(problem).splitlines()) for problem in error.problems)
    # Syntax problems carry the file name already, because the parser knows line and column.
    return [
        text if text.startswith(file) else f"{file}{f':{line}' if line else ''}: {text}"
        for text, line in zip(texts, lines, strict=True)
    ]


def problem_places(file: str, error: DefinitionError) -> list[int | None]:
    """Return the line number of each problem in `file`; None without a place, and for standard input."""
    from unum_compiler.frontends.files import file_lines, line_at  # noqa: PLC0415 - as for all that compiles

    places = [problem.path for problem in error.problems]
    if file == "-" or not any(place.startswith("$") for place in places):
        return [None for _ in places]
    try:
        lines = file_lines(file)
    except (OSError, ValueError, LookupError, RecursionError):  # the file has changed since it was read
        return [None for _ in places]
    return [line_at(place, lines) for place in places]


def document(file: str) -> Json:
    """Parse `file` as JSON or YAML.

    Raises:
        UsageError: unreadable file.
        DefinitionError: neither JSON nor YAML.
    """
    from unum_compiler.frontends.files import read_file  # noqa: PLC0415

    with _readable(file):
        return read_file(file)


def execution_input(value: str) -> Json:
    """Parse the value of ``--input``; see `json_option`."""
    return json_option("--input", value)


def json_option(option: str, value: str) -> Json:
    """Parse an option value: JSON text, ``@FILE``, or ``-`` for standard input.

    Args:
        option: option name, for messages.
        value: value on the command line.

    Raises:
        UsageError: unreadable source or invalid JSON; names line and column.
    """
    from unum_compiler.parsing.document import DEEP_DATA, parse  # noqa: PLC0415

    source, text = _given_text(option, value)
    try:
        return parse(text, source=source, too_deep=DEEP_DATA)
    except DefinitionError as error:
        remedy = "" if value[:1] in "@-" else "; quote JSON for the shell, or write @FILE to read a file"
        raise UsageError(f"{option}: {error}{remedy}") from error


def write_text(file: str, text: str) -> None:
    """Write `text` to `file` atomically; an error leaves the previous content.

    Raises:
        CommandFailed: the file cannot be written.
    """
    # A draft beside the target, then a rename: readers never see half a file, also not after Ctrl-C.
    target = Path(file)
    draft = target.with_name(f".{target.name}.new")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8", errors="backslashreplace")
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise CommandFailed(f"{file}: cannot be written: {error.strerror}") from error


@contextmanager
def _readable(file: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}; expected a file with a definition") from error


def _given_text(option: str, value: str) -> tuple[str, str]:
    """Return the name of the source and its text."""
    try:
        if value == "-":
            return "standard input", sys.stdin.read()
        if value.startswith("@"):
            # Editors on Windows begin files with a byte-order mark, which is no JSON.
            return value[1:], Path(value[1:]).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{option}: {value[1:]}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{option}: {value}: expected JSON text in UTF-8: {error}") from error
    return "", value
