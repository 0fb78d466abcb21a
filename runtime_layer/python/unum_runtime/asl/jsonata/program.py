"""The fields of a JSONata state, run (specification, Input and Output Processing with JSONata)."""

from collections.abc import Mapping, Sequence

from unum_runtime.asl.batches import MOST_BYTES, batches
from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonata.names import Names
from unum_runtime.asl.jsonata.query_errors import QueryEvaluationError
from unum_runtime.asl.jsonata.templates import Template, inside
from unum_runtime.asl.numbers import given
from unum_runtime.asl.program import StateOutput
from unum_runtime.asl.states_errors import NoChoiceMatched
from unum_runtime.asl.timestamps import milliseconds, parse_timestamp
from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.model.ir import Catcher, Json

_MAX_SECONDS = 99_999_999


class _Limits(NamedTuple):
    """What a number must be."""

    low: int
    high: float = float("inf")
    whole: bool = True

    def __str__(self) -> str:
        kind = "an integer" if self.whole else "a number"
        return f"{kind} from {self.low} to {self.high}" if self.high != float("inf") else f"{kind} from {self.low} up"


_LIMITS = {
    "Seconds": _Limits(0, _MAX_SECONDS),
    "TimeoutSeconds": _Limits(1, _MAX_SECONDS),
    "HeartbeatSeconds": _Limits(1, _MAX_SECONDS),
    "MaxConcurrency": _Limits(0),
    "ToleratedFailureCount": _Limits(0),
    "ToleratedFailurePercentage": _Limits(0, 100, whole=False),
    "ItemBatcher/MaxItemsPerBatch": _Limits(1),
    "ItemBatcher/MaxInputBytesPerBatch": _Limits(1, MOST_BYTES),
}
"""Of the fields that hold numbers (specification; developer guide, Wait, Task and Map workflow states)."""


class _Ways(NamedTuple):
    """What a state, a rule or a catcher says about how it is left."""

    output: Template | None
    assign: Template | None

    @classmethod
    def of(cls, fields: Mapping[str, Json], prefix: str = "") -> "_Ways":
        return cls(_template(fields, "Output", prefix), _template(fields, "Assign", prefix))

    def left(self, default: Json, names: Names) -> StateOutput:
        value = default if self.output is None else self.output.evaluate(names)
        variables = names.context.variables
        return StateOutput(value, variables if self.assign is None else {**variables, **self.assign.evaluate(names)})


