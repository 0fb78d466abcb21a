"""Copies of wide fan-outs: cut off anywhere, resumed from what is there, and no copy made twice."""

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.unit.protocol.cut_store import CutStore, Died
from tests.unit.protocol.map_platform import around, deliver_all, deployed, mapped, result
from tests.unit.protocol.platform import Platform, chain
from unum_runtime.errors import ExecutionNotRedrivable, TimeIsShort
from unum_runtime.model.checkpoint import Began, Item, Status
from unum_runtime.model.deletion_notes import copies_key
from unum_runtime.model.envelope import Value
from unum_runtime.model.naming import SHARD_SIZE, Execution, Key, Name, Scope
from unum_runtime.protocol.control import versions, walk
from unum_runtime.protocol.control.forks.fork import ForkRequest, fork
from unum_runtime.protocol.control.redrives import entry
from unum_runtime.protocol.control.redrives import redrive as redrive_module
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_simulator.memory_store import MemoryStore

WIDTH = 4 * SHARD_SIZE + 76
AT_ONCE = 16
MOST = 100


@dataclass
class IndexedStore(MemoryStore):
    """A memory store that finds a partition without looking at all others, which wide scopes need."""

    _keys: dict[str, set[Key]] = field(default_factory=dict)

    def create(self, key: Key, item: Item, *, expires_at_s: int) -> Item | None:
        self._keys.setdefault(key.partition, set()).add(key)
        return super().create(key, item, expires_at_s=expires_at_s)

    def extend(self, key: Key, item: Item, *, unless: str, expires_at_s: int) -> tuple[bool, Item]:
        self._keys.setdefault(key.partition, set()).add(key)
        return super().extend(key, item, unless=unless, expires_at_s=expires_at_s)

    def query(self, partition: str, *, newest: int | None = None) -> dict[Key, Item]:
        keys = sorted(key for key in self._keys.get(partition, ()) if self._live(key) is not None)
        chosen = keys if newest is None else keys[::-1][:newest]
        return {key: dict(self._items[key][0]) for key in chosen}


def failed(definition: dict[str, Any], value: Any, breaks: Any, **options: Any) -> Platform:
    """An execution that failed of the item `breaks`, after everything else had run; it is mended."""
    broken = [breaks]

    def fragile(event: Any) -> Any:
        if event in broken:
            raise ValueError(event)
        return event

    platform = deployed(definition, B=fragile)
    platform.workflow = replace(platform.workflow, **options)
    platform.memory = platform.store = IndexedStore(platform.clock)
    platform.start("e", value)
    late = []
    while platform.sent:  # everything but the event of the broken item
        event = platform.sent.pop(0)
        given = event.input.given.value if isinstance(event.input, Value) else None
        is_late = (event.state, given) == ("B", breaks)
        late.append(event) if is_late else platform.deliver(event)
    for event in late:
        platform.deliver(event)
    deliver_all(platform)
    ending = platform.ending()
    assert ending is not None
    assert ending.status is Status.FAILED
    broken.clear()
    platform.calls.clear()
    return platform


def wide(**options: Any) -> Platform:
    return failed(mapped("B", after="C"), list(range(WIDTH)), WIDTH - 2, **options)


def nested(**options: Any) -> Platform:
    """Nine branches of nine and one of them that failed, in whose scope eight are done."""
    inner = {"StartAt": "N", "States": {"N": {"Type": "Map", "ItemProcessor": chain("A", "B"), "End": True}}}
    return failed(around(inner, after="C"), [list(range(row, row + 3)) for row in range(0, 12, 4)], 5, **options)


Cut = Callable[[Platform], CutStore]


def attempts(platform: Platform, request: Callable[[], Any], dies_at: Iterator[int]) -> list[CutStore]:
    """Repeat `request` until an attempt is not cut off; return the stores of all attempts."""
    made = []
    for number in dies_at:
        platform.store = cut = CutStore(platform.memory, number, is_made=bool(number % 2))
        made.append(cut)
        assert len(made) < MOST, "no attempt comes further than the one before"
        try:
            request()
        except Died:
            continue
        break
    platform.store = platform.memory
    return made


