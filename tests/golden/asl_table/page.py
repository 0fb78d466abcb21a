"""``make asl-table``: write the table of AWS beside this library into docs/asl.md.

The compiler's own tables, its messages and the examples of this folder are the source; `test_asl_table` runs them all.
"""

import json
import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.golden.asl_table.differences import DIFFERENT, Different
from tests.golden.asl_table.expressions import INTRINSICS, JSONATA, PATHS, TYPE_TESTS
from tests.golden.asl_table.refusals import REFUSED
from tests.golden.asl_table.samples import FIELDS_OF_PARTS
from tests.golden.asl_table.services import CALLBACK, SYNC, calls
from tests.golden.asl_table.strict import REFUSED as STRICTLY_REFUSED
from tests.golden.asl_table.strict import refusal
from unum_compiler.checks import context_object
from unum_compiler.checks.warnings import ERRORS
from unum_compiler.compatibility import HOP_BUDGET, PAYLOAD_LIMIT
from unum_compiler.definition import Definition
from unum_compiler.parsing.fields import KINDS, STATES
from unum_runtime.asl.jsonpath.conditions import OPERATORS
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.features.data_sets import config
from unum_runtime.features.data_sets.write import OUTPUT_TYPES, TRANSFORMATIONS
from unum_runtime.features.services.integrations import OPTIMIZED
from unum_runtime.model.states import Json, Language
from unum_runtime.protocol.planning.quotas import DISTRIBUTED_BRANCHES, INLINE_BRANCHES

PAGE = Path(__file__).parents[3] / "docs" / "asl.md"
_COMMAND = "written by `make asl-table`; do not edit"
_WIDTH = 145


def comparison_operators() -> list[str]:
    """Return every comparison operator of a Choice, with the forms that end in ``Path``."""
    paths = [f"{name}Path" for name, operator in OPERATORS.items() if operator.compare is not None]
    return sorted([*OPERATORS, *paths, "IsPresent"])


def message(definition: Json) -> str:
    """Return the compiler's message about the only problem of `definition`, without its place."""
    try:
        Definition.from_asl(definition).compile("w", None)
    except DefinitionError as error:
        (problem,) = error.problems
        return problem.message
    raise AssertionError(f"expected a refusal of {definition}")


def shown(definition: Json) -> str:
    """Return the reason and the remedy in the compiler's message, for a cell of a table."""
    text = message(definition)
    return (text.partition("; ")[2] or text).replace("|", "\\|")


def written(text: str) -> str:
    """Return the page `text` with its generated sections."""
    for name, lines in (("table", _table()), ("strict", _strict()), ("differences", _differences())):
        begin, end = f"<!-- {name}: {_COMMAND} -->", f"<!-- {name}: end -->"
        pattern = re.compile(f"{re.escape(begin)}\n.*?{re.escape(end)}", re.DOTALL)
        section = "\n".join((begin, "", *lines, "", end))
        text, count = pattern.subn(section.replace("\\", r"\\"), text)
        if count != 1:
            raise ValueError(f"{PAGE.name}: expected the section {begin} once, found it {count} times")
    return text


def _table() -> Iterator[str]:
    yield from _states()
    yield ""
    yield from _parts()
    yield ""
    yield from _services()
    yield ""
    yield from _refused()


def _states() -> Iterator[str]:
    yield "| type of state | fields | only in JSONPath | only in JSONata |"
    yield "|---|---|---|---|"
    for kind in KINDS:
        paths, queries = (STATES[language][kind] for language in (Language.JSONPATH, Language.JSONATA))
        cells = (
            f"**{kind}**",
            *(_code(sorted(names)) for names in (paths & queries, paths - queries, queries - paths)),
        )
        yield _row(*cells)


