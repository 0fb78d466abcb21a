"""Every field that takes a path, with every kind of path, over every kind of value."""

import pytest

from tests.golden import adapter
from tests.golden.classes.jsonpath_fields import PATH_FIELDS, RUNTIME, Failed, PathField
from tests.golden.classes.jsonpaths import PATHS, LeadsNowhere, PathKind, value_at
from tests.golden.classes.running import ended
from tests.golden.classes.values import INPUTS
from unum_runtime.model.states import Json


def may_take(field: PathField, path: PathKind) -> bool:
    """Return True if the specification lets `field` have a path of this kind."""
    match field.takes:
        case "template":
            return True
        case "path":
            return path.root != "function"
        case "reference":
            return path.is_reference and path.root != "function"
        case _:
            return path.is_reference and path.root == "input"


def expected(field: PathField, path: PathKind, document: dict[str, Json]) -> Json | Failed:
    try:
        value = value_at(path, document if path.root == "context" else field.of(document))
    except LeadsNowhere:
        return field.missing if path.root != "function" else Failed(RUNTIME)
    return field.answer(value, document) if field.accepts(value) else Failed(RUNTIME)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.text)
@pytest.mark.parametrize("field", PATH_FIELDS, ids=lambda field: field.name)
def test_field_with_path(field: PathField, path: PathKind) -> None:
    definition = field.define(path.text)
    if not may_take(field, path):
        with pytest.raises(adapter.Unsupported, match="path"):
            adapter.compiled(definition)
        return
    found = {kind: ended(definition, document) for kind, document in INPUTS.items()}
    assert found == {kind: expected(field, path, document) for kind, document in INPUTS.items()}
