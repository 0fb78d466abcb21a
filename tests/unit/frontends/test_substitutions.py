"""``DefinitionSubstitutions``: every name has a text, and every text a name."""

import re
from pathlib import Path
from typing import Any

import pytest

from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError

ARN = "${Token[TOKEN.11]}"
TABLE = "${Token[TOKEN.12]}"


def machine(**fields: Any) -> dict[str, Any]:
    task = {"Type": "Task", "Resource": "arn:aws:states:::dynamodb:putItem", "End": True, **fields}
    return {"StartAt": "Put", "States": {"Put": task}}


def test_texts_take_the_place_of_names() -> None:
    definition = machine(Comment="${A}-${B}", Parameters={"${A}": ["x${B}"], "n": 1})
    expected = machine(Comment="1-2", Parameters={"1": ["x2"], "n": 1})
    assert Definition.from_asl(definition, substitutions={"A": "1", "B": "2"}) == Definition.from_asl(expected)


def test_the_same_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "flow.yaml"
    path.write_text("{StartAt: '${A}'}")
    assert Definition.from_asl_file(path, substitutions={"A": "x"}) == Definition.from_asl({"StartAt": "x"})


def test_without_substitutions_nothing_is_replaced() -> None:
    definition = machine(Comment="${A}")
    assert "${A}" in Definition.from_asl(definition).text


def test_a_name_can_stand_for_a_function() -> None:
    definition = Definition.from_asl(machine(Resource="${Put}"), substitutions={"Put": ARN}).bind({ARN: "put"})
    assert definition.compile("w", ["put"]).task("Put").function == "put"


def test_a_function_needs_no_substitution() -> None:
    definition = Definition.from_asl(machine(Resource="${put}", Comment="${A}"), substitutions={"A": "x"})
    assert definition.compile("w", ["put"]).task("Put").function == "put"


def test_a_token_becomes_a_value_at_deployment() -> None:
    definition = Definition.from_asl(machine(Parameters={"TableName": "${Table}"}), substitutions={"Table": TABLE})
    bound = definition.bind({})
    assert bound.values == {"Value1": TABLE}
    assert '"TableName": "${Value1}"' in bound.text


def test_all_that_does_not_fit_is_reported_at_once() -> None:
    substitutions: Any = {"Tabel": "t", "Count": 3}
    with pytest.raises(DefinitionError) as caught:
        Definition.from_asl(machine(Parameters={"TableName": "${Table}"}), substitutions=substitutions)
    problems = {problem.path: problem.message for problem in caught.value.problems}
    assert problems.keys() == {"substitutions.Count", "substitutions.Tabel", "$.States.Put.Parameters.TableName"}
    assert 'did you mean "Tabel"?' in problems["$.States.Put.Parameters.TableName"]
    assert 'did you mean "Table"?' in problems["substitutions.Tabel"]


def test_substitution_without_quotes_is_refused_with_the_right_text() -> None:
    message = 'expected JSON: Expecting value; write "${Seconds}" with quotes: fields of numbers take the number in it'
    with pytest.raises(DefinitionError, match=re.escape(message)):
        Definition.from_asl('{"Seconds": ${Seconds}}', substitutions={"Seconds": "5"})