def _parts() -> Iterator[str]:
    yield "| part | supported |"
    yield "|---|---|"
    for part, fields in FIELDS_OF_PARTS.items():
        yield _row(f"fields of {part}", _code(fields))
    plain = [name for name in comparison_operators() if not name.endswith("Path")]
    yield _row(
        "comparisons", f"{_code(plain)}; all but {_code(sorted(TYPE_TESTS))} also with `Path`; `And`, `Or`, `Not`"
    )
    yield _row("paths", ", ".join(f"{name} (`{text}`)" for name, (text, _) in PATHS.items()))
    yield _row("intrinsic functions", _code(INTRINSICS))
    yield _row("JSONata functions", f"{_code(f'${name}' for name in JSONATA)}; all operators of version 2.0.6")
    yield _row(
        "JSONata variables",
        "`$states.input`, `$states.context`; `$states.result` in `Output` and `Assign` of Task, "
        "Parallel and Map; `$states.errorOutput` in those of a catcher; variables that states assign",
    )
    everywhere = _code(context_object._EVERYWHERE)
    yield _row(
        "context object",
        f"{everywhere}; in Tasks {_code([context_object._TASK])}; in `ItemSelector` "
        f"{_code(context_object._ITEM)}, where `Key` exists for the fields of an object in a distributed Map",
    )
    yield _row(
        "error names",
        f"{_code(sorted(ERRORS))}, `States.Http.StatusCode.` and a status; names of services, exceptions and your own",
    )
    manifests = " and ".join(f"`{name}`" for name in config.MANIFESTS)
    yield _row(
        "items from S3",
        f"{_code(config.FORMATS)}, also compressed with gzip; manifests {manifests}; lists of objects, and "
        "with `LOAD_AND_FLATTEN` their contents",
    )
    yield _row("results to S3", f"{_code(OUTPUT_TYPES)}, each with {_code(TRANSFORMATIONS)}")
    yield _row(
        "functions",
        "by key, `${key}`, ARN, or `arn:aws:states:::lambda:invoke`, also with `.waitForTaskToken`, `Qualifier`, "
        "`LogType`, `ClientContext`, and the `InvocationType` `Event` and `DryRun`; activities by ARN",
    )
    yield _row(
        "`${Name}`",
        "in texts, paths, intrinsic functions and JSONata; as a function's key; for every number and timestamp, and "
        "for a `JitterStrategy`",
    )


def _services() -> Iterator[str]:
    suffixes: dict[tuple[str, str], list[str]] = {}
    for service, action, suffix in calls():
        suffixes.setdefault((service, action), []).append(suffix)
    yield "| service | actions | with `.sync` | with `.waitForTaskToken` |"
    yield "|---|---|---|---|"
    for service in OPTIMIZED:
        actions = {action: found for (name, action), found in suffixes.items() if name == service}
        jobs = [action for action, found in actions.items() if SYNC in found]
        more = ", `startExecution.sync:2`" if service == "states" else ""
        answers = [action for action, found in actions.items() if CALLBACK in found]
        yield _row(
            f"`{service}`",
            _code(actions),
            "all" if jobs == [*actions] and not more else _code(jobs) + more,
            "all" if answers else "",
        )
    yield _row(
        "`aws-sdk:`",
        "every service and action that botocore knows, such as `aws-sdk:s3:getObject`, except those that stream",
        "",
        "all",
    )


def _refused() -> Iterator[str]:
    yield "| refused by name | reason, and what to do |"
    yield "|---|---|"
    for part, definition in REFUSED.items():
        yield _row(part, shown(definition))


def _strict() -> Iterator[str]:
    rows: dict[tuple[str, str], str] = {}
    for definition in STRICTLY_REFUSED:
        found = refusal(definition)
        rows.setdefault((str(found.feature), reason_of(found)), _part(definition, found.path))
    yield "| refused in strict compatibility | for example | reason, and what to do |"
    yield "|---|---|---|"
    yield from (_row(f"`{feature}`", part, reason) for (feature, reason), part in sorted(rows.items()))
    yield ""
    yield "| quota | value | if exceeded |"
    yield "|---|---|---|"
    yield _row(
        "input of an execution, arguments, output of a state",
        f"{PAYLOAD_LIMIT:,} bytes",
        "the state fails with `States.DataLimitExceeded`; a start with too large an input begins an execution that "
        "fails, whereas Step Functions refuses the start",
    )
    yield _row("branches of an inline Map at once", f"{INLINE_BRANCHES}", "the others wait")
    yield _row("branches of a distributed Map at once", f"{DISTRIBUTED_BRANCHES:,}", "the others wait")
    yield _row("steps one after another", f"{HOP_BUDGET:,}", "the execution fails with `Unum.HopBudgetExceeded`")


def _part(definition: Definition, place: str) -> str:
    """Return the field at `place`, and its text or number."""
    names = [first or second for first, second in re.findall(r"\.(\w+)|\['([^']*)'\]", place)]
    if names[:1] != ["States"]:
        return ""
    found: Json = json.loads(definition.text)
    for name in names:
        found = found[name]
    text = str(found).removeprefix("arn:aws:states:::") if isinstance(found, str | int) else ""
    return f"`{names[-1]}`: `{text}`" if text else f"`{names[-1]}`" if names[-2] != "States" else "`Type`: `Map`"


def reason_of(problem: Problem) -> str:
    """Return the reason and the remedy of a refusal, for a cell of a table."""
    return problem.message.partition("; ")[2].replace("|", "\\|")


def _differences() -> Iterator[str]:
    for index, (group, entries) in enumerate(DIFFERENT.items()):
        yield from ([""] if index else [])
        yield f"{group}:"
        yield ""
        for entry in entries:
            yield from _bullet(entry)


def _bullet(entry: Different) -> list[str]:
    return textwrap.wrap(
        entry.text,
        width=_WIDTH,
        initial_indent="* ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def main() -> None:
    """Write the page."""
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
