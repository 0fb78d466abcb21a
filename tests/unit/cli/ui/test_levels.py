"""Rows of steps: each kind of step, with its time."""

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from tests.unit.cli.ui.shop import Shop
from tests.unit.protocol.map_platform import mapped
from tests.unit.protocol.platform import Platform, chain
from unum_cli.timing.levels import Levels, Row, Shown
from unum_cli.timing.stretches import Part, Span, stretches
from unum_cli.ui.page_server import chart
from unum_cli.ui.past_reading import Reading
from unum_client import Client
from unum_runtime.model.ir import Collection
from unum_runtime.protocol.history.timeline import Timeline


def rows(shop: Shop, name: str) -> dict[str, Row]:
    return {row.state: row for row in Reading.of(shop.client, name).rows()}


def lengths(row: Row) -> dict[Part, int]:
    found: Counter[Part] = Counter()
    for each in row.stretches:
        found[each.part] += each.to_ms - each.from_ms
    return dict(+found)


def levels(platform: Platform, name: str = "e") -> Levels:
    client = Client(store=platform.memory, workflow="w", clock=platform.clock)
    last, checkpoints, earlier = client.past(name, platform.workflow)
    return Levels(Timeline(last, checkpoints, earlier), platform.clock.ms)


@pytest.mark.parametrize(
    ("name", "state", "status", "error"),
    [
        ("done", "Ship", Shown.SUCCEEDED, None),
        ("failed", "Charge", Shown.FAILED, "PermissionError"),
        ("caught", "Charge", Shown.CAUGHT, "Broken"),
        ("retried", "Charge", Shown.SUCCEEDED, None),
        ("waiting", "Approve", Shown.WAITING, None),
    ],
)
def test_each_kind_of_step_is_shown_as_such(shop: Shop, name: str, state: str, status: Shown, error: str) -> None:
    row = rows(shop, name)[state]
    assert (row.status, row.error) == (status, error)


def test_notes_say_more(shop: Shop) -> None:
    assert rows(shop, "caught")["Charge"].note == "caught, continues at Refund"
    assert rows(shop, "retried")["Charge"].note == "retried 2 times"
    assert rows(shop, "waiting")["Approve"].note == "for an answer with its task token"


def test_what_passed_before_a_commit_is_told_apart(shop: Shop) -> None:
    assert lengths(rows(shop, "done")["Ship"]) == {Part.QUEUE: 40, Part.COLD: 200, Part.CODE: 300}
    assert rows(shop, "done")["Ship"].note == "cold start"
    assert lengths(rows(shop, "retried")["Ship"]) == {Part.QUEUE: 40, Part.CODE: 300}
    pauses_ms = 2_000 + 4_000
    tried = {Part.QUEUE: 80, Part.TRIES: 500, Part.WAITING: pauses_ms + 40, Part.CODE: 250}
    assert lengths(rows(shop, "retried")["Charge"]) == tried
    assert lengths(rows(shop, "waiting")["Approve"])[Part.WAITING] >= 600_000


def test_a_commit_of_an_earlier_release_is_shown_by_its_duration(shop: Shop) -> None:
    checkpoint = rows(shop, "retried")["Charge"].checkpoint
    assert checkpoint is not None
    bare, begun_ms = checkpoint.saying(delivery=""), checkpoint.committed_ms - 1_000
    found = [*stretches(bare, Span(begun_ms, None, waits=False))]
    assert [(each.part, each.to_ms - each.from_ms) for each in found] == [(Part.TRIES, 750), (Part.CODE, 250)]
    assert [each.part for each in stretches(bare, Span(begun_ms, None, waits=True))] == [Part.WAITING]


def test_clocks_that_differ_leave_no_gap_and_no_overlap(shop: Shop) -> None:
    checkpoint = rows(shop, "retried")["Charge"].checkpoint
    assert checkpoint is not None
    for since_ms in (checkpoint.committed_ms - 100, checkpoint.committed_ms + 100):
        found = [*stretches(checkpoint, Span(since_ms, None, waits=False))]
        assert found[0].from_ms == since_ms
        assert all(one.to_ms == other.from_ms for one, other in pairwise(found))
        assert found[-1].to_ms == max(since_ms, checkpoint.committed_ms)


def test_an_answered_task_has_waited(shop: Shop) -> None:
    shop.run("approved", approve=True)
    shop.platform.clock.ms += 3_600_000
    shop.client.send_task_success(shop.tokens[-1], '"me"')
    shop.go_on()
    approved = rows(shop, "approved")
    assert (approved["Approve"].status, approved["Ship"].status) == (Shown.SUCCEEDED, Shown.SUCCEEDED)
    assert lengths(approved["Approve"])[Part.WAITING] >= 3_600_000