class JsonataProgram:
    """See `unum_runtime.asl.program.Program`; every field is compiled when it is first evaluated."""

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
        """Compiles nothing yet.

        Args:
            data: the state's fields, as in the definition.
            rules: those of a Choice, and where each leads to.
            default: where a Choice goes when none holds.
            catchers: those of the state.
            has_result: the state is a Task, a Parallel or a Map; only these have ``$states.result``.
            takes_objects: the state is a distributed Map, for which the fields of an object are items.
        """
        self.takes_input = "Arguments" not in data
        self.gives_result = data.keys().isdisjoint(("Output", "Assign"))
        self._data = data
        self._fields = {name: Template(value, name) for name, value in data.items()} | _batcher(data)
        self._ways = _Ways.of(data)
        self._rules = [
            (Template(rule["Condition"], f"Choices/{index}/Condition"), _Ways.of(rule, f"Choices/{index}/"), target)
            for index, (rule, target) in enumerate(rules)
        ]
        self._default = default
        self._catchers = [_Ways.of(catcher.data, f"Catch/{index}/") for index, catcher in enumerate(catchers)]
        self._has_result = has_result
        self._takes_objects = takes_objects

    def arguments(self, raw: Json, context: ExpressionContext) -> Json:
        """See `Program.arguments`."""
        return self._evaluate("Arguments", _names(raw, context), raw)

    def output(self, raw: Json, result: Json, context: ExpressionContext) -> StateOutput:
        """See `Program.output`."""
        return self._ways.left(result, _names(raw, context, **({"result": result} if self._has_result else {})))

    def choose(self, raw: Json, context: ExpressionContext) -> tuple[str, StateOutput]:
        """See `Program.choose`. Only what the chosen rule says is evaluated; the state's own is for its default."""
        names = _names(raw, context)
        for condition, ways, target in self._rules:
            if _typed(condition, names, bool, "boolean"):
                return target, ways.left(raw, names)
        if self._default is None:
            raise NoChoiceMatched("No rule in Choices holds for the input, and there is no Default; add one, or a rule")
        return self._default, self._ways.left(raw, names)

    def catch(self, position: int, raw: Json, error: Mapping[str, str], context: ExpressionContext) -> StateOutput:
        """See `Program.catch`."""
        return self._catchers[position].left(dict(error), _names(raw, context, errorOutput=dict(error)))

    def items(self, raw: Json, context: ExpressionContext, read: list[Json] | None = None) -> list[Json]:
        """See `Program.items`."""
        names = _names(raw, context)
        items = self._listed(names) if read is None else [{"Value": item} for item in read]
        selector = self._fields.get("ItemSelector")
        if selector is None:
            inputs = [item if "Key" in item else item["Value"] for item in items]
        else:
            inputs = [selector.evaluate(names.of({"Index": index, **item})) for index, item in enumerate(items)]
        return self._batched(inputs, names) if "ItemBatcher" in self._data else inputs

    def number(self, field: str, raw: Json, context: ExpressionContext) -> float | None:
        """See `Program.number`."""
        return self._number(field, _names(raw, context))

    def until_ms(self, raw: Json, context: ExpressionContext) -> int:
        """See `Program.until_ms`."""
        names = _names(raw, context)
        seconds = self._number("Seconds", names)
        return _moment(self._fields["Timestamp"], names) if seconds is None else context.now_ms + int(seconds) * 1000

    def failure(self, raw: Json, context: ExpressionContext) -> tuple[str | None, str | None]:
        """See `Program.failure`."""
        names = _names(raw, context)
        return self._text("Error", names), self._text("Cause", names)

    def _evaluate(self, field: str, names: Names, default: Json = None) -> Json:
        return self._fields[field].evaluate(names) if field in self._fields else default

    def _text(self, field: str, names: Names) -> str | None:
        return _typed(self._fields[field], names, str, "string") if field in self._fields else None

    def _number(self, field: str, names: Names) -> int | float | None:
        template = self._fields.get(field)
        if template is None:
            return None
        if isinstance(template.raw, str) and inside(template.raw) is None:
            return given(field.rpartition("/")[2], template.raw)
        value, limits = template.evaluate(names), _LIMITS[field]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise QueryEvaluationError.unexpected(template.text, field, "number", value)
        if not limits.low <= value <= limits.high or (limits.whole and value != int(value)):
            raise QueryEvaluationError.out_of_range(template.text, field, str(limits), value)
        return int(value) if limits.whole else value

    def _listed(self, names: Names) -> list[dict[str, Json]]:
        """The items, each as ``$states.context.Map.Item`` shows it, but for its ``Index``."""
        template = self._fields.get("Items", _WHOLE_INPUT)
        found = template.evaluate(names)
        if isinstance(found, list):
            return [{"Value": value} for value in found]
        if isinstance(found, dict) and self._takes_objects:
            return [{"Key": key, "Value": value} for key, value in found.items()]
        raise QueryEvaluationError.unexpected(template.text, template.field, "array", found)

    def _batched(self, items: list[Json], names: Names) -> list[Json]:
        most_items = self._number("ItemBatcher/MaxItemsPerBatch", names)
        most_bytes = self._number("ItemBatcher/MaxInputBytesPerBatch", names)
        extra = self._fields.get("ItemBatcher/BatchInput")
        return batches(
            items,
            most_items=None if most_items is None else int(most_items),
            most_bytes=None if most_bytes is None else int(most_bytes),
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


def _typed(template: Template, names: Names, kind: type, expected: str) -> Json:
    value = template.evaluate(names)
    if not isinstance(value, kind):
        raise QueryEvaluationError.unexpected(template.text, template.field, expected, value)
    return value


def _moment(template: Template, names: Names) -> int:
    text = _typed(template, names, str, "string")
    moment = parse_timestamp(text)
    if moment is None:
        raise QueryEvaluationError.out_of_range(template.text, template.field, "a timestamp of RFC 3339", text)
    return milliseconds(moment)
