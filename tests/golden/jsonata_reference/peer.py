"""Outcomes of expressions in the reference implementation of JSONata, and in this runtime."""

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonata.engine import Expression, ExpressionSyntaxError
from unum_runtime.asl.jsonata.names import Names
from unum_runtime.asl.jsonata.query_errors import QueryEvaluationError

NOW_MS = 1_700_000_000_000  # 2023-11-14T22:13:20Z
MODULES = Path(__file__).parents[3] / "node_modules"
VERSIONS = ("jsonata", "jsonata-2.0.6")
"""Folders of the newest version, and of the version that AWS documents."""

_PROGRAM = Path(__file__).with_name("evaluate.js")
_CODE = re.compile(r"(?:threw an error during evaluation\. |\()([A-Z]\d{4})(?:: |\)$)", re.DOTALL)
_NOT_JSON = re.compile(r"returned an unsupported result type")


class Question(NamedTuple):
    """An expression to evaluate.

    Attributes:
        kind: kind of the generated expression.
        expression: its text.
        input: value of ``$states.input``.
    """

    kind: str
    expression: str
    input: Any


class Answers(NamedTuple):
    """Outcomes of one question, as `evaluate.js` writes them."""

    newest: dict[str, Any]
    documented: dict[str, Any]


def ask_reference(questions: Sequence[Question]) -> list[Answers]:
    """Return the reference implementation's answers; one process evaluates all questions.

    Raises:
        FileNotFoundError: the packages are not installed.
    """
    folders = [MODULES / version for version in VERSIONS]
    if missing := [str(folder) for folder in folders if not folder.is_dir()]:
        raise FileNotFoundError(f"{', '.join(missing)} not found; install them with `make setup`")
    lines = "".join(json.dumps({"expression": each.expression, "input": each.input}) + "\n" for each in questions)
    found = subprocess.run(  # noqa: S603 - a program of this folder
        ["node", str(_PROGRAM), str(NOW_MS), *map(str, folders)],  # noqa: S607 - the tool of CONTRIBUTING.md
        input=lines,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return [Answers(*json.loads(line)) for line in found.stdout.rstrip("\n").split("\n")]


def evaluate(question: Question) -> dict[str, Any]:
    """Return this runtime's outcome, in the form of `evaluate.js`; ``cause`` is the whole text of an error."""
    names = Names({"input": question.input}, ExpressionContext({}, now_ms=NOW_MS))
    try:
        return {"value": Expression(question.expression).evaluate(names, "Output")}
    except (QueryEvaluationError, ExpressionSyntaxError) as error:
        cause = str(error.cause if isinstance(error, QueryEvaluationError) else error)
        if cause.endswith("returned nothing (undefined)."):
            return {"undefined": True}
        if _NOT_JSON.search(cause):
            return {"function": True}
        found = _CODE.search(cause)
        return {"code": found[1] if found else None, "cause": cause}


def same(one: Any, other: Any) -> bool:
    """Return True if two values are equal as JSON; numbers are doubles, and booleans are no numbers."""
    return json.dumps(_comparable(one), sort_keys=True) == json.dumps(_comparable(other), sort_keys=True)


def _comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _comparable(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_comparable(inner) for inner in value]
    return float(value) + 0.0 if isinstance(value, int | float) and not isinstance(value, bool) else value
