"""Deliberate mistakes in the collection of fan-outs that failed."""

from dataclasses import replace

import pytest
from mutations import NONE, Mutation

from unum_runtime.model.ir import Collection
from unum_runtime.protocol import collect, fanin, perform
from unum_runtime.simulator import Invariant


def failed_scope_is_not_collected(patch: pytest.MonkeyPatch) -> None:
    failed = fanin._failed
    patch.setattr(fanin, "_failed", lambda *given: replace(failed(*given), joins=None))


def straggler_does_not_tidy_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(perform, "take_back", lambda *_: None)


def scopes_inside_are_not_collected(patch: pytest.MonkeyPatch) -> None:
    tree = collect._tree
    patch.setattr(collect, "_tree", lambda rt, found: tree(rt, replace(found, opens=None)))


COLLECT_MUTATIONS = {
    "failed scope is not collected": Mutation(
        graph="catch of a scope",
        faults=NONE,
        breaks=Invariant.NOTHING_LEAKS,
        patch=failed_scope_is_not_collected,
        scenario={"collection": Collection.EAGER},
    ),
    "straggler does not tidy up": Mutation(
        graph="catch of a scope",
        faults=NONE,
        breaks=Invariant.NOTHING_LEAKS,
        patch=straggler_does_not_tidy_up,
        scenario={"collection": Collection.EAGER},
    ),
    "scopes inside of a failed one are not collected": Mutation(
        graph="catch of a scope around a map",
        faults=NONE,
        breaks=Invariant.NOTHING_LEAKS,
        patch=scopes_inside_are_not_collected,
        scenario={"collection": Collection.EAGER},
        is_near=False,
    ),
}
"""Every mistake by name."""