def test_a_wait_is_waiting_and_not_a_queue() -> None:
    states = chain("A", "B")
    states["States"]["A"]["Next"] = "Pause"
    states["States"]["Pause"] = {"Type": "Wait", "Seconds": 60, "Next": "B"}
    platform = Platform.of(states, A=lambda event: event, B=lambda event: event)
    platform.start()
    platform.deliver_all()
    *_, waits = levels(platform).rows()
    assert (waits.state, waits.status, waits.note) == ("Pause", Shown.WAITING, "for a time")
    platform.deliver(platform.pass_to_next())
    platform.deliver_all()
    found = [lengths(row) for row in levels(platform).rows()]
    assert sum(length.get(Part.WAITING, 0) for length in found) == 60_000
    assert sum(length.get(Part.QUEUE, 0) for length in found) == 0


def test_a_fan_out_is_one_row_that_counts_its_branches() -> None:
    platform = Platform.of(mapped("A", after="Z", MaxConcurrency=2), A=lambda event: 1 / event, Z=len)
    platform.start(value=[1, 2, 4, 5])
    found: Any = None
    while platform.sent and found is None:
        platform.deliver(platform.sent.pop(0))
        (row,) = (row for row in levels(platform).rows() if row.branches)
        found = row if row.branches and row.branches[Shown.SUCCEEDED] == 1 else None
    assert (found.status, found.branches) == (Shown.RUNNING, {Shown.SUCCEEDED: 1, Shown.RUNNING: 2, Shown.PENDING: 1})
    platform.deliver_all()
    done, joined = levels(platform).rows()
    assert (done.status, done.branches, joined.state) == (Shown.SUCCEEDED, {Shown.SUCCEEDED: 4}, "Z")


def test_branches_of_a_failed_map_have_stopped() -> None:
    platform = Platform.of(mapped("A"), A=lambda event: 1 / event)
    platform.start(value=[1, 0, 1])
    platform.deliver(platform.sent.pop(0))
    platform.deliver(platform.sent.pop(0))
    (row,) = levels(platform).rows()
    assert (row.status, row.error) == (Shown.FAILED, "ZeroDivisionError")
    assert row.branches == {Shown.SUCCEEDED: 1, Shown.FAILED: 1, Shown.STOPPED: 1}


def test_the_input_of_a_joining_task_is_its_branches_results() -> None:
    platform = Platform.of(mapped("A", after="Z"), A=lambda event: event * 2, Z=sum)
    platform.run(value=[1, 2])
    found = levels(platform)
    inputs = {row.state: found.value_before(row.checkpoint.name) for row in found.rows() if row.checkpoint}
    assert inputs["Z"] is not None
    assert inputs["Z"].value == [2, 4]
    scope = next(each.opens for each in found.by_key.values() if each.opens)
    (branch,) = found.rows(scope.branch(1))
    assert branch.checkpoint is not None
    given = found.value_before(branch.checkpoint.name)
    assert given is not None
    assert given.value == 2


def test_a_branch_that_has_not_begun_has_a_page_too() -> None:
    platform = Platform.of(mapped("A", MaxConcurrency=1), A=lambda event: event)
    platform.start(value=[1, 2])
    found = levels(platform)
    scope = next(each.opens for each in found.by_key.values() if each.opens)
    assert found.statuses(scope) == [Shown.RUNNING, Shown.PENDING]
    assert [row.status for row in found.rows(scope.branch(0))] == [Shown.RUNNING]


def test_a_collected_execution_is_shown_without_its_values() -> None:
    platform = Platform.of(mapped("A", after="Z"), A=lambda event: event, Z=len)
    platform.collection = Collection.EAGER
    platform.run(value=[1, 2])
    found = levels(platform)
    assert [row.status for row in found.rows()] == [Shown.SUCCEEDED, Shown.SUCCEEDED]


def test_bars_stay_inside_the_chart(shop: Shop) -> None:
    for name in ("done", "waiting", "retried"):
        found = Reading.of(shop.client, name).rows()
        began_ms = found[0].stretches[0].from_ms
        lines = chart(found, began_ms, max(each.to_ms for row in found for each in row.stretches))
        for line in lines:
            assert all(bar.x >= 0 and bar.x + bar.width <= 1000.2 for bar in line.bars)
            assert line.bars
