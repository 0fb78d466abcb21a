"""Redrives, forks and nudges of wide fan-outs, in deliveries that are much too short, on real protocol code."""

import random
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.unit.protocol.control.test_copying import IndexedStore, attempts, failed, made_twice
from tests.unit.protocol.cut_store import CutStore, Died
from tests.unit.protocol.map_platform import around, deliver, deliver_all, deployed, mapped, result
from tests.unit.protocol.platform import Platform, chain
from unum_runtime.errors import TimeIsShort
from unum_runtime.model.naming import SHARD_SIZE
from unum_runtime.protocol.control import nudge as nudge_module
from unum_runtime.protocol.control import walk as walk_module
from unum_runtime.protocol.control.forks.fork import ForkRequest, fork
from unum_runtime.protocol.control.nudge import nudge, nudge_whole
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_runtime.protocol.control.walk import MOST_PARTS, RESERVE_MS

WIDTH = 100_000
LIMIT = 2_000
"""Calls of the store that one delivery may make."""

CALL_MS = 2 * RESERVE_MS // SHARD_SIZE
"""Duration of a call."""


PART = SHARD_SIZE + 8
"""Calls for the part that a delivery may still begin in its last moment, beyond which it dies."""


def shards(width: int) -> int:
    return -(-width // SHARD_SIZE)


def in_deliveries(platform: Platform, request: Callable[[], Any], limit: int = LIMIT) -> list[CutStore]:
    """Make `request` in deliveries that may make `limit` calls, and know that; return their stores."""
    made: list[CutStore] = []
    while True:
        platform.store = cut = CutStore(platform.memory, limit + PART)
        platform.options["remaining_ms"] = lambda cut=cut: (limit - cut.calls.total()) * CALL_MS
        made.append(cut)
        assert len(made) < 10_000, "no delivery comes further than the one before"
        try:
            request()
        except TimeIsShort:
            continue
        break
    del platform.options["remaining_ms"]
    platform.store = platform.memory
    return made


def dying(*limits: int) -> Iterator[int]:
    """Numbers of calls at which deliveries die, between the lowest and the highest of `limits`, as on every run."""
    chosen = random.Random(7)  # noqa: S311 - see above
    return iter(lambda: chosen.randrange(*limits), None)


def queries(cuts: list[CutStore]) -> int:
    return sum(cut.calls["query"] for cut in cuts)


def unbegun(width: int, inner: int = 0) -> Platform:
    """An execution of which every event for a branch was lost; with Maps of `inner` inside, for their branches."""
    branch = {"StartAt": "N", "States": {"N": {"Type": "Map", "ItemProcessor": chain("B"), "End": True}}}
    machine = around(branch, after="C", MaxConcurrency=0) if inner else mapped("B", after="C", MaxConcurrency=0)
    platform = deployed(machine)
    platform.memory = platform.store = IndexedStore(platform.clock)
    platform.start("e", [[*range(inner)]] * width if inner else [0] * width)
    while any(event.state != "B" for event in platform.sent):
        platform.sent, sent = [], platform.sent
        for event in sent:
            platform.sent.append(event) if event.state == "B" and "stop" not in vars(event.input) else deliver(
                platform, event
            )
    platform.sent.clear()
    return platform


WIDTHS = [3_000, pytest.param(WIDTH, marks=[pytest.mark.long, pytest.mark.timeout(3_600)])]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_redrive_and_a_fork_in_deliveries_that_are_too_short(width: int) -> None:
    items = [*[0] * (width - 1), 1]
    platform = failed(mapped("B", after="C"), items, 1)
    for request, calls in (
        (lambda: redrive(platform.runtime(), "e"), Counter(B=1, C=1)),
        (lambda: fork(platform.runtime(), ForkRequest(execution="e", name="f", node="C")), Counter(C=1)),
    ):
        cuts = in_deliveries(platform, request)
        assert len(cuts) > width // LIMIT
        assert made_twice(cuts) == 0
        assert queries(cuts) <= 8 * shards(width) + 6 * len(cuts), "two or three walks of one or two scopes"
        deliver_all(platform)
        assert platform.calls == calls
        platform.calls.clear()
    assert result(platform) == result(platform, "f") == items


@pytest.mark.parametrize(
    ("width", "limits"),
    [(3_000, (650, 900)), pytest.param(WIDTH, (900, 30_000), marks=[pytest.mark.long, pytest.mark.timeout(3_600)])],
)
@pytest.mark.parametrize("options", [{}, {"small_results": True}], ids=["items", "packs"])
def test_a_redrive_and_a_fork_that_die_again_and_again(
    width: int, limits: tuple[int, int], options: dict[str, Any]
) -> None:
    if options and width == WIDTH:  # a pack is written several times
        width, limits = width // 5, (900, 6_000)
    items = [*[0] * (width - 1), 1]
    platform = failed(mapped("B", after="C"), items, 1, **options)
    for request, calls in (
        (lambda: redrive(platform.runtime(), "e"), Counter(B=1, C=1)),
        (lambda: fork(platform.runtime(), ForkRequest(execution="e", name="f", node="C")), Counter(C=1)),
    ):
        cuts = attempts(platform, request, dying(*limits))
        assert len(cuts) > 3
        assert made_twice(cuts) == 0
        deliver_all(platform)
        assert platform.calls == calls
        platform.calls.clear()
    assert result(platform) == result(platform, "f") == items


@pytest.mark.parametrize("width", WIDTHS)
def test_a_nudge_in_deliveries_that_are_too_short(width: int) -> None:
    platform = unbegun(width)
    cuts = in_deliveries(platform, lambda: nudge_whole(platform.runtime(), "e"), SHARD_SIZE // 2 + width // 300)
    assert len(cuts) > 2
    assert queries(cuts) <= shards(width) + 2 * len(cuts)
    assert Counter(event.name.frames[-1].index for event in platform.sent) == Counter(range(width))
    deliver_all(platform)
    assert platform.calls == Counter(B=width, C=1)


@pytest.mark.parametrize("dies_at", [7, 8, 10])
def test_a_nudge_that_dies_at_every_so_many_calls(dies_at: int) -> None:
    platform = unbegun(3_000)
    cuts = attempts(platform, lambda: nudge(platform.runtime(), "e"), iter(lambda: dies_at, None))
    assert len(cuts) > 3
    sent = Counter(event.name.frames[-1].index for event in platform.sent)
    assert sent.keys() == {*range(3_000)}
    assert sent.total() <= 3_000 + SHARD_SIZE * len(cuts)
    deliver_all(platform)
    assert platform.calls == Counter(B=3_000, C=1)


@pytest.mark.parametrize("dies_at", [40, 70])
def test_a_nudge_of_many_narrow_scopes_dies_again_and_again(dies_at: int) -> None:
    platform = unbegun(300, inner=3)
    cuts = attempts(platform, lambda: nudge(platform.runtime(), "e"), iter(lambda: dies_at, None))
    assert len(cuts) > 3
    sent = Counter(tuple(frame.index for frame in event.name.frames) for event in platform.sent)
    assert sent.keys() == {(outer, inner) for outer in range(300) for inner in range(3)}
    assert sent.total() <= 900 + 3 * MOST_PARTS * len(cuts)
    deliver_all(platform)
    assert platform.calls == Counter(B=900, C=1)


def test_a_redrive_of_many_narrow_scopes_dies_again_and_again() -> None:
    branch = {"StartAt": "N", "States": {"N": {"Type": "Map", "ItemProcessor": chain("B"), "End": True}}}
    items = [[number, -number] for number in range(1, 301)]
    platform = failed(around(branch, after="C"), items, 299)
    cuts = attempts(platform, lambda: redrive(platform.runtime(), "e"), dying(120, 330))
    assert len(cuts) > 3
    assert made_twice(cuts) == 0
    deliver_all(platform)
    assert (result(platform), platform.calls) == (items, Counter(B=1, C=1))
    cuts = attempts(
        platform, lambda: fork(platform.runtime(), ForkRequest(execution="e", name="f", node="C")), dying(120, 330)
    )
    assert (made_twice(cuts), len(cuts) > 3) == (0, True)
    deliver_all(platform)
    assert result(platform, "f") == items


def memory_of_a_part(width: int, patch: pytest.MonkeyPatch) -> int:
    """Peak of what one delivery of a nudge allocates, after it has planned the Map, without what was sent."""
    platform = unbegun(width)
    patch.setattr(platform, "invoke", lambda _events: None)
    platform.options["remaining_ms"] = lambda: 1
    walking = walk_module.walk
    patch.setattr(nudge_module, "walk", lambda *given: (tracemalloc.reset_peak(), walking(*given))[1])
    tracemalloc.start()
    assert not nudge(platform.runtime(), "e").is_done
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize(("narrow", "wide"), [(2_000, 10_000), pytest.param(20_000, WIDTH, marks=pytest.mark.long)])
def test_a_part_needs_no_memory_for_the_whole(narrow: int, wide: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Apart from the input of the Map, which is one value: its text, and two pointers for each number."""
    small, large = (memory_of_a_part(width, monkeypatch) for width in (narrow, wide))
    assert small < 1_000_000
    assert large - small <= (wide - narrow) * (2 + 2 * 9), (small, large)


def with_a_cursor_too_early(patch: pytest.MonkeyPatch) -> None:
    """Store a cursor before the part ahead of it is done."""
    visit = nudge_module._Search.visit

    def late(self: Any, node: Any, shard: int, *, is_done: bool) -> Any:
        walking[0]._note(SHARD_SIZE)
        walking[0].levels[-1] = (shard + 1, *walking[0].levels[-1][1:])
        walking[0]._pause()
        return visit(self, node, shard, is_done=is_done)

    walking: list[Any] = []
    run = walk_module._Walk.run
    patch.setattr(walk_module._Walk, "run", lambda self, root: walking.insert(0, self) or run(self, root))
    patch.setattr(nudge_module._Search, "visit", late)


def without_a_part(patch: pytest.MonkeyPatch) -> None:
    """The part at the cursor counts as done."""
    recall = walk_module._Walk._recall

    def further(self: Any, trip: Any) -> None:
        recall(self, trip)
        self._stored = [(shard + 1, place, tally) for shard, place, tally in self._stored]

    patch.setattr(walk_module._Walk, "_recall", further)


@pytest.mark.parametrize("mistake", [with_a_cursor_too_early, without_a_part])
def test_a_mistake_is_found(mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    with pytest.raises(AssertionError):  # noqa: PT012 - where a delivery dies decides whether it is harmful
        for dies_at in (7, 8, 10):
            test_a_nudge_that_dies_at_every_so_many_calls(dies_at)


def test_a_nudge_sends_all_although_a_sweep_died() -> None:
    platform = unbegun(3_000)
    platform.clock.pass_seconds(3_600)
    platform.store = CutStore(platform.memory, 8)
    with pytest.raises(Died):
        nudge(platform.runtime(), "e", silent_ms=60_000)
    platform.store = platform.memory
    platform.sent.clear()  # events of a delivery that died are lost like any others
    nudge(platform.runtime(), "e")
    assert {event.name.frames[-1].index for event in platform.sent} == {*range(3_000)}


def test_a_redrive_sends_all_although_a_nudge_before_it_died() -> None:
    platform = failed(mapped("B", "B2", after="C"), [*range(2_000)], 1_000)
    platform.store = platform.memory
    redrive(platform.runtime(), "e")
    deliver_all(platform)
    assert result(platform) == [*range(2_000)]


def with_one_cursor_for_all(patch: pytest.MonkeyPatch) -> None:
    """The cursor of another request is taken."""
    partition = walk_module.walk_partition
    patch.setattr(walk_module, "walk_partition", lambda workflow, execution, _: partition(workflow, execution, "any"))


@pytest.mark.parametrize(
    "finds",
    [
        test_a_nudge_sends_all_although_a_sweep_died,
        lambda: test_a_redrive_and_a_fork_in_deliveries_that_are_too_short(3_000),
    ],
    ids=["of a sweep", "of a check"],
)
def test_a_cursor_of_another_request_is_found(finds: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    with_one_cursor_for_all(monkeypatch)
    with pytest.raises(AssertionError):
        finds()
