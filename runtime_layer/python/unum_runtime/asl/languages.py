"""Which program a state has: that of its query language."""

from unum_runtime.asl.jsonpath import JsonPathProgram
from unum_runtime.asl.program import Program
from unum_runtime.model.ir import Catcher, Choice, Language, Map, State, Work


def program(state: State) -> Program:
    """The fields of `state`, ready to run; nothing is checked or compiled yet."""
    rules = state.rules if isinstance(state, Choice) else ()
    default = state.default if isinstance(state, Choice) else None
    catchers: tuple[Catcher, ...] = state.catch if isinstance(state, Work) else ()
    if state.language is Language.JSONATA:
        from unum_runtime.asl.jsonata.program import JsonataProgram  # noqa: PLC0415 - only where a workflow needs it

        takes_objects = isinstance(state, Map) and state.distributed
        has_result = isinstance(state, Work)
        return JsonataProgram(state.data, rules, default, catchers, has_result=has_result, takes_objects=takes_objects)
    return JsonPathProgram(state.data, rules, default, catchers)
