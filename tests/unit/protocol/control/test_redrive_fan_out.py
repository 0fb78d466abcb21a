"""Copies of branches for a redrive: each is made once, and another commit under its name is told."""

from dataclasses import replace

import pytest

from tests.unit.protocol.map_platform import deployed, mapped, result
from unum_runtime.model.checkpoint import Checkpoint, Phase, Success
from unum_runtime.protocol.control.redrives.entry import commit_step
from unum_runtime.protocol.control.redrives.redrive import copy


@pytest.mark.parametrize("small_results", [False, True], ids=["items", "packs"])
def test_a_copy_is_made_once_and_another_commit_under_its_name_is_told(*, small_results: bool) -> None:
    platform = deployed(mapped("A"))
    platform.workflow = replace(platform.workflow, small_results=small_results)
    platform.start("e", [1, 2])
    rt, event = platform.runtime(), platform.sent[0]
    made = Checkpoint(
        name=event.name,
        state="A",
        phase=Phase.LEFT,
        outcome=Success(5),
        digest=platform.workflow.digest,
        committed_ms=platform.clock.ms,
    )
    assert copy(rt, made)
    assert copy(rt, made)
    assert not copy(rt, replace(made, outcome=Success(6)))
    assert commit_step(rt, made) == made or small_results
    platform.deliver_all()
    assert result(platform) == [5, 2]
