"""``ResultPath`` of a state and of a catcher, with every kind of path, over every kind of value."""

import copy
from typing import Any

import pytest

from tests.golden import adapter
from tests.golden.classes.jsonpath_fields import Failed
from tests.golden.classes.jsonpaths import PATHS, PathKind
from tests.golden.classes.running import ended
from tests.golden.classes.values import INPUTS
from unum_runtime.model.states import Json

MISMATCH = Failed("States.ResultPathMatchFailure")
"""Source: Amazon States Language specification, Appendix A: Predefined Error Codes."""

RESULT = {"Type": "Pass", "Result": "R", "End": True}
FAILING = {"StartAt": "I", "States": {"I": {"Type": "Fail", "Error": "E", "Cause": "c"}}}
ERROR = {"Error": "E", "Cause": "c"}


def put(document: dict[str, Json], path: PathKind, result: Json) -> Json | Failed:
    """Return `document` with `result` at `path`; names are made, elements of arrays must exist."""
    if not path.steps:
        return result
    whole: Any = copy.deepcopy(document)
    at = whole
    for (kind, key), following in zip(path.steps, [*path.steps[1:], None], strict=True):
        if not (isinstance(at, dict) if kind == "name" else isinstance(at, list) and 0 <= key < len(at)):
            return MISMATCH
        if following is None:
            at[key] = result
        elif kind == "name":
            at = at.setdefault(key, {} if following[0] == "name" else None)
        else:
            at = at[key]
    return whole


def is_allowed(path: PathKind) -> bool:
    """Return True for a reference path into the input."""
    return path.is_reference and path.root == "input"


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.text)
def test_result_path(path: PathKind) -> None:
    definition = {"StartAt": "A", "States": {"A": {**RESULT, "ResultPath": path.text}}}
    if not is_allowed(path):
        with pytest.raises(adapter.Unsupported, match="ResultPath"):
            adapter.compiled(definition)
        return
    found = {kind: ended(definition, document) for kind, document in INPUTS.items()}
    assert found == {kind: put(document, path, "R") for kind, document in INPUTS.items()}


@pytest.mark.parametrize("path", [*filter(is_allowed, PATHS)], ids=lambda path: path.text)
def test_result_path_of_a_catcher(path: PathKind) -> None:
    rule = {"ErrorEquals": ["States.ALL"], "Next": "B", "ResultPath": path.text}
    failing = {"Type": "Parallel", "Branches": [FAILING], "Catch": [rule], "End": True}
    definition = {"StartAt": "A", "States": {"A": failing, "B": {"Type": "Pass", "End": True}}}
    found = {kind: ended(definition, document) for kind, document in INPUTS.items()}
    assert found == {kind: put(document, path, ERROR) for kind, document in INPUTS.items()}
