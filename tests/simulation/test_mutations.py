"""The simulator finds each of our deliberate mistakes and says which invariant it breaks."""

import pytest

from tests.simulation.attempt_mutations import ATTEMPT_MUTATIONS
from tests.simulation.collect_mutations import COLLECT_MUTATIONS
from tests.simulation.fusion_mutations import FUSION_MUTATIONS
from tests.simulation.job_mutations import JOB_MUTATIONS
from tests.simulation.large_mutations import LARGE_MUTATIONS
from tests.simulation.lease_mutations import LEASE_MUTATIONS
from tests.simulation.mutations import MUTATIONS, Mutation
from tests.simulation.neighbour_mutations import NEIGHBOUR_MUTATIONS
from tests.simulation.pack_mutations import PACK_MUTATIONS
from tests.simulation.part_mutations import PART_MUTATIONS
from tests.simulation.region_mutations import REGION_MUTATIONS
from tests.simulation.scenarios import scenario
from tests.simulation.stop_mutations import STOP_MUTATIONS
from tests.simulation.wave_mutations import WAVE_MUTATIONS
from unum_simulator import Violation, explore, search

MAX_STATES = 5_000
SEEDS = range(1_000)


ALL = (
    MUTATIONS
    | STOP_MUTATIONS
    | COLLECT_MUTATIONS
    | FUSION_MUTATIONS
    | LARGE_MUTATIONS
    | LEASE_MUTATIONS
    | PACK_MUTATIONS
    | PART_MUTATIONS
    | JOB_MUTATIONS
    | NEIGHBOUR_MUTATIONS
    | REGION_MUTATIONS
    | ATTEMPT_MUTATIONS
    | WAVE_MUTATIONS
)


@pytest.mark.parametrize("mutation", [pytest.param(mutation, id=name) for name, mutation in ALL.items()])
def test_a_mistake_is_found(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    mutation.patch(monkeypatch)
    broken = scenario(mutation.graph, faults=mutation.faults, **mutation.scenario)
    with pytest.raises(Violation) as by_chance:
        search(broken, SEEDS)
    assert by_chance.value.invariant is mutation.breaks
    if mutation.is_near:
        with pytest.raises(Violation) as by_system:
            explore(broken, max_states=MAX_STATES)
        assert by_system.value.invariant is mutation.breaks
