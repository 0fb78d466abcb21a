"""Fields of a JSONata state. Source: specification, "Input and Output Processing with JSONata"."""

from collections.abc import Mapping, Sequence

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.item_sources import batches, item_fields, plain_item, state_items
from unum_runtime.asl.jsonata.expression_fields import Template, inside
from unum_runtime.asl.jsonata.names import Names
from unum_runtime.asl.jsonata.query_errors import QueryEvaluationError
from unum_runtime.asl.numbers import BOUNDS, deployed_number, is_number
from unum_runtime.asl.program import StateOutput
from unum_runtime.asl.states_errors import NoChoiceMatched
from unum_runtime.asl.timestamps import parse_timestamp, to_milliseconds
from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.model.states import Catcher, Json


class _Exit(NamedTuple):
    """Output and Assign of a state, a rule or a catcher."""

    output: Template | None
    assign: Template | None

    @classmethod
    def of(cls, fields: Mapping[str, Json], prefix: str = "") -> "_Exit":
        return cls(_template(fields, "Output", prefix), _template(fields, "Assign", prefix))

    def evaluate(self, default: Json, names: Names) -> StateOutput:
        value = default if self.output is None else self.output.evaluate(names)
        variables = names.context.variables
        return StateOutput(value, variables if self.assign is None else {**variables, **self.assign.evaluate(names)})


