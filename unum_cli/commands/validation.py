"""``unum validate``: report every problem of every definition, and warnings."""

import argparse
from dataclasses import asdict, dataclass

from unum_cli.commands.command_arguments import definition_in, problem_lines, problem_places, workflow_name
from unum_cli.commands.command_errors import CommandFailed, UsageError
from unum_compiler.checks.warnings import Warned
from unum_runtime.errors import DefinitionError
from unum_runtime.json_text import to_readable
from unum_runtime.model.states import Json


def run(options: argparse.Namespace) -> None:
    """Print the problems and warnings of the definitions.

    Raises:
        UsageError: unreadable file; the other files are still reported.
        CommandFailed: a definition has problems.
    """
    verdicts = [_verdict(file, strict=options.strict) for file in options.files]
    if options.format == "json":
        print(to_readable([verdict.to_json() for verdict in verdicts], indent=2))
    else:
        for line in (line for verdict in verdicts for line in verdict.lines()):
            print(line)
    unreadable = [verdict.unreadable for verdict in verdicts if verdict.unreadable]
    if unreadable:
        raise UsageError("\n".join(unreadable))
    wrong = sum(verdict.error is not None for verdict in verdicts)
    if wrong:
        raise CommandFailed(f"{wrong} of {len(verdicts)} definitions cannot be compiled")


@dataclass(frozen=True, slots=True)
class _Verdict:
    """Result for one file."""

    file: str
    error: DefinitionError | None = None
    unreadable: str = ""
    warnings: tuple[Warned, ...] = ()

    def lines(self) -> list[str]:
        if self.unreadable:
            return []
        if self.error is not None:
            return problem_lines(self.file, self.error)
        return [f"{self.file}: valid", *(f"{self.file}: warning {each.code}: {each}" for each in self.warnings)]

    def to_json(self) -> dict[str, Json]:
        problems: list[Json] = []
        if self.error is not None:
            lines = problem_places(self.file, self.error)
            found = zip(self.error.problems, lines, strict=True)
            problems = [{**asdict(problem), **({"line": line} if line else {})} for problem, line in found]
        unread = {"unreadable": self.unreadable} if self.unreadable else {}
        warnings = [each._asdict() for each in self.warnings]
        valid = not problems and not unread
        return {"file": self.file, "valid": valid, "problems": problems, "warnings": warnings, **unread}


def _verdict(file: str, *, strict: bool) -> _Verdict:
    try:
        definition = definition_in(file, strict=strict)
        definition.compile(workflow_name(file, None), None)
    except UsageError as error:
        return _Verdict(file, unreadable=str(error))
    except DefinitionError as error:
        return _Verdict(file, error)
    return _Verdict(file, warnings=definition.warnings())
