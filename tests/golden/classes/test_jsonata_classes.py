"""Every field that takes an expression, with every kind of expression, over every kind of value."""

import pytest

from tests.golden.classes.jsonata_expressions import EXPRESSIONS, UNDEFINED, ExpressionKind
from tests.golden.classes.jsonata_fields import EXPRESSION_FIELDS, QUERY_ERROR, ExpressionField
from tests.golden.classes.jsonpath_fields import Failed
from tests.golden.classes.running import ended
from tests.golden.classes.values import INPUTS
from unum_runtime.model.states import Json


def expected(field: ExpressionField, expression: ExpressionKind, document: dict[str, Json]) -> Json | Failed:
    value = expression.value(document.get("x", UNDEFINED))
    if value is UNDEFINED or not field.accepts(value):
        return Failed(QUERY_ERROR)
    return field.answer(value, document)


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=lambda expression: expression.text)
@pytest.mark.parametrize("field", EXPRESSION_FIELDS, ids=lambda field: field.name)
def test_field_with_expression(field: ExpressionField, expression: ExpressionKind) -> None:
    definition = field.define(f"{{%{expression.text}%}}")
    found = {kind: ended(definition, document) for kind, document in INPUTS.items()}
    assert found == {kind: expected(field, expression, document) for kind, document in INPUTS.items()}
