"""Deliberate mistakes with parts of fan-outs, and with branches that others begin."""

from typing import Any

import pytest

from tests.simulation.mutations import CRASH, NONE, Mutation
from tests.simulation.wide_fan_outs import MOST_BEGUN
from unum_runtime.errors import RefusedDelivery
from unum_runtime.model.naming import Name, checkpoint_key
from unum_runtime.protocol.delivery import ingress, perform
from unum_runtime.protocol.fanout import lanes
from unum_runtime.protocol.fanout.packing import Found
from unum_runtime.protocol.planning.plan import Invoke, OpenScope, parts
from unum_runtime.protocol.runtime import Runtime
from unum_simulator import Faults, Invariant

IN_PARTS: dict[str, Any] = {"most_begun": MOST_BEGUN}
THROTTLE = Faults(crashes=0, duplicates=0, throttles=1)


def part_not_begun_again(patch: pytest.MonkeyPatch) -> None:
    """A part counts as begun once its first branch has ended."""

    def read_part(rt: Runtime, first: Name, stop: int) -> OpenScope:
        key = checkpoint_key(rt.workflow.name, first)
        if key in rt.store.read([key]):
            raise RefusedDelivery("done already")
        return lanes.read_part(rt, first, stop)

    patch.setattr(ingress, "read_part", read_part)


def settled_part_stops(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(lanes, "is_stop_record", lambda _item: True)


def last_part_forgotten(patch: pytest.MonkeyPatch) -> None:
    def all_but_one(opened: OpenScope, most: int) -> list[Invoke]:
        return parts(opened, most)[:-1]

    patch.setattr(perform, "parts", all_but_one)


def lane_stops_where_it_settles(patch: pytest.MonkeyPatch) -> None:
    def settled_alone(rt: Runtime, name: Name, state: str) -> Found:
        return None, reading(rt, name, state)[1]

    reading = lanes.read_outcome
    patch.setattr(lanes, "read_outcome", settled_alone)


PART_MUTATIONS = {
    "a part is not begun again": Mutation(
        graph="map in parts",
        faults=THROTTLE,
        breaks=Invariant.NO_LOST_WORK,
        patch=part_not_begun_again,
        scenario=IN_PARTS,
        is_near=False,
    ),
    "a settled part stops": Mutation(
        graph="part that fails",
        faults=CRASH,
        breaks=Invariant.NO_LOST_WORK,
        patch=settled_part_stops,
        scenario=IN_PARTS,
        is_near=False,
    ),
    "the last part is forgotten": Mutation(
        graph="map in parts",
        faults=NONE,
        breaks=Invariant.NO_LOST_WORK,
        patch=last_part_forgotten,
        scenario=IN_PARTS,
    ),
    "a lane stops where it settles": Mutation(
        graph="lane that fails", faults=CRASH, breaks=Invariant.NO_LOST_WORK, patch=lane_stops_where_it_settles
    ),
}
"""Every mistake by name."""
