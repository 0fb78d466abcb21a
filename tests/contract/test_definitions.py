"""Definition records in each store, with and without a payload bucket."""

import zlib
from dataclasses import replace

import pytest

from tests.contract.conftest import MovableClock
from tests.unit.protocol.platform import Platform, chain
from unum_runtime.errors import DefinitionNotStored
from unum_runtime.model.naming import definition_partition
from unum_runtime.protocol.requests.definition_records import read_definition, write_definition
from unum_runtime.store.base import Store
from unum_runtime.store.large_items import LargeItems
from unum_simulator.memory_store import MemoryObjects

NOISE = "".join(f"{zlib.crc32(str(number).encode()):x}" for number in range(120_000))
"""Text that stays larger than an item, compressed as well."""


@pytest.mark.parametrize("with_bucket", [False, True])
@pytest.mark.parametrize(("comment", "items"), [("small", 1), (NOISE, 2)], ids=["small", "large"])
def test_a_definition_is_kept_while_it_is_needed(
    store: Store, clock: MovableClock, comment: str, items: int, *, with_bucket: bool
) -> None:
    platform = Platform.of(chain("A"), A=lambda event: event)
    first = replace(platform.workflow.states["A"], data={"Comment": comment})
    workflow = replace(platform.workflow, states={"A": first})
    used = LargeItems(store, MemoryObjects(), "w") if with_bucket else store
    rt = replace(platform.runtime(), workflow=workflow, store=used, clock=clock)
    for _ in range(2):
        write_definition(rt)
    assert len(store.query(definition_partition("w", workflow.digest))) == items
    clock.pass_seconds(2 * rt.retention_s)
    assert read_definition(used, "w", workflow.digest).to_json() == workflow.to_json()
    clock.pass_seconds(3 * 86_400)
    with pytest.raises(DefinitionNotStored):
        read_definition(used, "w", workflow.digest)
