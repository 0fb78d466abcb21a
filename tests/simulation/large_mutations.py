"""Mistakes with values that are stored as objects; in the simulations every value is one, as is every event's input."""

from collections.abc import Iterable
from typing import Any

import pytest

from tests.simulation.mutations import CRASH, DUPLICATE, NONE, Mutation
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.naming import Key
from unum_runtime.store import large_items
from unum_runtime.store.large_items import LargeItems
from unum_simulator import Invariant, scenario
from unum_simulator.simulated_store import SimulatedStore

EVERYTHING: dict[str, Any] = {"least_bytes": 1}


class ForgetfulObjects(SimulatedStore):
    """Objects of which a loser of a create deletes the winner's, too."""

    def create(self, key: Key, item: Item, *, expires_at_s: int) -> Item | None:
        winner = super().create(key, item, expires_at_s=expires_at_s)
        if winner is not None:
            for _, reference in large_items.references(item):
                self._objects.pop(reference, None)
        return winner


class TruncatingObjects(SimulatedStore):
    """Gives back something else than it was given."""

    def get(self, names: Iterable[str]) -> dict[str, bytes]:
        return dict.fromkeys(super().get(names), b"0")


def reference_before_object(patch: pytest.MonkeyPatch) -> None:
    def create(own: LargeItems, key: Key, item: Item, *, expires_at_s: int) -> Item | None:
        small, objects = own.split(key, item)
        winner = own.store.create(key, small, expires_at_s=expires_at_s)
        for name, content in objects.items():
            own.objects.put(name, content)
        return None if winner is None else own._with_texts({key: winner})[key]

    patch.setattr(LargeItems, "create", create)


def events_refer_to_nothing(patch: pytest.MonkeyPatch) -> None:
    """Replace references in events by nothing; stored outcomes keep theirs."""
    patch.setattr(LargeItems, "store_text", lambda own, partition, text: own._name(partition, text.encode()))


def objects_expire_as_items_do(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scenario, "object_lifetime_days", lambda retention_s: retention_s // large_items.DAY_S)


def name_without_content(patch: pytest.MonkeyPatch) -> None:
    """Deliveries overwrite each other's objects, also when one has won."""
    patch.setattr(large_items, "_digest", lambda _: "output")
    patch.setattr(large_items, "object_folder", lambda _, partition: partition)


LARGE_MUTATIONS: dict[str, Mutation] = {
    "reference before its object": Mutation(
        graph="chain", faults=CRASH, breaks=Invariant.NO_LOST_WORK, patch=reference_before_object, scenario=EVERYTHING
    ),
    "loser deletes its object": Mutation(
        graph="chain",
        faults=DUPLICATE,
        breaks=Invariant.NO_LOST_WORK,
        scenario={**EVERYTHING, "store": ForgetfulObjects},
    ),
    "events refer to nothing": Mutation(
        graph="map", faults=NONE, breaks=Invariant.NO_LOST_WORK, patch=events_refer_to_nothing, scenario=EVERYTHING
    ),
    "objects expire as items do": Mutation(
        graph="branches without tasks",
        faults=NONE,
        breaks=Invariant.NO_LOST_WORK,
        patch=objects_expire_as_items_do,
        scenario={**EVERYTHING, "tick_ms": 1000},
    ),
    "object not named by its content": Mutation(
        graph="chain", faults=DUPLICATE, breaks=Invariant.ONE_RESULT, patch=name_without_content, scenario=EVERYTHING
    ),
}
