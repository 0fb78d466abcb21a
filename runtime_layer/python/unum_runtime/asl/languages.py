"""Programs of states by query language; a workflow loads only the languages of its states."""

from typing import TYPE_CHECKING

from unum_runtime.asl.program import Program
from unum_runtime.model.states import Catcher, Choice, Language, Map, State, Work

if TYPE_CHECKING:
    from unum_runtime.asl.jsonata.jsonata_program import JsonataProgram
    from unum_runtime.asl.jsonpath.jsonpath_program import JsonPathProgram


def program(state: State) -> Program:
    """Return the runnable fields of `state`; checks and compilation happen at first use."""
    rules = state.rules if isinstance(state, Choice) else ()
    default = state.default if isinstance(state, Choice) else None
    catchers: tuple[Catcher, ...] = state.catch if isinstance(state, Work) else ()
    takes_objects = isinstance(state, Map) and state.distributed
    if state.language is Language.JSONPATH:
        return _jsonpath()(state.data, rules, default, catchers, takes_objects=takes_objects)
    has_result = isinstance(state, Work)
    return _jsonata()(state.data, rules, default, catchers, has_result=has_result, takes_objects=takes_objects)


def load(language: Language) -> None:
    """Import the modules that `program` needs for states in `language`."""
    _PROGRAMS[language]()


def _jsonpath() -> "type[JsonPathProgram]":
    from unum_runtime.asl.jsonpath.jsonpath_program import JsonPathProgram  # noqa: PLC0415 - loaded only for JSONPath states

    return JsonPathProgram


def _jsonata() -> "type[JsonataProgram]":
    from unum_runtime.asl.jsonata.jsonata_program import JsonataProgram  # noqa: PLC0415 - loaded only for JSONata states

    return JsonataProgram


_PROGRAMS = {Language.JSONPATH: _jsonpath, Language.JSONATA: _jsonata}
