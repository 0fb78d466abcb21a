"""Redrives on another definition that are cut off at any call, come twice, or race: one result, one history."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.cut_store import CutStore, Died
from tests.unit.protocol.map_platform import deliver, deliver_all, deployed, mapped, result
from tests.unit.protocol.platform import Platform, chain
from unum_runtime.errors import ExecutionNotRedrivable, NotOurEvent
from unum_runtime.model.checkpoint import Failure, Status
from unum_runtime.protocol.control import versions
from unum_runtime.protocol.control.nudge import nudge
from unum_runtime.protocol.control.redrives import redrive as redrive_module
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.history.timeline import nested_steps

ITEMS = [1, 2, 3]


class CutInvoker:
    """Dies before or after its first sending."""

    def __init__(self, platform: Platform, *, is_made: bool) -> None:
        self._platform, self._is_made = platform, is_made

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        if self._is_made:
            self._platform.invoke(events)
        raise Died("invoke")


def failing() -> tuple[Platform, Platform]:
    """A Map with a failed branch on its old definition; a new one has another state behind B, and behind the Map."""
    broken = [2]

    def breaks(event: Any) -> Any:
        if event in broken:
            raise ValueError(event)
        return event

    old = deployed(mapped("A", "B", after="C"), B=breaks)
    old.start("e", ITEMS)
    deliver_all(old)
    ending = old.ending()
    assert ending is not None
    assert ending.status is Status.FAILED
    broken.clear()
    definition = mapped("A", "B", "B2", after="N")
    definition["States"] |= {"N": {"Type": "Task", "Resource": "N", "Next": "C"}, **chain("C")["States"]}
    new = deployed(definition)
    new.clock, new.memory, new.store = old.clock, old.memory, old.memory
    return old, new


def dying() -> Iterator[tuple[Platform, Platform]]:
    """Both platforms after a redrive died, once before and once after each of its calls and its sending."""
    for number in range(1_000):
        for is_made in (False, True):
            old, new = failing()
            new.store = CutStore(new.memory, number, is_made=is_made)
            try:
                redrive(new.runtime(), "e", old=old.workflow)
            except Died:
                new.store = new.memory
                yield old, new
            else:
                break
        else:
            continue
        break
    assert number > 10
    for is_made in (False, True):
        old, new = failing()
        with pytest.raises(Died):
            redrive(replace(new.runtime(), invoker=CutInvoker(new, is_made=is_made)), "e", old=old.workflow)
        yield old, new


def again(old: Platform, new: Platform) -> None:
    redrive(new.runtime(), "e", old=old.workflow)


def check(old: Platform, new: Platform) -> None:
    """Deliver everything; the result is one, and each scope and step is of one version."""
    deliver_all(new)
    assert result(new) == ITEMS
    found = [step for step in new.steps() if step.state]
    for step in found:
        inside = [each for each in nested_steps(new.memory, "w", [step]) if each is not step]
        assert {each.digest for each in inside} <= {step.digest}
    top = [step.digest for step in found if not step.name.frames]
    assert top == sorted(top, key=[old.workflow.digest, new.workflow.digest].index), "never back to the old version"
    assert (new.calls["A"], new.calls["N"], new.calls["C"]) == (0, 1, 1)
    assert new.calls["B2"] == len(ITEMS)
    assert [step.ending is not None for step in new.steps() if not step.name.frames].count(True) == 2


def test_a_redrive_that_died_at_any_call_is_finished_by_another() -> None:
    for old, new in dying():
        new.sent = []  # events of a delivery that died may be lost like any others
        again(old, new)
        again(old, new)
        new.sent = [*{str(event.name): event for event in new.sent}.values()]
        check(old, new)


def test_the_old_version_never_takes_over_what_the_new_one_has_begun() -> None:
    for old, new in dying():
        ended = next(step for step in old.steps() if step.ending is not None)
        if versions.pinned(old.memory, "w", ended.name.following) is None:
            continue
        with pytest.raises((ExecutionNotRedrivable, NotOurEvent)):
            redrive(old.runtime(), "e")
        assert {step.digest for step in new.steps() if step.name.step > ended.name.step} <= {new.workflow.digest}
        new.sent = []
        again(old, new)
        check(old, new)


def test_a_late_delivery_of_the_old_version_changes_nothing() -> None:
    for old, new in dying():
        late, old.sent = [*old.sent], []
        again(old, new)
        for event in late:
            deliver(old, event)
        assert old.sent == []
        new.sent = [*{str(event.name): event for event in new.sent}.values()]
        check(old, new)


def test_a_stop_ends_it_and_nothing_runs() -> None:
    for old, new in dying():
        before = {**new.calls}
        execution = new.steps()[0].name.execution
        ended = stop(new.runtime(), execution, Failure("Enough", None))
        with suppress(NotOurEvent):  # before the redrive's commit, its version has nothing to nudge
            nudge(new.runtime(), "e")
        if ended.is_stop:
            deliver_all(new)
            ending = new.ending()
            assert ending is not None
            assert (ending.status, new.calls["C"]) == (Status.ABORTED, before.get("C", 0))
        else:
            assert ended.digest == old.workflow.digest, "it had failed, and was not redriven yet"


def mixed(patch: pytest.MonkeyPatch) -> None:
    """Copies have the digest of the old version."""
    renamed = redrive_module._renamed_all

    def old_digests(rt: Any, sequence: Any, frames: Any, count: Any) -> Any:
        made = renamed(rt, sequence, frames, count)
        return tuple(replace(each, digest=was.digest) for each, was in zip(made, sequence, strict=True))

    patch.setattr(redrive_module, "_renamed_all", old_digests)


def committed_first(patch: pytest.MonkeyPatch) -> None:
    """The execution runs before the results are copied."""
    patch.setattr(redrive_module, "carry", lambda *_: None)


@pytest.mark.parametrize("mistake", [mixed, committed_first])
def test_a_mistake_is_found(mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    mistake(monkeypatch)
    with pytest.raises(Exception, match=r"assert|IR|expected"):
        test_a_redrive_that_died_at_any_call_is_finished_by_another()
