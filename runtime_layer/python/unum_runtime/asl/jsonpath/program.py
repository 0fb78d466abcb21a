"""A state's fields in JSONPath, ready to run: the one implementation of `Program` for this query language."""

from collections.abc import Mapping, Sequence

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonpath.conditions import Condition, choose
from unum_runtime.asl.jsonpath.dataflow import DataFlow, effective_input, output, place, select
from unum_runtime.asl.jsonpath.expressions import compile_expression
from unum_runtime.asl.jsonpath.items import batched, entered, listed
from unum_runtime.asl.jsonpath.templates import Template
from unum_runtime.asl.numbers import number
from unum_runtime.asl.program import StateOutput
from unum_runtime.asl.states_errors import RuntimeFailure, excerpt
from unum_runtime.asl.timestamps import milliseconds, parse_timestamp
from unum_runtime.model.ir import Catcher, Json

_ASSIGN = "Assign"
_ROOT = "$"


class JsonPathProgram:
    """The fields of one state; see `Program` for what its methods do.

    In ``Assign``, ``$`` is what the state's work came to: the result of a Task, Map or Parallel as it was before
    ResultSelector, of a Pass its result, of all others the input after InputPath; in a catcher the error output.
    What a state assigns is not visible in the state itself (developer guide, Passing data between states with
    variables; executions recorded from AWS).

    Args:
        data: the state's fields, as in the definition.
        rules: of a Choice: (rule, name of the state to go to).
        default: of a Choice: where to go when no rule holds.
        catchers: what becomes of errors.
    """

    def __init__(
        self,
        data: Mapping[str, Json],
        rules: Sequence[tuple[Mapping[str, Json], str]] = (),
        default: str | None = None,
        catchers: Sequence[Catcher] = (),
    ) -> None:
        self.takes_input = data.keys().isdisjoint(("InputPath", "Parameters"))
        self.gives_result = data.keys().isdisjoint(("ResultSelector", "ResultPath", "OutputPath", _ASSIGN))
        self._data = data
        self._flow = DataFlow.of(data)
        self._assign = _template(data, _ASSIGN)
        self._selector = _template(data, "ItemSelector")
        self._rules = tuple((Condition(rule), (target, _template(rule, _ASSIGN))) for rule, target in rules)
        self._default = (default, self._assign) if default is not None else None
        self._catchers = tuple(
            (catcher.data.get("ResultPath", _ROOT), _template(catcher.data, _ASSIGN)) for catcher in catchers
        )

    def arguments(self, raw: Json, context: ExpressionContext) -> Json:
        """`raw` after InputPath and Parameters."""
        return effective_input(self._flow, raw, context)

    def output(self, raw: Json, result: Json, context: ExpressionContext) -> StateOutput:
        """`result` after ResultSelector, ResultPath and OutputPath, and the variables with what Assign says."""
        result = self._data.get("Result", result)
        return StateOutput(output(self._flow, raw, result, context), _assigned(self._assign, result, context))

    def choose(self, raw: Json, context: ExpressionContext) -> tuple[str, StateOutput]:
        """Where the first rule that holds leads; its Assign counts, and the state's only if none holds."""
        effective = effective_input(self._flow, raw, context)
        target, assign = choose(self._rules, self._default, effective, context)
        return target, StateOutput(output(self._flow, raw, effective, context), _assigned(assign, effective, context))

    def catch(self, position: int, raw: Json, error: Mapping[str, str], context: ExpressionContext) -> StateOutput:
        """`raw` with `error` at the catcher's ResultPath; the state's own paths do not apply."""
        result_path, assign = self._catchers[position]
        found = dict(error)
        return StateOutput(place(result_path, raw, found), _assigned(assign, found, context))

    def items(self, raw: Json, context: ExpressionContext, read: list[Json] | None = None) -> list[Json]:
        """The inputs of the branches for what ItemsPath selects, or for what was read."""
        data = self._selected(raw, context)
        path = self._data.get("ItemsPath", _ROOT)
        found = select(path, data, context) if read is None else read
        values = entered(listed(found, path), self._selector, data, context)
        batcher = self._data.get("ItemBatcher")
        return values if batcher is None else batched(values, batcher, data, context)

    def number(self, field: str, raw: Json, context: ExpressionContext) -> float | None:
        """What the field says, or its path in the input after InputPath."""
        return number(self._data, field, lambda path: select(path, self._selected(raw, context), context))

    def until_ms(self, raw: Json, context: ExpressionContext) -> int:
        """So many seconds from now, or the moment of the timestamp."""
        seconds = self.number("Seconds", raw, context)
        if seconds is not None:
            return context.now_ms + int(seconds * 1000)
        if "Timestamp" in self._data:
            return _milliseconds(self._data["Timestamp"], "Timestamp")
        path = self._data["TimestampPath"]
        return _milliseconds(select(path, self._selected(raw, context), context), f"TimestampPath {path!r}")

    def failure(self, raw: Json, context: ExpressionContext) -> tuple[str | None, str | None]:
        """What Error and Cause say, or the expressions in ErrorPath and CausePath."""
        return self._said("Error", raw, context), self._said("Cause", raw, context)

    def _selected(self, raw: Json, context: ExpressionContext) -> Json:
        path = self._flow.input_path
        return {} if path is None else select(path, raw, context)

    def _said(self, field: str, raw: Json, context: ExpressionContext) -> str | None:
        path = f"{field}Path"
        if path not in self._data:
            return self._data.get(field)
        text = self._data[path]
        value = compile_expression(text, field=path)(raw, context)
        if not isinstance(value, str):
            raise RuntimeFailure(f"The {path} field must lead to a string: at {text!r} is {excerpt(value)}")
        return value


def _template(fields: Mapping[str, Json], name: str) -> Template | None:
    return Template(fields[name]) if name in fields else None


def _assigned(assign: Template | None, data: Json, context: ExpressionContext) -> Mapping[str, Json]:
    return context.variables if assign is None else {**context.variables, **assign.render(data, context)}


def _milliseconds(value: Json, where: str) -> int:
    moment = parse_timestamp(value)
    if moment is None:
        allowed = "a timestamp like '2016-03-14T01:59:00Z'"
        raise RuntimeFailure(f"{where}: expected {allowed}, found {excerpt(value)}")
    return milliseconds(moment)
