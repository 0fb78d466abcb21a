"""Definitions in the store: who writes copies when, how long they last, and what a reader believes."""

import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tests.unit.protocol.counting_store import CountingStore
from tests.unit.protocol.platform import MovableClock, Platform, chain, exactly
from unum_runtime.cold_start.digest import short_digest
from unum_runtime.errors import ClientError, DefinitionNotStored, InconsistentHistory
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Key, definition_key, definition_partition
from unum_runtime.protocol.requests import definition_records
from unum_runtime.protocol.requests.definition_records import BODY, PART_BYTES, read_definition, write_definition
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S, Runtime

DAY_S = 86_400
FAR = 10**10


def platform(*states: str, **options: object) -> Platform:
    names = states or ("A", "B")
    made = Platform.of(chain(*names), None, **dict.fromkeys(names, lambda event: event))
    made.options |= options
    return made


def large_workflow() -> Workflow:
    """A definition whose compressed text exceeds an item."""
    noise = "".join(f"{zlib.crc32(str(number).encode()):x}" for number in range(120_000))
    made = platform().workflow
    return replace(made, states={**made.states, "A": replace(made.states["A"], data={"Comment": noise})})


def read_back(made: Platform) -> Workflow:
    return read_definition(made.store, "w", made.workflow.digest)


def write(rt: Runtime, text: str, *, day: int, part: int = 0) -> None:
    """Store a copy as a forger would who knows the format."""
    body = b64encode(zlib.compress(text.encode())).decode()
    key = definition_key(rt.workflow.name, rt.workflow.digest, day, part)
    rt.store.create(key, {BODY: body}, expires_at_s=FAR)


def test_what_was_written_is_read() -> None:
    made = platform()
    write_definition(made.runtime())
    assert read_back(made).to_json() == made.workflow.to_json()


def test_a_stored_definition_stays_readable() -> None:
    """Functions and clients of other releases hold this key and this item."""
    made = platform("A")
    key = Key("definition:w/92df7793f18d", "000020847.000000000")
    body = (
        "eJw1TbsOgzAM/JebM5SVrf/QHblgCiIkUeL0IcS/92iFB9tn32NDH73X3uYY0MLMw2GKqbvX4aGGtrkc5bCoptLNIVUeR/FFHYKsStGLkmKS"
        "rRP+cP1D04J2I2IbxIRzdxhjXskZ5sxMEscazuxDF/RNi1C9p0cfk57APseOm5QFO32emstP1uxfUbc/kA=="
    )
    made.memory.create(key, {"definition": body}, expires_at_s=1_801_353_600)
    assert read_definition(made.memory, "w", "92df7793f18d").to_json() == made.workflow.to_json()
    write_definition(made.runtime())
    assert [*made.memory.query(definition_partition("w", "92df7793f18d"))] == [key]


def test_a_second_write_of_the_day_only_reads() -> None:
    made = platform()
    made.store = store = CountingStore(made.memory)
    write_definition(made.runtime())
    assert store.calls == {"read": 1, "create": 1}
    made.clock.pass_seconds(3600)
    write_definition(made.runtime())
    assert store.calls == {"read": 2, "create": 1}


@pytest.mark.parametrize(("retention_s", "result_retention_s"), [(DEFAULT_RETENTION_S, None), (7200, 90 * DAY_S)])
def test_a_definition_outlives_every_item_of_its_executions(retention_s: int, result_retention_s: int | None) -> None:
    assert outlives(platform(retention_s=retention_s, result_retention_s=result_retention_s)) == []


