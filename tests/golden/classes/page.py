"""Write docs/asl-rules.md: what each field does with values that are missing or of a wrong kind, and who says so.

Run ``python -m tests.golden.classes.page``.
"""

from collections.abc import Iterator
from pathlib import Path

from tests.golden.classes.jsonata_fields import EXPRESSION_FIELDS, QUERY_ERROR, RECORDED_UNDEFINED
from tests.golden.classes.jsonpath_fields import PATH_FIELDS, RUNTIME, Failed, PathField
from unum_runtime.model.states import Json

PAGE = Path(__file__).parents[3] / "docs" / "asl-rules.md"

INTRODUCTION = """\
# Missing and unfit values

What a field does if its path or expression leads to nothing, or to a value that the field cannot use. Each row is
tested with every kind of path or expression and every kind of value. *Not known* marks rows for which AWS's
documentation and recorded executions say nothing; the behaviour is then our choice. A test compares this page with the
tests that it comes from.

Rules for all paths:

* A path of names and indexes that leads nowhere has no value. A path with a wildcard, slice, union, filter or descent
  has an array of what it finds, also if that is one value or none. Source: recorded executions.
* A slice, union or filter of anything but an array fails as a path that leads nowhere; a filter may also test one
  object. Source: recorded causes have the texts of the Java library JsonPath, which does so. Not known for AWS.
* A field such as `SecondsPath` reads a number in a text, such as `"7"`, too. AWS's recorded cause for another text is
  that it is no valid integer. Not known for AWS.
* `IsPresent` is true for a path with a wildcard, slice, union, filter or descent, even if it finds nothing. Not known
  for AWS.
"""

TAKES = {
    "path": "a path",
    "reference": "names and indexes from 0",
    "input reference": "names and indexes from 0, into the input",
    "template": "a path or an intrinsic function",
}


KINDS: tuple[Json, ...] = (None, True, -1, "t", {}, [])
"""One value of each kind; a field that can use all of them has no unfit values."""


def page() -> str:
    """Return the page's text."""
    return "\n".join([INTRODUCTION, *_paths(), "", *_expressions(), ""])


def _paths() -> Iterator[str]:
    yield "## JSONPath\n"
    yield "| field | takes | leads nowhere | source | value that the field cannot use | source |"
    yield "|---|---|---|---|---|---|"
    for field in PATH_FIELDS:
        missing = f"`{field.missing.error}`" if isinstance(field.missing, Failed) else "false"
        wrong = (f"`{RUNTIME}`", field.wrong_source or "not known") if _restricts(field) else ("", "")
        cells = (field.name, TAKES[field.takes], missing, field.missing_source or "not known", *wrong)
        yield f"| {' | '.join(cells)} |".replace("|  |  |", "| | |")


def _restricts(field: PathField) -> bool:
    return not all(field.accepts(value) for value in KINDS)


def _expressions() -> Iterator[str]:
    yield "## JSONata\n"
    yield (
        f"Every field fails with `{QUERY_ERROR}` if its expression has no value, or a function as its value. Source: "
        f"{RECORDED_UNDEFINED}.\nThese fields fail alike for values that they cannot use:\n"
    )
    yield "| field | source |"
    yield "|---|---|"
    for field in EXPRESSION_FIELDS:
        if not all(field.accepts(value) for value in KINDS):
            yield f"| {field.name} | {field.wrong_source or 'not known'} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
