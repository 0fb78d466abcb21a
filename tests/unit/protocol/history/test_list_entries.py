"""Index entries of executions: what is none of the workflow's own is left out, and reported if somebody asks."""

from unum_runtime.model.checkpoint import Item, start_record
from unum_runtime.model.list_index import SHARDS, Kind, partition, place, stored_item
from unum_runtime.model.naming import Execution, Key, start_key
from unum_runtime.protocol.history.list_entries import Listed
from unum_simulator.memory_store import MemoryStore

FAR = 10**10


def test_entries_of_others_are_left_out_with_a_report_and_without() -> None:
    store = MemoryStore()
    own = Execution("own", 1_800_000_000_000)
    store.create(start_key("w", "own"), stored_item("w", start_record(own, None)), expires_at_s=FAR)
    for shard in range(SHARDS):
        alien: Item = {"list": partition("w", Kind.STARTED, shard), "list_at": place(Execution("alien", shard))}
        store.create(Key("other", str(shard)), alien, expires_at_s=FAR)
    reported: list[Key] = []
    for listed in (Listed(store, "w"), Listed(store, "w", lambda key, _item: reported.append(key))):
        assert [*listed.newest("~", 10)] == [*listed.oldest(Kind.STARTED)] == [place(own)]
    assert sorted(reported) == sorted([Key("other", str(shard)) for shard in range(SHARDS)] * 2)