def outlives(made: Platform) -> list[int]:
    """Seconds from the first start at which an execution has items and no definition, with a start in each hour."""
    first_ms, missing, due_ms = made.clock.ms, [], 0
    rt = made.runtime()
    for hour in range(80):
        if made.clock.ms >= due_ms:
            due_ms = write_definition(rt)
        started_ms = made.clock.ms
        made.clock.pass_seconds(3600)
        # The last commit of this execution may come at its last moment, and is kept from then on.
        last = started_ms // 1000 + rt.retention_s + max(rt.retention_s, rt.result_retention_s or 0)
        if hour % 7 == 0:
            now_ms, made.clock.ms = made.clock.ms, last * 1000
            try:
                read_back(made)
            except DefinitionNotStored:
                missing.append((started_ms - first_ms) // 1000)
            made.clock.ms = now_ms
    return missing


def test_a_writer_that_never_renews_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken variant: one copy, at the first start alone."""
    made = platform()
    write_definition(made.runtime())
    monkeypatch.setattr("tests.unit.protocol.history.test_definition_records.write_definition", lambda _rt: 0)
    assert outlives(made) != []


def test_the_time_of_the_next_write_is_within_a_day_and_needed() -> None:
    made = platform()
    due_ms = write_definition(made.runtime())
    assert 0 < due_ms - made.clock.ms <= DAY_S * 1000
    made.store = store = CountingStore(made.memory)
    made.clock.ms = due_ms - 1
    write_definition(made.runtime())
    assert store.calls["create"] == 0
    made.clock.ms = due_ms
    write_definition(made.runtime())
    assert store.calls["create"] == 1


def test_clocks_may_differ_by_a_day() -> None:
    made = platform()
    made.clock.ms = write_definition(made.runtime()) - 1000
    made.clock.pass_seconds(2 * DEFAULT_RETENTION_S + DAY_S)  # after the last item of an execution that starts now
    assert read_back(made).digest == made.workflow.digest
    made.clock.pass_seconds(1)
    with pytest.raises(DefinitionNotStored):
        read_back(made)


@pytest.mark.parametrize(
    ("result_retention_s", "kept_s"), [(None, 14_400), (3600, 14_400), (90 * DAY_S, 7776_000 + 7200)]
)
def test_a_definition_is_kept_no_longer_than_needed(result_retention_s: int | None, kept_s: int) -> None:
    made = platform(retention_s=7200, result_retention_s=result_retention_s)
    made.clock.ms = write_definition(made.runtime()) - 1000
    made.clock.pass_seconds(kept_s + DAY_S + 1)
    with pytest.raises(DefinitionNotStored):
        read_back(made)


def test_a_longer_retention_writes_a_copy_of_its_own() -> None:
    made = platform(retention_s=7200)
    write_definition(made.runtime())
    made.options["retention_s"] = 30 * DAY_S
    write_definition(made.runtime())
    made.clock.pass_seconds(59 * DAY_S)
    assert read_back(made).digest == made.workflow.digest


def test_an_expired_definition_is_none() -> None:
    made = platform(retention_s=7200)
    write_definition(made.runtime())
    made.clock.pass_seconds(3 * DAY_S)
    with pytest.raises(DefinitionNotStored, match=f"workflow 'w': expected the definition.*{made.workflow.digest}"):
        read_back(made)


def test_a_large_definition_has_parts() -> None:
    made = platform()
    made.workflow = large_workflow()
    write_definition(made.runtime())
    items = made.store.query(definition_partition("w", made.workflow.digest))
    assert len(items) > 1
    assert all(len(str(item[BODY])) <= PART_BYTES for item in items.values())
    assert read_back(made).to_json() == made.workflow.to_json()


def test_a_writer_that_died_between_parts_is_completed_by_the_next() -> None:
    made = platform()
    made.workflow = large_workflow()
    write_definition(made.runtime())
    items = made.store.query(definition_partition("w", made.workflow.digest))
    first, *_ = items
    died = platform()
    died.workflow = made.workflow
    died.store.create(first, items[first], expires_at_s=FAR)
    with pytest.raises(InconsistentHistory, match="incomplete or forged"):
        read_back(died)
    write_definition(died.runtime())
    assert read_back(died).digest == made.workflow.digest


def test_an_incomplete_copy_hides_no_earlier_one() -> None:
    made = platform()
    made.workflow = large_workflow()
    write_definition(made.runtime())
    key = definition_key("w", made.workflow.digest, 99_999, 0)
    made.store.create(key, {BODY: "AAAA"}, expires_at_s=FAR)
    assert read_back(made).digest == made.workflow.digest


def forged_bodies() -> Iterator[str]:
    other = platform("A", "X").workflow.to_json()
    yield b64encode(zlib.compress(other.encode())).decode()
    yield b64encode(zlib.compress(b"{}")).decode()
    yield b64encode(b"no zlib").decode()
    yield "no base64!"
    yield "AAAAA"  # a character after the last whole group
    yield "é"
    yield ""
    yield b64encode(zlib.compress(bytes(1_000_000))).decode()


@pytest.mark.parametrize("body", [*forged_bodies()])
def test_a_forged_copy_is_refused_and_hides_no_true_one(body: str) -> None:
    made = platform()
    for day in (1, 99_999):
        made.store.create(definition_key("w", made.workflow.digest, day, 0), {BODY: body}, expires_at_s=FAR)
    with pytest.raises(InconsistentHistory, match=f"definition:w/{made.workflow.digest}.*incomplete or forged"):
        read_back(made)
    write_definition(made.runtime())
    assert read_back(made).digest == made.workflow.digest


def test_a_reader_that_does_not_verify_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken variant: any text counts as the definition."""
    made, forged = platform(), platform("A", "X").workflow
    write(made.runtime(), forged.to_json(), day=99_999)
    monkeypatch.setattr(definition_records, "short_digest", lambda _content: made.workflow.digest)
    monkeypatch.setattr(definition_records, "_parsed", lambda text, *_: Workflow.from_json(text))
    assert read_back(made).digest == forged.digest


def test_a_reader_decompresses_no_more_than_a_definition_has(monkeypatch: pytest.MonkeyPatch) -> None:
    made = platform()
    write_definition(made.runtime())
    monkeypatch.setattr(definition_records, "MAX_IR_BYTES", len(made.workflow.to_json().encode()) - 1)
    with pytest.raises(InconsistentHistory):
        read_back(made)


def test_a_start_record_has_no_definition() -> None:
    made = platform()
    write(made.runtime(), "", day=1)
    with pytest.raises(DefinitionNotStored):
        read_definition(made.store, "w", "")


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"version":1', '"new_field":2,"version":1'),
        lambda text: text.replace('"function":"A"', '"function":"A","new_field":2'),
        lambda text: text.replace('"start_at"', '"begin_at"'),
        lambda text: text.replace('"type":"Task"', '"type":"New"'),
        lambda text: text.replace('"form":"direct"', '"form":"new"'),
    ],
    ids=["of the workflow", "of a Task", "another name", "another type", "another form"],
)
def test_a_definition_of_a_later_release_is_named(change: Callable[[str], str]) -> None:
    made = platform()
    text = change(made.workflow.to_json())
    assert text != made.workflow.to_json()
    digest = definition_records.short_digest(text.encode())
    body = b64encode(zlib.compress(text.encode())).decode()
    made.store.create(definition_key("w", digest, 1, 0), {BODY: body}, expires_at_s=FAR)
    said = (
        f"definition {digest} of workflow 'w': a later release has compiled it, with fields that this release does not "
        "know; update unum-runtime"
    )
    with pytest.raises(ClientError, match=exactly(said)):
        read_definition(made.store, "w", digest)


