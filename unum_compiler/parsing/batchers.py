"""``ItemBatcher`` of a distributed Map.

Source of the rules: AWS Step Functions Developer Guide, "ItemBatcher (Map)".
"""

from collections.abc import Mapping

from unum_compiler.parsing.object_reader import Check, Part

SIZES = ("MaxItemsPerBatch", "MaxInputBytesPerBatch")


def check_batcher(part: Part, field: str, checks: Mapping[str, Check]) -> None:
    """Report mistakes in the batcher in `field`.

    Args:
        part: the Map.
        field: name of the batcher's field.
        checks: check of every field that a batcher has in the Map's query language.
    """
    batcher = part.inner(field)
    if batcher is None:
        return
    batcher.check_names(field, checks)
    for size in SIZES:
        batcher.not_both(size, f"{size}Path")
    if not batcher.has(*SIZES, *(f"{size}Path" for size in SIZES)):
        batcher.report.mistake(batcher.place, f"expected {' or '.join(SIZES)}, or both; got none")
    for name in batcher.fields.keys() & checks.keys():
        checks[name](batcher, name)
