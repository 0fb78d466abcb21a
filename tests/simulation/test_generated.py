"""Workflows that nobody thought of, with functions whose results differ from run to run; more in `search.py`."""

import os
from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.simulation.generated_workflows import by_seed, generated, small_sizes
from unum_runtime.model.states import FanOut, Guard, Map
from unum_simulator import search

EXAMPLES = int(os.environ.get("UNUM_SIMULATION_EXAMPLES", "60"))
RUNS_EACH = 3


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.integers(0, 1_000))
def test_generated_workflows(data: st.DataObject, seed: int) -> None:
    def choose(choices: Sequence[Any]) -> Any:
        return data.draw(st.sampled_from(choices))

    with small_sizes(choose):
        search(generated(choose), range(seed, seed + RUNS_EACH))


def test_they_have_whatever_the_protocol_knows() -> None:
    """The search covers every feature of the protocol."""
    made = [generated(by_seed(seed)) for seed in range(200)]
    tasks = [task for each in made for task in each.workflow.tasks]
    fan_outs = [state for each in made for state in each.workflow.states.values() if isinstance(state, FanOut)]
    assert {task.guard for task in tasks} == {*Guard}
    assert any(task.meets_previous for task in tasks)
    assert any(task.after_previous for task in tasks)
    assert any(task.committed_by for task in tasks)
    assert any(task.memoize for task in tasks)
    assert any(task.resource for task in tasks)
    assert any(fan_out.quorum for fan_out in fan_outs)
    assert any(isinstance(fan_out, Map) and fan_out.tolerates for fan_out in fan_outs)
    assert {bool(each.workflow.small_results) for each in made} == {True, False}
    for fault in ("vanishes", "stops", "nudges", "redrives"):
        assert any(getattr(each.faults, fault) for each in made)


def test_nudged_job_knows_the_number_of_earlier_attempts_alone() -> None:
    """A job's second attempt loses an event; the nudge that sends it again cannot know how the first attempt failed."""
    choose = by_seed(4)
    with small_sizes(choose):
        search(generated(choose), range(2))
