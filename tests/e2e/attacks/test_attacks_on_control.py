"""Attackers without the rights cannot operate or start executions, by any message to any address open to them."""

from collections.abc import Iterator

import pytest

from tests.e2e.attacks.world import EFFECTS, STARTED, World, brought_about
from tests.e2e.conftest import Deployment

pytestmark = pytest.mark.e2e

MAY: dict[str, set[str]] = {
    "Nobody": set(),
    "Reader": set(),
    "Stopper": {"stop"},
    "Redriver": {"redrive"},
    "Forker": {"fork"},
    "Nudger": {"begin"},
    "Deleter": {"delete"},
    "Pauser": {"pause"},
    "Forgetter": {"forget"},
    "Caller": {"call"},
    "FlowSecond": {"false result", "forged step"},
    "FlowFirst": {"start", "begin", "forged step", "other input or entry", "pause", "false result"},
    "FlowTimerForwarder": {"forged step"},
    "FlowSweepRole": {"begin"},
    "OtherSecond": set(),
    "OtherFirst": {"other input or entry"},
    "Hole": {"step of the other workflow's", "end of the other workflow's", "call of another Task"},
}
"""What each role is there for. The code of the function in which executions start may start some; no other may. What a
function may invoke, it may invoke with any event of its own workflow. Where executions start, start records are
written: the function of the other workflow changes those of its own. Functions store memoized results of their own
workflow, also false ones; they send themselves events, by the timer, while another delivery computes the same. The
hole is planted, for effects that no role may bring about: a judge that finds nothing proves nothing."""


def test_each_effect_is_seen_to_be_brought_about_by_a_role() -> None:
    assert set().union(*MAY.values()) == {*EFFECTS, STARTED}


@pytest.fixture(scope="module")
def world(deployment: Deployment) -> Iterator[World]:
    found = World(deployment)
    yield found
    found.forget()


@pytest.mark.parametrize("role", MAY)
def test_a_role_brings_about_what_it_is_for_and_nothing_else(role: str, world: World) -> None:
    assert brought_about(world, role) == MAY[role]
