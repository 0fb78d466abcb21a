"""Deliberate mistakes in the collection of fan-outs that failed, and of executions that were stopped."""

from dataclasses import replace
from functools import partial

import pytest

from tests.simulation.mutations import NONE, Mutation
from unum_runtime.features.eager_collection import collect
from unum_runtime.model.ir import Collection
from unum_runtime.protocol.delivery import join
from unum_simulator import Faults, Invariant

STOP = Faults(crashes=0, duplicates=0, stops=1)


def failed_scope_is_not_collected(patch: pytest.MonkeyPatch) -> None:
    failed = join._fail_scope
    patch.setattr(join, "_fail_scope", lambda *given: replace(failed(*given), joins=None))


def straggler_does_not_tidy_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(collect, "take_back", lambda *_: None)


def scopes_inside_are_not_collected(patch: pytest.MonkeyPatch) -> None:
    tree = collect._tree
    patch.setattr(collect, "_tree", lambda rt, found: tree(rt, replace(found, opens=None)))


def stop_does_not_collect(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(collect, "collect_last", lambda *_: None)


leaks = partial(Mutation, breaks=Invariant.NOTHING_LEAKS, scenario={"collection": Collection.EAGER})

COLLECT_MUTATIONS = {
    "failed scope is not collected": leaks(graph="catch of a scope", faults=NONE, patch=failed_scope_is_not_collected),
    "straggler does not tidy up": leaks(graph="catch of a scope", faults=NONE, patch=straggler_does_not_tidy_up),
    "scopes inside of a failed one are not collected": leaks(
        graph="catch of a scope around a map", faults=NONE, patch=scopes_inside_are_not_collected, is_near=False
    ),
    "stop does not collect": leaks(graph="map", faults=STOP, patch=stop_does_not_collect),
}
"""Every mistake by name."""