def test_the_copies_of_two_versions_are_apart() -> None:
    clock = MovableClock()
    one, two = platform("A", "B"), platform("A", "C")
    two.store = one.store
    one.clock = two.clock = clock
    write_definition(one.runtime())
    write_definition(two.runtime())
    assert {"B", "C"} <= {*read_back(one).states, *read_back(two).states}
    assert read_back(one).digest != read_back(two).digest


def test_what_is_not_stored_or_forged_is_said_with_a_remedy() -> None:
    made = platform()
    remedy = "give the definition that was deployed then: `--file FILE`, or `definition=` of the client's methods"
    said = (
        "workflow 'w': expected the definition with digest 0 in its table, found none: its "
        f"retention has passed; {remedy}"
    )
    with pytest.raises(DefinitionNotStored, match=exactly(said)):
        read_definition(made.memory, "w", "0")
    made.memory.create(definition_key("w", "0", 5, 0), {}, expires_at_s=FAR)
    said = (
        f"definition of workflow 'w' in {definition_partition('w', '0')}: expected a text with digest 0, found none: "
        f"the record is incomplete or forged; {remedy}"
    )
    with pytest.raises(InconsistentHistory, match=exactly(said)):
        read_definition(made.memory, "w", "0")


def test_a_copy_is_one_line_of_base64() -> None:
    made = platform()
    write_definition(made.runtime())
    (item,) = made.memory.query(definition_partition("w", made.workflow.digest)).values()
    assert item.keys() == {BODY}
    assert str(item[BODY]).split() == [item[BODY]]


def test_a_definition_of_a_later_release_is_named_with_its_workflow(monkeypatch: pytest.MonkeyPatch) -> None:
    made = platform()
    text = made.workflow.to_json().replace('"w"', '"v"')
    digest = short_digest(text.encode())
    for day in (5, 6):
        body = b64encode(zlib.compress(text.encode() if day == 5 else b"forged")).decode()
        made.memory.create(definition_key("w", digest, day, 0), {BODY: body}, expires_at_s=FAR)
    monkeypatch.setattr(Workflow, "from_json", _unknown)
    said = (
        f"definition {digest} of workflow 'w': a later release has compiled it, with fields that this release does not "
        "know; update unum-runtime"
    )
    with pytest.raises(ClientError, match=exactly(said)):
        read_definition(made.memory, "w", digest)


def _unknown(_text: str) -> Workflow:
    raise KeyError("unknown")


def test_one_copy_is_read_unless_it_is_forged() -> None:
    made = platform()
    for _ in range(3):
        write_definition(made.runtime())
        made.clock.pass_seconds(DAY_S)
    limits: list[int | None] = []

    class Watched:
        def query(self, partition: str, *, newest: int | None = None) -> object:
            limits.append(newest)
            return made.memory.query(partition, newest=newest)

    read_definition(Watched(), "w", made.workflow.digest)  # type: ignore[arg-type]  # one method is called
    assert limits == [1]
