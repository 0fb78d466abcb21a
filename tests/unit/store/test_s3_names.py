"""Names of objects are injective, keep IAM's prefixes and the order of keys, and fit into S3's limit."""

from hypothesis import given
from hypothesis import strategies as st

from unum_runtime.features.bucket_state import s3_names as names
from unum_runtime.features.document_stores.conditional import Addition
from unum_runtime.model.naming import Key

PARTS = st.text("ab0/=%:~#.é ", max_size=12)


@given(PARTS, PARTS.filter(bool), PARTS, PARTS.filter(bool))
def test_two_keys_of_workflows_never_share_a_name(partition: str, sort: str, other: str, other_sort: str) -> None:
    one, two = Key(partition.replace("/=", ""), sort), Key(other.replace("/=", ""), other_sort)
    assert (names.item_name(one) == names.item_name(two)) == (one == two)
    assert names.sort_in(names.item_name(one), one.partition) == sort


def test_long_partitions_keep_their_workflow_and_are_told_apart() -> None:
    long = [Key(f"wf/e/{'é' * 500}{end}", "000000001") for end in "ab"]
    found = [names.item_name(key) for key in long]
    assert len({*found}) == 2
    assert all(name.startswith(names.item_prefix("wf/#")) and len(name.encode()) < 200 for name in found)
    assert [names.sort_in(name, key.partition) for name, key in zip(found, long, strict=True)] == ["000000001"] * 2


@given(st.sets(st.integers(0, 300), min_size=1, max_size=256), st.integers(0, 2**42), st.integers(0, 2**42))
def test_additions_are_read_from_their_names(members: set[int], at_ms: int, expires_at_ms: int) -> None:
    addition = Addition(at_ms, expires_at_ms, frozenset(members))
    set_name = names.item_name(Key("w/e:1/done", "done"))
    name = names.addition_name(set_name, addition)
    assert names.addition_of(name) == addition
    assert [names.is_addition(each, "w/e:1/done") for each in (set_name, name)] == [False, True]


def test_entries_have_the_order_of_places() -> None:
    places = ["001/a", "001/a!", "001/a-b", "001/ab", "002/a"]
    found = [names.entry_name("p", place, Key("start:w/a", "start")) for place in places]
    assert sorted(found) == found
    assert [names.entry_of(name, "p") for name in found] == [(place, Key("start:w/a", "start")) for place in places]


def test_an_entry_names_the_key_of_its_item_whatever_that_has() -> None:
    for listed in (Key("start:w/a", "x y"), Key("w/=a", "1/=2"), Key("w/a", " ")):
        assert names.entry_of(names.entry_name("p", "001/a", listed), "p") == ("001/a", listed)
