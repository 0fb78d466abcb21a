"""Deliberate mistakes with packs."""

import pytest

from tests.simulation.mutations import BOTH, CRASH, DUPLICATE, NONE, Mutation
from unum_runtime.errors import RefusedDelivery
from unum_runtime.features.eager_collection import collect
from unum_runtime.model import pack
from unum_runtime.model.checkpoint import Checkpoint, Item
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import Execution, Key, Name
from unum_runtime.protocol.delivery import commit, join
from unum_runtime.protocol.fanout import completion, packing
from unum_runtime.protocol.fanout.packing import Place
from unum_runtime.protocol.history import timeline
from unum_runtime.protocol.planning.plan import Effect
from unum_runtime.protocol.runtime import Runtime
from unum_simulator import Invariant
from unum_simulator.simulated_store import SimulatedStore


class FillingTwiceStore(SimulatedStore):
    """Fills places of packs that are filled."""

    def extend(self, key: Key, item: Item, *, unless: str, expires_at_s: int) -> tuple[bool, Item]:
        present, expiry = self._items.get(key, ({}, expires_at_s))
        self._items[key] = ({name: value for name, value in present.items() if name != unless}, expiry)
        return super().extend(key, item, unless=unless, expires_at_s=expires_at_s)


class ForgetfulStore(SimulatedStore):
    """Store that returns the former version of a pack."""

    def extend(self, key: Key, item: Item, *, unless: str, expires_at_s: int) -> tuple[bool, Item]:
        before = self.read([key]).get(key, {})
        is_set, after = super().extend(key, item, unless=unless, expires_at_s=expires_at_s)
        return is_set, before if is_set else after


def what_lies_aside_counts(patch: pytest.MonkeyPatch) -> None:
    """An outcome that was set aside is taken for committed, whatever the pack says."""

    def all_of_it(items: dict[Key, Item], execution: Execution) -> dict[Key, Item]:
        aside = {key._replace(sort=key.sort[:-1]): item for key, item in items.items() if key.sort.endswith("+")}
        return dict(sorted((unpacked(items, execution) | aside).items()))

    unpacked = pack.unpacked
    for module in (join, timeline):
        patch.setattr(module, "unpacked", all_of_it)


def effects_before_the_entry(patch: pytest.MonkeyPatch) -> None:
    """Continue from an outcome set aside, although the pack may contain another."""

    def broken(rt: Runtime, place: Place, made: Checkpoint, following: Effect) -> tuple[Item | None, Item]:
        winner, found = packing.commit_packed(rt, place, made, following)
        return (None if pack.packed(made, place.slot, place.state) is None else winner), found

    patch.setattr(commit, "commit_packed", broken)


def failures_count_as_completed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(packing, "_counts_as_completed", lambda *_: True)


def packs_count_when_they_are_begun(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(completion, "is_full", lambda *_: True)


def look_up_beside_the_pack(patch: pytest.MonkeyPatch) -> None:
    """The guard looks where the outcome would be without packs."""
    patch.setattr(packing, "place_of", lambda *_: None)


def loser_of_a_place_stops(patch: pytest.MonkeyPatch) -> None:
    def find(rt: Runtime, place: Place, name: Name, found: Item | None) -> Item | None:
        if packing.find_packed(rt, place, name, found) is not None:
            raise RefusedDelivery("done already")
        return None

    patch.setattr(packing, "find_packed", find)


def packs_are_not_collected(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(collect, "uncollected", lambda _items: [])


PACK_MUTATIONS = {
    "a place of a pack is filled twice": Mutation(
        graph="results in packs",
        faults=DUPLICATE,
        breaks=Invariant.CONSISTENT,
        scenario={"store": FillingTwiceStore},
        is_near=False,
    ),
    "a pack is seen as it was": Mutation(
        graph="results in packs", faults=NONE, breaks=Invariant.NO_LOST_WORK, scenario={"store": ForgetfulStore}
    ),
    "what lies aside counts": Mutation(
        graph="results that are large at first",
        faults=BOTH,
        breaks=Invariant.SAME_VIEW,
        patch=what_lies_aside_counts,
        is_near=False,
    ),
    "effects before the entry": Mutation(
        graph="results in packs that fail",
        faults=BOTH,
        breaks=Invariant.CONSISTENT,
        patch=effects_before_the_entry,
        is_near=False,
    ),
    "failures count as completed": Mutation(
        graph="results in packs that fail",
        faults=CRASH,
        breaks=Invariant.CONSISTENT,
        patch=failures_count_as_completed,
    ),
    "packs count when they are begun": Mutation(
        graph="results in packs", faults=NONE, breaks=Invariant.NO_LOST_WORK, patch=packs_count_when_they_are_begun
    ),
    "look-up beside the pack": Mutation(
        graph="results in packs", faults=DUPLICATE, breaks=Invariant.NO_RERUN, patch=look_up_beside_the_pack
    ),
    "known result in a pack stops": Mutation(
        graph="results in packs", faults=CRASH, breaks=Invariant.NO_LOST_WORK, patch=loser_of_a_place_stops
    ),
    "packs are not collected": Mutation(
        graph="results in packs",
        faults=NONE,
        breaks=Invariant.NOTHING_LEAKS,
        patch=packs_are_not_collected,
        scenario={"collection": Collection.EAGER},
    ),
}
"""Every mistake by name."""
