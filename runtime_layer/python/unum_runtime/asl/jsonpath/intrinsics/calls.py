"""Compiler of intrinsic function calls."""

from itertools import count

from unum_runtime.asl.expression_context import Expression, ExpressionContext
from unum_runtime.asl.jsonpath.intrinsics.implementations import FUNCTIONS, Argument, Call, Literal, parse_call
from unum_runtime.asl.jsonpath.paths import Path, path_reader
from unum_runtime.asl.states_errors import IntrinsicFailure
from unum_runtime.model.states import Json


def compile_call(text: str) -> Expression:
    """Compile the call in `text`.

    Raises:
        PathSyntaxError: `text` is not a call of an intrinsic function.
    """
    return _call(parse_call(text), text)


def paths_in(text: str) -> tuple[Path, ...]:
    """Return all paths among the arguments in `text`.

    Raises:
        PathSyntaxError: `text` is not a call of an intrinsic function.
    """
    return tuple(_paths(parse_call(text)))


def _paths(part: Argument) -> list[Path]:
    if isinstance(part, Call):
        return [path for argument in part.arguments for path in _paths(argument)]
    return [part] if isinstance(part, Path) else []


def _argument(part: Argument, whole: str) -> Expression:
    if isinstance(part, Call):
        return _call(part, whole)
    if isinstance(part, Literal):
        return lambda _data, _context: part.value
    # The subject is made at an error alone: together, those of many arguments would be far longer than the call.
    return path_reader(
        part,
        lambda: f"The function '{whole}' had the following error: The JsonPath argument for the field '{part.text}'",
    )


def _call(call: Call, whole: str) -> Expression:
    function = FUNCTIONS[call.name]
    find_fault = function.signature.find_fault
    arguments = tuple(_argument(part, whole) for part in call.arguments)

    def evaluate(data: Json, context: ExpressionContext) -> Json:
        values = [argument(data, context) for argument in arguments]
        fault = next(filter(None, map(find_fault, count(), values)), None)
        try:
            if fault is None:
                return function.call(context, *values)
        except (ValueError, OverflowError, RecursionError) as error:
            fault = str(error)
        raise IntrinsicFailure(f"Invalid arguments in {call.name}: {fault}; in {whole}")

    return evaluate
