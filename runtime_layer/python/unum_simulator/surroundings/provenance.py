"""Provenance of values: what enters user code comes from committed outcomes of its own execution, and stays the same.

Values are traced by stamps: user code of a test puts a text under `STAMP` into its result that no other run produces.
"""

from collections.abc import Iterator

from unum_runtime.json_text import to_text
from unum_runtime.model.naming import execution_partition
from unum_runtime.model.states import Json
from unum_simulator.observed import Observed
from unum_simulator.world import World

STAMP = "stamp"


def stamps(value: Json) -> Iterator[str]:
    """Yield all stamps in `value`, nested ones included."""
    if isinstance(value, dict):
        if STAMP in value:
            yield value[STAMP]
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from stamps(each)


def unknown_stamps(world: World, event: Json) -> list[str]:
    """Return the stamps in `event` that no commit of the execution in focus contains, and not its input either."""
    found = set(stamps(event))
    if not found:
        return []
    known = [to_text(world.own.value), *_committed(world, world.own)]
    return sorted(stamp for stamp in found if not any(stamp in text for text in known))


def _committed(world: World, seen: Observed) -> Iterator[str]:
    own = execution_partition(world.scenario.workflow.name, seen.execution)
    for key, record in world.records.items():
        if key.partition == own or key.partition.startswith(f"{own}/"):
            yield str(record.item.get("value", ""))
    # The request for a fork may give the input of its first own step.
    if seen.fork is not None and seen.fork.value is not None:
        yield seen.fork.value.text
