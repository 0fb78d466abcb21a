"""What the branches of a Map begin with: its items, selected anew one by one, then put together in batches.

(Developer guide, Map state input and output fields: ItemsPath, ItemSelector, ItemBatcher.)
"""

from collections.abc import Mapping

from unum_runtime.asl.batches import batches
from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonpath.dataflow import select
from unum_runtime.asl.jsonpath.templates import Template
from unum_runtime.asl.numbers import number
from unum_runtime.asl.states_errors import RuntimeFailure, excerpt
from unum_runtime.cold_start.records import replace
from unum_runtime.model.ir import Json


def listed(found: Json, path: str) -> list[dict[str, Json]]:
    """The items of `found`, each as ``$$.Map.Item`` shows it, but for its ``Index``.

    An object's items are its fields (developer guide, ItemsPath).

    Raises:
        RuntimeFailure: it is neither an array nor an object.
    """
    if isinstance(found, list):
        return [{"Value": value} for value in found]
    if isinstance(found, dict):
        return [{"Key": key, "Value": value} for key, value in found.items()]
    cause = f"Reference path {path!r} must point to an array or an object, but found {excerpt(found)}"
    raise RuntimeFailure(cause)


def entered(
    items: list[dict[str, Json]], selector: Template | None, data: Json, context: ExpressionContext
) -> list[Json]:
    """What a branch gets for each of `items`: the value, the pair of key and value, or what `selector` makes of it.

    Args:
        items: as `listed` gives them.
        selector: ``ItemSelector``.
        data: the Map's input after InputPath, which the selector's ``$`` stands for.
        context: the Map's surroundings.

    Raises:
        RuntimeFailure: a path of the selector leads to nothing.
    """
    if selector is None:
        return [item if "Key" in item else item["Value"] for item in items]
    return [selector.render(data, _beside(context, index, item)) for index, item in enumerate(items)]


def _beside(context: ExpressionContext, index: int, item: dict[str, Json]) -> ExpressionContext:
    """The surroundings of one item, with random numbers of its own."""
    shown = {**context.context_object, "Map": {"Item": {"Index": index, **item}}}
    return replace(context, context_object=shown, seed=f"{context.seed}/{index}")


def batched(values: list[Json], batcher: Mapping[str, Json], data: Json, context: ExpressionContext) -> list[Json]:
    """`values` in the batches that ``ItemBatcher`` asks for.

    An item that is too large for a batch of its own is one all the same.

    Raises:
        RuntimeFailure: a path of the batcher leads to nothing, or to no such number.
    """
    most, most_bytes = (
        number(batcher, field, lambda path: select(path, data, context))
        for field in ("MaxItemsPerBatch", "MaxInputBytesPerBatch")
    )
    common = {"BatchInput": Template(batcher["BatchInput"]).render(data, context)} if "BatchInput" in batcher else {}
    return batches(values, most_items=most, most_bytes=most_bytes, extra=common)
