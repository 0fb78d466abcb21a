"""Rows and spans of workflows that nobody thought of, at any moment of executions under faults."""

import random
from collections.abc import Iterator

import pytest

from tests.simulation.generated_workflows import by_seed, generated, small_sizes
from unum_cli.timing.levels import Levels, Row, Shown
from unum_cli.traces.family import ExecutionSpans
from unum_client.reading import stored_steps
from unum_runtime.errors import StoreError
from unum_runtime.model.checkpoint import Checkpoint, Phase
from unum_runtime.protocol.history.timeline import Timeline
from unum_simulator.exploration import _scheduler
from unum_simulator.moves import make, moves
from unum_simulator.world import World

MOST_MOVES = 300
READ_EACH = 12


def readings(world: World) -> Iterator[tuple[Levels, list[Checkpoint]]]:
    """Yield the levels and the steps of each execution in `world`."""
    name = world.scenario.workflow.name
    for execution in world.observed:
        record = stored_steps.start_record(world.store, name, execution.name)
        steps = [*stored_steps.steps(world.store, name, record.name.execution)]
        yield Levels(Timeline(world.scenario.workflow, [record, *steps]), world.clock.ms), steps


def all_rows(levels: Levels) -> Iterator[Row]:
    """Yield the rows of all levels."""
    ahead = [levels.rows()]
    while ahead:
        for row in ahead.pop():
            yield row
            scope = levels.by_key[row.key].opens if row.branches is not None else None
            if scope is not None:
                assert sum((row.branches or {}).values()) == scope.size
                ahead += [levels.rows(scope.branch(index)) for index in range(scope.size)]


def check(levels: Levels, steps: list[Checkpoint]) -> None:
    rows = [*all_rows(levels)]
    for row in rows:
        assert all(one.from_ms <= one.to_ms for one in row.stretches)
        assert all(one.to_ms == other.from_ms for one, other in zip(row.stretches, row.stretches[1:], strict=False))
    shown = [row.key for row in rows if row.checkpoint is not None]
    own = [each for each in steps if not each.is_stop and each.phase is not Phase.ENTERED]
    assert sorted(shown) == sorted(str(each.name) for each in own if not levels._is_end_of_fan_out(each))
    is_alive = any(row.status in (Shown.RUNNING, Shown.WAITING) for row in rows)
    assert is_alive is (levels.timeline.end is None)


def check_spans(levels: Levels) -> None:
    spans = [*ExecutionSpans(levels, {}).spans()]
    known = {""}
    for span in spans:
        assert span.parent_id in known
        assert span.span_id not in known
        known.add(span.span_id)
        assert span.from_ms <= span.to_ms
    assert {link.span_id for span in spans for link in span.links} <= known
    shown = {span.attributes.get("unum.invocation") for span in spans}
    assert {row.key for row in all_rows(levels) if row.checkpoint is not None} <= shown


@pytest.mark.parametrize("first", [0, 20])
def test_each_commit_has_one_row_and_what_runs_is_shown(first: int) -> None:
    for seed in range(first, first + 20):
        choose = by_seed(seed)
        with small_sizes(choose):
            world = World.of(generated(choose))
            pick = _scheduler(random.Random(seed))  # noqa: S311 - nothing is secret here
            for number in range(MOST_MOVES):
                if not (choices := moves(world)):
                    break
                make(world, pick(choices))
                if number % READ_EACH == 0:
                    try:
                        found = [*readings(world)]
                    except StoreError:  # values in objects, which this reader has no bucket for
                        break
                    for levels, steps in found:
                        check(levels, steps)
                        check_spans(levels)
