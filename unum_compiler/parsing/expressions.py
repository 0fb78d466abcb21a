"""Checks of data-flow fields and conditions, in the query language of their state."""

from collections.abc import Mapping

from unum_compiler.parsing import jsonata_fields, jsonpath_fields
from unum_compiler.parsing.holes import fill_paths, unfill
from unum_compiler.parsing.object_reader import Check, Part
from unum_runtime.asl.jsonpath.conditions import compile_condition
from unum_runtime.errors import DefinitionError
from unum_runtime.model.states import Json, Language

_CHECKS: Mapping[Language, Mapping[str, Check]] = {
    Language.JSONPATH: jsonpath_fields.CHECKS,
    Language.JSONATA: jsonata_fields.CHECKS,
}


def read_data(part: Part, known: frozenset[str]) -> dict[str, Json]:
    """Return `known` fields of `part`; report mistakes in expressions."""
    checks = _CHECKS[part.language]
    data = {field: value for field, value in part.fields.items() if field in known}
    for field in data.keys() & checks.keys():
        checks[field](part, field)
    return data


def check_condition(part: Part, condition: Mapping[str, Json]) -> None:
    """Report mistakes in `condition`: the Choice rule `part` without its target and its assignments."""
    if part.language is Language.JSONATA:
        if not isinstance(part.required("Condition", object), bool) and part.has("Condition"):
            jsonata_fields.check_expression(part, "Condition")
        return
    try:
        compile_condition(fill_paths(condition, ""), where=part.place)
    except DefinitionError as error:
        part.report.add(unfill(error.problems, condition, part.place, ""))