class JsonataProgram:
    """Fields of one JSONata state; see `unum_runtime.asl.program.Program` for the methods."""

    def __init__(
        self,
        data: Mapping[str, Json],
        rules: Sequence[tuple[Mapping[str, Json], str]] = (),
        default: str | None = None,
        catchers: Sequence[Catcher] = (),
        *,
        has_result: bool = True,
        takes_objects: bool = False,
    ) -> None:
        """Create templates; each is compiled at its first evaluation.

        Args:
            data: fields of the state in the definition.
            rules: pairs of rule and next state of a Choice.
            default: next state of a Choice if no rule holds.
            catchers: catchers of the state.
            has_result: True for Task, Parallel and Map; only these have ``$states.result``.
            takes_objects: True for a distributed Map, which accepts an object's fields as items.
        """
        self.takes_input = "Arguments" not in data
        self.gives_result = data.keys().isdisjoint(("Output", "Assign"))
        self._data = data
        self._fields = {name: Template(value, name) for name, value in data.items()} | _batcher(data)
        self._exit = _Exit.of(data)
        self._rules = [
            (Template(rule["Condition"], f"Choices/{index}/Condition"), _Exit.of(rule, f"Choices/{index}/"), target)
            for index, (rule, target) in enumerate(rules)
        ]
        self._default = default
        self._catchers = [_Exit.of(catcher.data, f"Catch/{index}/") for index, catcher in enumerate(catchers)]
        self._has_result = has_result
        self._takes_objects = takes_objects

    def arguments(self, raw: Json, context: ExpressionContext) -> Json:
        """See `Program.arguments`."""
        return self._evaluate("Arguments", _names(raw, context), raw)

    def output(self, raw: Json, result: Json, context: ExpressionContext) -> StateOutput:
        """See `Program.output`."""
        return self._exit.evaluate(result, _names(raw, context, **({"result": result} if self._has_result else {})))

    def choose(self, raw: Json, context: ExpressionContext) -> tuple[str, StateOutput]:
        """See `Program.choose`; the state's own Output and Assign are for the Default."""
        names = _names(raw, context)
        for condition, own, target in self._rules:
            if _evaluate_as(bool, "boolean", condition, names):
                return target, own.evaluate(raw, names)
        if self._default is None:
            raise NoChoiceMatched
        return self._default, self._exit.evaluate(raw, names)

    def catch(
        self, position: int, raw: Json, error: Mapping[str, str | None], context: ExpressionContext
    ) -> StateOutput:
        """See `Program.catch`."""
        return self._catchers[position].evaluate(dict(error), _names(raw, context, errorOutput=dict(error)))

    def items(self, raw: Json, context: ExpressionContext, read: Json = None) -> list[Json]:
        """See `Program.items`."""
        names = _names(raw, context)
        items = self._map_items(names) if read is None else item_fields(read)
        selector = self._fields.get("ItemSelector")
        if selector is None:
            inputs = [plain_item(item) for item in items]
        else:
            inputs = [selector.evaluate(names.for_item({"Index": index, **item})) for index, item in enumerate(items)]
        return self._batch(inputs, names) if "ItemBatcher" in self._data else inputs

    def number(self, field: str, raw: Json, context: ExpressionContext) -> float | None:
        """See `Program.number`."""
        return self._number(field, _names(raw, context))

    def until_ms(self, raw: Json, context: ExpressionContext) -> int:
        """See `Program.until_ms`."""
        names = _names(raw, context)
        seconds = self._number("Seconds", names)
        if seconds is not None:
            return context.now_ms + int(seconds) * 1000
        return _evaluate_timestamp(self._fields["Timestamp"], names)

    def failure(self, raw: Json, context: ExpressionContext) -> tuple[str | None, str | None]:
        """See `Program.failure`."""
        names = _names(raw, context)
        return self._text("Error", names), self._text("Cause", names)

    def _evaluate(self, field: str, names: Names, default: Json = None) -> Json:
        return self._fields[field].evaluate(names) if field in self._fields else default

    def _text(self, field: str, names: Names) -> str | None:
        return _evaluate_as(str, "string", self._fields[field], names) if field in self._fields else None

    def _number(self, field: str, names: Names) -> int | float | None:
        template, name = self._fields.get(field), field.rpartition("/")[2]
        if template is None:
            return None
        if isinstance(template.raw, str) and inside(template.raw) is None:
            return deployed_number(name, template.raw)
        value, bounds = template.evaluate(names), BOUNDS[name]
        if not is_number(value):
            raise QueryEvaluationError.unexpected(template.text, field, "number", value)
        if not bounds.allow(value):
            raise QueryEvaluationError.out_of_range(template.text, field, str(bounds), value)
        return int(value) if bounds.is_whole else value

    def _map_items(self, names: Names) -> list[dict[str, Json]]:
        """Return the items in the form of ``$states.context.Map.Item`` without ``Index``."""
        template = self._fields.get("Items", _WHOLE_INPUT)
        found = template.evaluate(names)
        items = state_items(found, takes_objects=self._takes_objects)
        if items is None:
            raise QueryEvaluationError.unexpected(template.text, template.field, "array", found)
        return items

    def _batch(self, items: list[Json], names: Names) -> list[Json]:
        extra = self._fields.get("ItemBatcher/BatchInput")
        return batches(
            items,
            most_items=self._number("ItemBatcher/MaxItemsPerBatch", names),
            most_bytes=self._number("ItemBatcher/MaxInputBytesPerBatch", names),
            extra={} if extra is None else {"BatchInput": extra.evaluate(names)},
        )


_WHOLE_INPUT = Template("{% $states.input %}", "Items")


def _names(raw: Json, context: ExpressionContext, **states: Json) -> Names:
    return Names({"input": raw, "context": dict(context.context_object), **states}, context)


def _template(fields: Mapping[str, Json], name: str, prefix: str) -> Template | None:
    return Template(fields[name], prefix + name) if name in fields else None


def _batcher(data: Mapping[str, Json]) -> dict[str, Template]:
    fields = {f"ItemBatcher/{name}": value for name, value in data.get("ItemBatcher", {}).items()}
    return {name: Template(value, name) for name, value in fields.items()}


def _evaluate_as(kind: type, expected: str, template: Template, names: Names) -> Json:
    value = template.evaluate(names)
    if not isinstance(value, kind):
        raise QueryEvaluationError.unexpected(template.text, template.field, expected, value)
    return value


def _evaluate_timestamp(template: Template, names: Names) -> int:
    text = _evaluate_as(str, "string", template, names)
    instant = parse_timestamp(text)
    if instant is None:
        raise QueryEvaluationError.out_of_range(template.text, template.field, "a timestamp of RFC 3339", text)
    return to_milliseconds(instant)
