"""Branch inputs of a Map: items, ItemSelector, ItemBatcher.

Source: Step Functions Developer Guide, "Map state input and output fields".
"""

from collections.abc import Mapping

from unum_runtime.asl.batches import batches
from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.item_sources import STATE_DATA, plain_item
from unum_runtime.asl.jsonpath.dataflow import select
from unum_runtime.asl.jsonpath.templates import Template
from unum_runtime.asl.numbers import read_number
from unum_runtime.asl.states_errors import RuntimeFailure, excerpt
from unum_runtime.cold_start.records import replace
from unum_runtime.model.states import Json


def map_items(found: Json, path: str, *, takes_objects: bool) -> list[dict[str, Json]]:
    """Convert `found`, the value at `path`, to items like ``$$.Map.Item`` without ``Index``.

    The items of an object are its fields. The Developer Guide ("ItemsPath") allows objects in every Map, but Step
    Functions was observed to fail in an inline Map, with this cause.

    Raises:
        RuntimeFailure: `found` is no array, and no object in a Map that `takes_objects`.
    """
    if isinstance(found, list):
        return [{"Value": value, "Source": STATE_DATA} for value in found]
    if takes_objects and isinstance(found, dict):
        return [{"Key": key, "Value": value, "Source": STATE_DATA} for key, value in found.items()]
    allowed = "array or object" if takes_objects else "array"
    raise RuntimeFailure(f"Reference path {path!r} must point to {allowed}, but found {excerpt(found)}")


def branch_inputs(
    items: list[dict[str, Json]], selector: Template | None, data: Json, context: ExpressionContext
) -> list[Json]:
    """Return one input per item: `selector` applied to the item, or the value, or the pair of key and value.

    Args:
        items: result of `map_items`.
        selector: ``ItemSelector``; None without one.
        data: the Map's input after InputPath, ``$`` of the selector.
        context: context of the Map.

    Raises:
        RuntimeFailure: a path of the selector has no value.
    """
    if selector is None:
        return [plain_item(item) for item in items]
    return [selector.render(data, _item_context(context, index, item)) for index, item in enumerate(items)]


def _item_context(context: ExpressionContext, index: int, item: dict[str, Json]) -> ExpressionContext:
    """Return the context of one item with separate random numbers."""
    shown = {**context.context_object, "Map": {"Item": {"Index": index, **item}}}
    return replace(context, context_object=shown, seed=f"{context.seed}/{index}")


def batch_inputs(values: list[Json], batcher: Mapping[str, Json], data: Json, context: ExpressionContext) -> list[Json]:
    """Return `values` in batches according to ``ItemBatcher``; items beyond the size limit form single batches.

    Raises:
        RuntimeFailure: a path of the batcher has no value or no valid number.
    """
    most, most_bytes = (
        read_number(batcher, field, lambda path: select(path, data, context))
        for field in ("MaxItemsPerBatch", "MaxInputBytesPerBatch")
    )
    common = {"BatchInput": Template(batcher["BatchInput"]).render(data, context)} if "BatchInput" in batcher else {}
    return batches(values, most_items=most, most_bytes=most_bytes, extra=common)
