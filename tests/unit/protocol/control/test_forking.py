"""Forks that died: whoever comes next finishes them or leaves them alone, and nothing runs from the first state."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.cut_store import CutStore, Died
from tests.unit.protocol.map_platform import deliver_all, deployed, mapped, result
from tests.unit.protocol.platform import Platform, chain, exactly
from unum_client.descriptions import Description, ForkedFrom
from unum_runtime.errors import (
    ClientError,
    ExecutionAlreadyExists,
    ExecutionDoesNotExist,
    ExecutionNotRedrivable,
    NotOurEvent,
    RefusedDelivery,
    StartRefused,
    TimeIsShort,
)
from unum_runtime.model.checkpoint import Failure, Status, Success, start_record, stop_record
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import Execution, Name, Scope
from unum_runtime.protocol.control import nudge as nudge_module
from unum_runtime.protocol.control import walk
from unum_runtime.protocol.control.forks import fork as fork_module
from unum_runtime.protocol.control.forks import forking
from unum_runtime.protocol.control.forks.fork import ForkRequest, fork
from unum_runtime.protocol.control.nudge import missing, nudge
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.delivery.start import resume, start
from unum_runtime.protocol.history import start_records
from unum_runtime.protocol.history.timeline import from_start
from unum_runtime.store.large_items import LargeItems
from unum_simulator.memory_store import MemoryObjects

INPUT = [3, 1, 2]


def nested() -> dict[str, Any]:
    """A before a Map of Maps before D and E."""
    definition = mapped("B", after="D")
    inner = {"StartAt": "N", "States": {"N": {"Type": "Map", "ItemProcessor": chain("B", "C"), "End": True}}}
    definition["States"]["M"]["ItemProcessor"] = inner
    definition["States"] |= {
        "A": {"Type": "Task", "Resource": "A", "Next": "M"},
        "D": {"Type": "Task", "Resource": "D", "Next": "E"},
        "E": {"Type": "Task", "Resource": "E", "End": True},
    }
    return definition | {"StartAt": "A"}


def ended(definition: dict[str, Any], value: Any, **functions: Any) -> Platform:
    platform = deployed(definition, **functions)
    platform.start("e", value)
    deliver_all(platform)
    platform.calls.clear()
    return platform


CASES: dict[str, tuple[Callable[[], Platform], str, Counter[str]]] = {
    "chain": (lambda: ended(chain("A", "B", "C"), INPUT), "C", Counter(C=1)),
    "after maps": (lambda: ended(nested(), [[1, 2], [3]]), "E", Counter(E=1)),
    "map": (lambda: ended(nested(), [[1, 2], [3]]), "M", Counter(B=3, C=3, D=1, E=1)),
}


def request(node: str, **fields: Any) -> ForkRequest:
    return ForkRequest(**{"execution": "e", "name": "f", "node": node} | fields)


def again(platform: Platform, node: str) -> None:
    fork(platform.runtime(), request(node))


def nudged(platform: Platform, _node: str) -> None:
    nudge(platform.runtime(), "f")


def swept(platform: Platform, _node: str) -> None:
    """As the sweep, once it is overdue."""
    assert missing(platform.runtime(), "f", silent_ms=60_000) == []
    platform.clock.pass_seconds(60)
    assert len(missing(platform.runtime(), "f", silent_ms=60_000)) >= 1
    nudge(platform.runtime(), "f", silent_ms=60_000)


def dying(make: Callable[[], Platform], node: str) -> Iterator[Platform]:
    """Platforms on which a fork died, once before and once after each of its calls."""
    for number in range(1_000):
        for is_made in (False, True):
            platform = make()
            platform.store = cut = CutStore(platform.memory, number, is_made=is_made)
            try:
                again(platform, node)
            except Died:
                platform.store = platform.memory
                yield platform
            else:
                assert cut.calls.total() <= number
                return


def exists(platform: Platform) -> bool:
    with suppress(ExecutionDoesNotExist):
        return bool(start_records.start_record(platform.memory, "w", "f"))
    return False


@pytest.mark.parametrize("finisher", [again, nudged, swept])
@pytest.mark.parametrize("case", CASES)
def test_a_fork_that_died_at_any_call_is_finished(case: str, finisher: Callable[[Platform, str], None]) -> None:
    make, node, calls = CASES[case]
    whole = make()
    again(whole, node)
    deliver_all(whole)
    forks = 0
    for platform in dying(make, node):
        if not exists(platform):
            if finisher is not again:
                continue
        elif finisher is swept and forking.unfinished(list_of(platform)) is None:
            continue  # what is sent again after the fork's first own step is not the fork's affair
        forks += 1
        platform.sent.clear()
        finisher(platform, node)
        deliver_all(platform)
        assert (result(platform, "f"), platform.calls) == (result(whole, "f"), calls)
        assert names(platform) == names(whole)
    assert forks > 5


def list_of(platform: Platform) -> Any:
    return from_start(platform.memory, "w", "f")


def names(platform: Platform) -> list[tuple[Any, ...]]:
    return [(step.name.frames, step.name.step, step.state, step.outcome) for step in platform.steps("f")]


def started_by_an_event(platform: Platform) -> None:
    start(platform.runtime(), "f", INPUT)


def resumed(platform: Platform) -> None:
    resume(platform.runtime(), "f")


@pytest.mark.parametrize("comes", [started_by_an_event, resumed])
@pytest.mark.parametrize("case", CASES)
def test_a_start_of_its_name_does_nothing_to_it(case: str, comes: Callable[[Platform], None]) -> None:
    make, node, calls = CASES[case]
    for platform in dying(make, node):
        if not exists(platform):
            continue
        before = {**platform.memory._items}
        with pytest.raises((StartRefused, ExecutionAlreadyExists), match=r"'?f'?\b.* is a fork"):
            comes(platform)
        assert (platform.memory._items, platform.calls) == (before, Counter())
        draft = start_record(Execution("f", platform.clock.now_ms()), INPUT)
        with pytest.raises(ExecutionAlreadyExists, match="is a fork of 'e' at"):
            start_records.record_start(platform.memory, "w", draft, expires_at_s=2_000_000_000)
        again(platform, node)
        deliver_all(platform)
        assert platform.calls == calls


def test_an_unfinished_fork_runs_and_says_what_it_is() -> None:
    make, node, _ = CASES["after maps"]
    for platform in dying(make, node):
        if not exists(platform):
            continue
        steps = list_of(platform)
        reply = Description.of(steps[0], steps[-1] if len(steps) > 1 else None)
        is_finished = forking.unfinished(steps) is None
        assert reply.status is Status.RUNNING
        assert reply.forked_from == ForkedFrom(execution="e", node="E", visit=1, is_finished=is_finished)
        (waits,) = missing(platform.runtime(), "f")
        assert (waits.state, waits.name.step) == ("E", 3 + is_finished)
        with pytest.raises(ExecutionNotRedrivable, match=r"RUNNING|was not finished"):
            redrive(platform.runtime(), "f")


def test_one_that_was_stopped_before_it_was_finished_stays_stopped() -> None:
    make, node, _ = CASES["after maps"]
    for platform in dying(make, node):
        if not exists(platform) or forking.unfinished(list_of(platform)) is None:
            continue
        execution = list_of(platform)[0].name.execution
        stop(platform.runtime(), execution, Failure("Stopped", None))
        platform.sent.clear()
        assert missing(platform.runtime(), "f") == nudge(platform.runtime(), "f") == []
        with pytest.raises(
            ExecutionAlreadyExists,
            match=exactly("execution 'f' of workflow 'w' was stopped before its fork was finished: use another name"),
        ):
            forking.finish(platform.runtime(), list_of(platform)[0], list_of(platform)[0].fork)
        with pytest.raises(
            ExecutionNotRedrivable,
            match=exactly(
                "execution 'f': is a fork of 'e' that was not finished; fork again, under another name if it "
                "was stopped"
            ),
        ):
            redrive(platform.runtime(), "f")
        deliver_all(platform)
        ending = platform.ending("f")
        assert ending is not None
        assert (ending.status, platform.calls) == (Status.ABORTED, Counter())


def test_two_that_fork_at_once_make_one_fork() -> None:
    make, node, calls = CASES["after maps"]
    for platform in dying(make, node):
        platform.store = cut = CutStore(platform.memory)
        again(platform, node)
        again(platform, node)
        assert len(cut.created) == len(set(cut.created))
        deliver_all(platform)
        assert platform.calls == calls


def test_what_was_copied_is_not_copied_again() -> None:
    make, node, _ = CASES["after maps"]
    whole = make()
    before = len(whole.memory._items)
    again(whole, node)
    total = len(whole.memory._items) - before
    for platform in dying(make, node):
        there = len(platform.memory._items)
        platform.store = rest = CutStore(platform.memory)
        again(platform, node)
        made = len(platform.memory._items) - there
        is_finished = forking.unfinished(list_of(platform)) is None
        assert len(rest.created) - made in (0, 1), "the first own step is tried again"
        assert there + made - before == total
        assert is_finished


def with_maps(*names: str, **branches: dict[str, Any]) -> dict[str, Any]:
    """States in a row: Maps with the given `branches`, and Tasks."""
    definition = chain(*names)
    for name, branch in branches.items():
        follows = {key: value for key, value in definition["States"][name].items() if key in ("Next", "End")}
        definition["States"][name] = {"Type": "Map", "ItemProcessor": branch, **follows}
    return definition


def test_every_scope_of_several_in_one_branch_and_one_execution_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "SHARD_SIZE", 1)  # a cursor for each part
    inside = {
        each: with_maps(
            f"{each}A", f"{each}B", f"{each}N", f"{each}O", **{f"{each}{at}": chain(each + at + at) for at in "NO"}
        )
        for each in "MP"
    }
    platform = ended(with_maps("First", "M", "P", "Last", **inside), [[1, 2], [3]])
    fork(platform.runtime(), request("Last"))
    deliver_all(platform)
    originals = [(step.name.frames, step.name.step, step.state, step.outcome) for step in platform.steps()]
    assert sum(len(frames) == 2 for frames, *_ in originals) == 2 * 2 * 3
    assert [each for each in names(platform) if each[2] != "Last"] == [each for each in originals if each[2] != "Last"]


def test_scopes_of_one_branch_have_places_of_their_own_however_long_it_is() -> None:
    scope = Scope(Execution("e", 1), (), "M", 2, 0, 3)
    places = [
        forking._place(stop_record(Name(scope.execution, scope.branch(index), step), Failure("E", None), 1))
        for index in range(3)
        for step in (0, 1, 2, 90, 1_000, 1_000_000)
    ]
    assert places == sorted(set(places))


def test_the_original_of_the_same_name_is_another_when_it_has_expired() -> None:
    make, node, _ = CASES["chain"]
    platform = next(each for each in dying(make, node) if exists(each))
    platform.memory._items = {key: kept for key, kept in platform.memory._items.items() if "/e:" not in key.partition}
    del platform.memory._items[next(key for key in platform.memory._items if key.partition == "start:w/e")]
    platform.clock.pass_seconds(1)
    platform.start("e", INPUT)
    with pytest.raises(
        ExecutionDoesNotExist,
        match=exactly(
            "execution e:1a3185c5000: has expired before its fork 'f' was finished; another execution has its name"
        ),
    ):
        nudge(platform.runtime(), "f")


def test_original_that_was_collected_in_between_needs_only_its_copies() -> None:
    platform = deployed(chain("A", "B", "C"))
    platform.collection = Collection.EAGER
    platform.start("e", 1)
    deliver_all(platform)
    platform.calls.clear()
    fork(platform.runtime(), request("C", value=Success(7)))
    deliver_all(platform)
    assert (result(platform, "f"), platform.calls) == (7, Counter(C=1))


def test_another_version_leaves_it_to_its_own() -> None:
    make, node, _ = CASES["chain"]
    platform = next(each for each in dying(make, node) if exists(each))
    newer = deployed(chain("A", "B", "C", "D"))
    newer.memory = newer.store = platform.memory
    with pytest.raises(NotOurEvent):
        nudge(newer.runtime(), "f")
    assert {step.digest for step in platform.steps("f")} <= {platform.workflow.digest}


def test_inputs_too_large_for_one_record_are_refused_before_any_write() -> None:
    platform = ended(chain("A", "B"), "x" * 200_000)
    before = {**platform.memory._items}
    with pytest.raises(
        ClientError,
        match=exactly(
            "input: it and the input of the original have 400004 bytes together; a fork's start record has "
            "both, and at most 380000 are stored: give the workflow a bucket for larger ones, "
            'payload="s3", or pass large data by reference'
        ),
    ):
        fork(platform.runtime(), request("B", value=Success("y" * 200_000)))
    assert platform.memory._items == before


def test_without_time_each_delivery_does_one_part() -> None:
    make, node, calls = CASES["after maps"]
    platform = make()
    platform.options["remaining_ms"] = lambda: 1
    left = 0
    while left < 20:
        try:
            again(platform, node)
        except TimeIsShort:
            left += 1
        else:
            break
    assert 2 < left < 10
    deliver_all(platform)
    assert platform.calls == calls


def test_fork_that_is_not_overdue_is_left_to_its_request() -> None:
    make, node, _ = CASES["after maps"]
    for platform in dying(make, node):
        if not exists(platform) or forking.unfinished(list_of(platform)) is None:
            continue
        before = {**platform.memory._items}
        assert nudge(platform.runtime(), "f", silent_ms=60_000) == []
        assert (platform.memory._items, platform.sent) == (before, [])


def test_nudge_without_time_for_all_copies_sends_nothing() -> None:
    make, node, _ = CASES["after maps"]
    platform = make()
    platform.options["remaining_ms"] = lambda: 1
    with pytest.raises(TimeIsShort):
        again(platform, node)
    found = nudge(platform.runtime(), "f")
    assert ([each.state for each in found], found.is_done, platform.sent) == ([node], False, [])


@pytest.mark.parametrize("step", [1, 2, 3])
def test_stop_at_any_step_of_a_fork_ends_it(step: int) -> None:
    make, node, _ = CASES["after maps"]
    platform = make()
    create = platform.memory.create

    def stopped_before(key: Any, item: Any, *, expires_at_s: int) -> Any:
        if key.partition.startswith("w/f:") and key.sort == f"{step:09d}":
            platform.memory.create = create
            stop(platform.runtime(), list_of(platform)[0].name.execution, Failure("Stopped", None))
        return create(key, item, expires_at_s=expires_at_s)

    platform.memory.create = stopped_before
    with pytest.raises(ExecutionAlreadyExists, match="was stopped before its fork was finished"):
        again(platform, node)
    ending = platform.ending("f")
    assert ending is not None
    assert (ending.status, platform.sent) == (Status.ABORTED, [])
    assert [item.name.step for item in list_of(platform)] == [*range(step + 1)]


def test_inputs_of_any_size_fit_where_there_is_a_bucket() -> None:
    platform = deployed(chain("A", "B"))
    platform.store = LargeItems(platform.memory, MemoryObjects(), "w")
    platform.start("e", "x" * 200_000)
    deliver_all(platform)
    fork(platform.runtime(), request("B", value=Success("y" * 200_000)))
    assert [event.state for event in platform.sent] == ["B"]


def written_as_ordinary(patch: pytest.MonkeyPatch) -> None:
    """The start record says nothing of the fork."""
    create = fork_module.create
    plain = {"digest": "", "began": None, "fork": None}
    patch.setattr(fork_module, "create", lambda rt, record: create(rt, replace(record, **plain)))


def started_in_spite_of_it(patch: pytest.MonkeyPatch) -> None:
    """Copies are planned from although some are missing."""
    patch.setattr(nudge_module, "unfinished", lambda _steps: None)


def copied_top_first(patch: pytest.MonkeyPatch) -> None:
    """Copy a step before the steps in its scope."""
    copy_scope, kept = forking._copy_scope, []

    def after(rt: Any, scope: Any, execution: Any) -> None:
        kept.append((rt, scope, execution))

    commit = forking.commit_step

    def commit_then_copy(rt: Any, checkpoint: Any) -> Any:
        found = commit(rt, checkpoint)
        waiting = [each for each in kept if each[0] is rt]  # others are of runs that died
        kept.clear()
        for each in waiting:
            copy_scope(*each)
        return found

    patch.setattr(forking, "_copy_scope", after)
    patch.setattr(forking, "commit_step", commit_then_copy)


def refused_again(patch: pytest.MonkeyPatch) -> None:
    """A repeated request is taken for another."""
    patch.setattr(ForkRequest, "is_of", lambda _self, record: record.name.execution.started_ms < 0)


@pytest.mark.parametrize("mistake", [written_as_ordinary, started_in_spite_of_it, copied_top_first, refused_again])
def test_a_mistake_is_found(mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    with pytest.raises((AssertionError, ClientError, RefusedDelivery)):  # noqa: PT012 - which call finds it differs
        for finisher in (nudged, again):
            test_a_fork_that_died_at_any_call_is_finished("after maps", finisher)