def made_twice(cuts: list[CutStore]) -> int:
    """Calls of `create` for branches that had been made before."""
    created = [key for cut in cuts for key in cut.created if "~" in key.partition]
    return len(created) - len(set(created))


def threads(work: Callable[[Any], Any], items: Any) -> list[Any]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [*pool.map(work, items)]


@pytest.mark.parametrize("kind", ["redrive", "fork"])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_cut_off_again_and_again_makes_each_copy_once(kind: str, seed: int) -> None:
    platform, chosen = wide(), random.Random(seed)  # noqa: S311 - the same on every run
    if kind == "fork":
        redrive(platform.runtime(), "e")
        deliver_all(platform)
        platform.calls.clear()

    def request() -> None:
        if kind == "redrive":
            redrive(platform.runtime(), "e")
        else:
            fork(platform.runtime(), ForkRequest(execution="e", name="f", node="C"))

    cuts = attempts(platform, request, iter(lambda: chosen.randrange(20, 400), None))
    assert len(cuts) > 3
    assert made_twice(cuts) == 0
    assert sum(cut.calls["create"] for cut in cuts) <= 2 * WIDTH + 3 * len(cuts)
    deliver_all(platform)
    assert result(platform, "e" if kind == "redrive" else "f") == list(range(WIDTH))
    assert platform.calls == ({"B": 1, "C": 1} if kind == "redrive" else {"C": 1})


@pytest.mark.parametrize("seed", range(3))
def test_copies_are_made_at_once_and_resumed(seed: int) -> None:
    platform, chosen = wide(), random.Random(seed)  # noqa: S311 - the same on every run
    platform.options["concurrently"] = threads
    cuts = attempts(platform, lambda: redrive(platform.runtime(), "e"), iter(lambda: chosen.randrange(20, 400), None))
    assert made_twice(cuts) <= AT_ONCE * len(cuts), "only what was under way when a delivery died"
    deliver_all(platform)
    assert (result(platform), platform.calls) == (list(range(WIDTH)), {"B": 1, "C": 1})


