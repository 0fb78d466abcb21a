"""Checks of data-flow fields and conditions, in the query language of their state."""

from collections.abc import Iterable, Mapping

from unum_compiler.parsing import jsonata_fields
from unum_compiler.parsing.fields import NUMBERS, SIZES, check_batcher, check_number
from unum_compiler.parsing.holes import fill_paths, unfill
from unum_compiler.parsing.object_reader import Check, Part, check_text, check_timestamp
from unum_compiler.problems import shown
from unum_runtime.asl.jsonpath.conditions import compile_condition
from unum_runtime.asl.jsonpath.dataflow import check_path, check_reference, check_result_path
from unum_runtime.asl.jsonpath.path_syntax import PathSyntaxError
from unum_runtime.asl.jsonpath.templates import compile_expression, compile_template
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.states import Json, Language

_OF_MAPS = ("MaxConcurrency", "ToleratedFailureCount", "ToleratedFailurePercentage", "MaxItems", *SIZES)
_BATCHER = ("BatchInput", *SIZES, *(f"{size}Path" for size in SIZES))


def _path(part: Part, field: str) -> None:
    _report(part, check_path(_filled(part, field), part.at(field)), field)


def _filled(part: Part, field: str) -> Json:
    return fill_paths(part.fields[field], field)


def _report(part: Part, problems: Iterable[Problem], field: str) -> None:
    part.report.add(unfill(problems, part.fields[field], part.at(field), field))


def _items_path(part: Part, field: str) -> None:
    _not_null(part, field)
    _path(part, field)


def _reference(part: Part, field: str) -> None:
    _not_null(part, field)
    _report(part, check_reference(_filled(part, field), part.at(field)), field)


def _input_reference(part: Part, field: str) -> None:
    """Report a Map's path into the context object.

    Step Functions refuses such definitions: only ``ItemsPath`` may read the context object.
    """
    _reference(part, field)
    value = part.fields[field]
    if isinstance(value, str) and value.startswith("$$"):
        message = f'expected a reference path into the input, such as "$.value", got {shown(value)}'
        remedy = "the context object is no part of it; take the value into the input or a variable before"
        part.mistake(field, f"{message}; {remedy}")


def _not_null(part: Part, field: str) -> None:
    if part.fields[field] is None:
        part.mistake(field, 'expected a path, such as "$.value", got null')


def _result_path(part: Part, field: str) -> None:
    _report(part, check_result_path(_filled(part, field), part.at(field)), field)


def _path_or_function(part: Part, field: str) -> None:
    value, place = _filled(part, field), part.at(field)
    if not isinstance(value, str):
        part.mistake(field, f"expected a path or an intrinsic function, got {shown(value)}")
        return
    try:
        compile_expression(value, field=field)
    except PathSyntaxError as error:
        _report(part, [Problem(place, str(error), error.feature)], field)


def _template(part: Part, field: str) -> None:
    try:
        compile_template(_filled(part, field), where=part.at(field))
    except DefinitionError as error:
        _report(part, error.problems, field)


def _object(part: Part, field: str) -> None:
    if part.inner(field) is not None:
        _template(part, field)


def _batcher(part: Part, field: str) -> None:
    check_batcher(part, field, {name: CHECKS[name] for name in _BATCHER})


CHECKS: Mapping[str, Check] = {
    **dict.fromkeys(("InputPath", "OutputPath"), _path),
    **dict.fromkeys(("Parameters", "ItemSelector", "ResultSelector"), _template),
    **dict.fromkeys(("Credentials", "Assign", "BatchInput"), _object),
    **dict.fromkeys((*(f"{field}Path" for field in NUMBERS), "TimestampPath"), _reference),
    **dict.fromkeys((f"{field}Path" for field in _OF_MAPS), _input_reference),
    **dict.fromkeys(("ErrorPath", "CausePath"), _path_or_function),
    **dict.fromkeys(("Error", "Cause"), check_text),
    **dict.fromkeys(NUMBERS, check_number),
    "ItemsPath": _items_path,
    "ResultPath": _result_path,
    "Timestamp": check_timestamp,
    "ItemBatcher": _batcher,
}
"""The check of each field that may hold an expression."""


_CHECKS: Mapping[Language, Mapping[str, Check]] = {
    Language.JSONPATH: CHECKS,
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
