"""Fields of a JSONPath state; implementation of `Program` for this query language."""

from collections.abc import Mapping, Sequence

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.item_sources import batches, item_fields, plain_item, state_items
from unum_runtime.asl.jsonpath.conditions import Condition, choose
from unum_runtime.asl.jsonpath.dataflow import (
    DataFlow,
    apply_result_path,
    effective_input,
    output,
    select,
    select_or_empty,
)
from unum_runtime.asl.jsonpath.path_syntax import PathSyntaxError
from unum_runtime.asl.jsonpath.templates import Template, compile_expression, template_field
from unum_runtime.asl.numbers import read_number
from unum_runtime.asl.program import StateOutput
from unum_runtime.asl.states_errors import RuntimeFailure, excerpt
from unum_runtime.asl.timestamps import parse_timestamp, to_milliseconds
from unum_runtime.cold_start.records import replace
from unum_runtime.model.states import Catcher, Json

_ASSIGN = "Assign"
_ROOT = "$"


class JsonPathProgram:
    """Fields of one JSONPath state; see `Program` for the methods.

    ``$`` in ``Assign`` is the result of a Task, Map or Parallel before ResultSelector, the result of a Pass, the error
    output in a catcher, and the input after InputPath in other states. A state does not see its own assignments.
    Sources: Step Functions Developer Guide, "Passing data between states with variables"; recorded executions.

    Args:
        data: fields of the state in the definition.
        rules: pairs of rule and next state of a Choice.
        default: next state of a Choice if no rule holds.
        catchers: catchers of the state.
        takes_objects: True for a distributed Map, which accepts an object's fields as items.
    """

    def __init__(
        self,
        data: Mapping[str, Json],
        rules: Sequence[tuple[Mapping[str, Json], str]] = (),
        default: str | None = None,
        catchers: Sequence[Catcher] = (),
        *,
        takes_objects: bool = False,
    ) -> None:
        self.takes_input = data.keys().isdisjoint(("InputPath", "Parameters"))
        self.gives_result = data.keys().isdisjoint(("ResultSelector", "ResultPath", "OutputPath", _ASSIGN))
        self._data = data
        self._takes_objects = takes_objects
        self._flow = DataFlow.of(data)
        self._assign = template_field(data, _ASSIGN)
        self._selector = template_field(data, "ItemSelector")
        self._rules = tuple((Condition(rule), (target, template_field(rule, _ASSIGN))) for rule, target in rules)
        self._default = (default, self._assign) if default is not None else None
        self._catchers = tuple(
            (catcher.data.get("ResultPath", _ROOT), template_field(catcher.data, _ASSIGN)) for catcher in catchers
        )

    def arguments(self, raw: Json, context: ExpressionContext) -> Json:
        """Return `raw` after InputPath and Parameters."""
        return effective_input(self._flow, raw, context)

    def output(self, raw: Json, result: Json, context: ExpressionContext) -> StateOutput:
        """Return `result` after ResultSelector, ResultPath and OutputPath, and the variables after Assign."""
        result = self._data.get("Result", result)
        return StateOutput(output(self._flow, raw, result, context), _variables(self._assign, result, context))

    def choose(self, raw: Json, context: ExpressionContext) -> tuple[str, StateOutput]:
        """Return target and Assign of the first matching rule, or Default with the state's Assign."""
        effective = effective_input(self._flow, raw, context)
        target, assign = choose(self._rules, self._default, effective, context)
        return target, StateOutput(output(self._flow, raw, effective, context), _variables(assign, effective, context))

    def catch(
        self, position: int, raw: Json, error: Mapping[str, str | None], context: ExpressionContext
    ) -> StateOutput:
        """Return `raw` with `error` at the catcher's ResultPath; the state's own paths do not apply."""
        result_path, assign = self._catchers[position]
        error_output = dict(error)
        value = apply_result_path(result_path, raw, error_output)
        return StateOutput(value, _variables(assign, error_output, context))

    def items(self, raw: Json, context: ExpressionContext, read: Json = None) -> list[Json]:
        """Return the branch inputs for the value at ItemsPath, or for `read`."""
        data = select_or_empty(self._flow.input_path, raw, context)
        path = self._data.get("ItemsPath", _ROOT)
        items = self._map_items(select(path, data, context), path) if read is None else item_fields(read)
        if self._selector is None:
            values = [plain_item(item) for item in items]
        else:
            values = [self._selector.render(data, _of_item(context, each, item)) for each, item in enumerate(items)]
        return self._batch(values, data, context) if "ItemBatcher" in self._data else values

    def number(self, field: str, raw: Json, context: ExpressionContext) -> float | None:
        """Return the field's number, or the number at its path in the input after InputPath."""
        return read_number(self._data, field, lambda path: self._select(path, raw, context))

    def until_ms(self, raw: Json, context: ExpressionContext) -> int:
        """Return ``now_ms`` plus seconds, or the timestamp in milliseconds."""
        seconds = self.number("Seconds", raw, context)
        if seconds is not None:
            return context.now_ms + int(seconds * 1000)
        if "Timestamp" in self._data:
            return _milliseconds(self._data["Timestamp"], "Timestamp")
        path = self._data["TimestampPath"]
        return _milliseconds(self._select(path, raw, context), f"TimestampPath {path!r}")

    def failure(self, raw: Json, context: ExpressionContext) -> tuple[str | None, str | None]:
        """Return Error and Cause, or the values of ErrorPath and CausePath."""
        return self._text("Error", raw, context), self._text("Cause", raw, context)

    def _select(self, path: str, raw: Json, context: ExpressionContext) -> Json:
        return select(path, select_or_empty(self._flow.input_path, raw, context), context)

    def _map_items(self, found: Json, path: str) -> list[dict[str, Json]]:
        """Return the items in `found`, the value at `path`, in the form of ``$$.Map.Item`` without ``Index``."""
        items = state_items(found, takes_objects=self._takes_objects)
        if items is None:
            allowed = "array or object" if self._takes_objects else "array"
            raise RuntimeFailure(f"Reference path {path!r} must point to {allowed}, but found {excerpt(found)}")
        return items

    def _batch(self, values: list[Json], data: Json, context: ExpressionContext) -> list[Json]:
        batcher: Mapping[str, Json] = self._data["ItemBatcher"]
        most, most_bytes = (
            read_number(batcher, field, lambda path: select(path, data, context))
            for field in ("MaxItemsPerBatch", "MaxInputBytesPerBatch")
        )
        extra = {"BatchInput": Template(batcher["BatchInput"]).render(data, context)} if "BatchInput" in batcher else {}
        return batches(values, most_items=most, most_bytes=most_bytes, extra=extra)

    def _text(self, field: str, raw: Json, context: ExpressionContext) -> str | None:
        path = f"{field}Path"
        if path not in self._data:
            return self._data.get(field)
        text = self._data[path]
        try:
            value = compile_expression(text, field=path)(raw, context)
        except PathSyntaxError as error:  # the deployment filled a placeholder with text that breaks the grammar
            raise RuntimeFailure(str(error)) from None
        if not isinstance(value, str):
            raise RuntimeFailure(f"The {path} field must lead to a string: at {text!r} is {excerpt(value)}")
        return value


def _of_item(context: ExpressionContext, index: int, item: dict[str, Json]) -> ExpressionContext:
    """Return the context of one item with separate random numbers."""
    shown = {**context.context_object, "Map": {"Item": {"Index": index, **item}}}
    return replace(context, context_object=shown, seed=f"{context.seed}/{index}")


def _variables(assign: Template | None, data: Json, context: ExpressionContext) -> Mapping[str, Json]:
    return context.variables if assign is None else {**context.variables, **assign.render(data, context)}


def _milliseconds(value: Json, where: str) -> int:
    instant = parse_timestamp(value)
    if instant is None:
        raise RuntimeFailure(f"{where}: expected a timestamp like '2016-03-14T01:59:00Z', found {excerpt(value)}")
    return to_milliseconds(instant)