def test_a_resumed_redrive_makes_what_is_left_and_at_most_a_part() -> None:
    platform = wide()
    platform.store = first = CutStore(platform.memory, 700)
    with pytest.raises(Died):
        redrive(platform.runtime(), "e")
    there = first.calls["create"]
    assert there > 600
    shards = -(-WIDTH // SHARD_SIZE)
    platform.store = rest = CutStore(platform.memory)
    redrive(platform.runtime(), "e")
    assert rest.calls["create"] <= WIDTH - there + 4 + 3 * shards, "a note, and a cursor for each part of three walks"
    assert rest.calls["query"] <= 6 * shards, "what is there costs no reading"
    assert rest.calls["add"] <= 2 * shards, "a shard of ended branches is one write"


@pytest.mark.parametrize("options", [{}, {"small_results": True}], ids=["items", "packs"])
@pytest.mark.parametrize("make", [wide, nested])
def test_each_delivery_without_time_does_one_part(make: Callable[..., Platform], options: dict[str, Any]) -> None:
    platform = make(**options)
    platform.options["remaining_ms"] = lambda: 1
    left = 0
    while True:
        try:
            redrive(platform.runtime(), "e")
        except TimeIsShort:
            left += 1
            assert left < 20
        else:
            break
    assert left == 3 * (4 if make is wide else 1), "three walks, and each delivery goes on with the next one"
    deliver_all(platform)
    platform.options["remaining_ms"] = lambda: 900_000
    assert platform.calls["B"] == 1


@pytest.mark.parametrize("options", [{}, {"small_results": True}], ids=["items", "packs"])
def test_a_redrive_that_died_at_any_call_is_resumed(options: dict[str, Any]) -> None:
    number = 0
    while True:
        for is_made in (False, True):
            platform = nested(**options)
            platform.store = CutStore(platform.memory, number, is_made=is_made)
            try:
                redrive(platform.runtime(), "e")
            except Died:
                platform.store = cut = CutStore(platform.memory)
                redrive(platform.runtime(), "e")
                assert made_twice([cut]) == 0
            else:
                assert number > 20
                return
            platform.store = platform.memory
            platform.sent = [
                event for each in {str(event.name): event for event in platform.sent}.items() for event in each[1:]
            ]
            deliver_all(platform)
            assert result(platform) == [[0, 1, 2], [4, 5, 6], [8, 9, 10]]
            assert (platform.calls["A"], platform.calls["B"], platform.calls["C"]) == (0, 1, 1)
        number += 1


def nested_behind_tasks() -> Platform:
    """As `nested`, but with two Tasks before the inner Map: the branch that failed keeps two steps."""
    inner = chain("S", "T", "N")
    inner["States"]["N"] = {"Type": "Map", "ItemProcessor": chain("A", "B"), "End": True}
    return failed(around(inner, after="C"), [list(range(row, row + 3)) for row in range(0, 12, 4)], 5)


@pytest.mark.parametrize("make", [nested, nested_behind_tasks])
def test_copies_of_a_branch_end_at_another_commit_under_its_name(make: Callable[[], Platform]) -> None:
    """The branch belongs to that commit: results of the old inner scope must not become results of its own."""
    platform, other = make(), make()
    before = {*other.memory._items}
    redrive(other.runtime(), "e")
    made = {key: item for key, (item, _) in other.memory._items.items() if key not in before}
    (taken,) = [key for key, item in made.items() if str(item.get("opens")).startswith('["N"')]
    item = {**made[taken], "value": "[40,50,60]"}
    assert platform.memory.create(taken, item, expires_at_s=platform.runtime().expires_at_s()) is None
    redrive(platform.runtime(), "e")
    deliver_all(platform)
    assert result(platform) == [[0, 1, 2], [40, 50, 60], [8, 9, 10]]


def test_two_versions_never_copy_for_one_redrive() -> None:
    platform = wide()
    platform.store = CutStore(platform.memory, 700)
    with pytest.raises(Died):
        redrive(platform.runtime(), "e", Began("v1", {}))
    platform.store = platform.memory
    last = platform.steps()
    ended = next(step for step in last if step.ending is not None)
    assert versions.pinned(platform.memory, "w", ended.name.following) == versions.RunsOn(
        platform.workflow.digest, Began("v1", {})
    )
    newer = replace(platform.runtime(), workflow=deployed(mapped("B", "B2", after="C"), B2=None).workflow)  # type: ignore[arg-type]
    with pytest.raises(ExecutionNotRedrivable, match="another redrive has begun on IR"):
        versions.pin(newer, ended.name.following, None)


def from_the_first(patch: pytest.MonkeyPatch) -> None:
    """Copies begin at the first branch of a part again and look at nothing."""
    patch.setattr(entry, "of_shard", lambda *_: iter(()))


def committed_first(patch: pytest.MonkeyPatch) -> None:
    """The execution goes on before the copies are complete."""
    patch.setattr(redrive_module, "carry", lambda *_: None)


@pytest.mark.parametrize("mistake", [from_the_first, committed_first])
def test_a_mistake_is_found(mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    with pytest.raises(AssertionError):  # noqa: PT012 - which test finds it differs
        test_what_is_cut_off_again_and_again_makes_each_copy_once("redrive", 1)
        test_what_is_cut_off_again_and_again_makes_each_copy_once("fork", 1)


def test_what_is_left_is_said_while_there_is_time() -> None:
    rt = deployed(chain("A")).runtime()
    walk.leave_rest_if_short(replace(rt, remaining_ms=lambda: walk.RESERVE_MS))
    said = "some parts are left to another delivery; the same request again continues them"
    with pytest.raises(TimeIsShort, match=f"^{said}$"):
        walk.leave_rest_if_short(replace(rt, remaining_ms=lambda: walk.RESERVE_MS - 1))


def test_copies_are_noted_as_the_step_that_opens_them_will_tell_of_them() -> None:
    """A deletion reads both alike."""
    platform = Platform.of(chain("A"), A=lambda event: event)
    name = Name(Execution("e", 5), (), 2)
    entry.note_copies(platform.runtime(), name, Scope(name.execution, (), "M", 3, 1, 7))
    key = copies_key("w", name)
    assert platform.memory.read([key])[key] == {"ir": platform.workflow.digest, "opens": '["M",3,1,7]'}
