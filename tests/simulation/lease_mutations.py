"""Mistakes of deliveries that wait for a lease."""

from typing import Any

import pytest

from tests.simulation.mutations import CRASH, NONE, Mutation
from tests.simulation.test_leases import StolenStore
from unum_runtime.errors import LeaseHeldError
from unum_runtime.features.timers import waiter
from unum_runtime.model.envelope import Envelope
from unum_runtime.protocol.delivery import lease
from unum_runtime.protocol.runtime import Runtime
from unum_simulator import Invariant

ONE = {"in_one_function": True}
HOUR_MS = 3_600_000


def never_looks_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(waiter, "wait_for_result", lambda *_: None)


def fails(patch: pytest.MonkeyPatch) -> None:
    """The delivery ends with an error, which Lambda repeats twice."""

    def wait_for_result(_rt: Runtime, _envelope: Envelope, held: LeaseHeldError) -> None:
        raise held

    patch.setattr(waiter, "wait_for_result", wait_for_result)


def waits_beyond_the_execution(patch: pytest.MonkeyPatch) -> None:
    claim = lease._claim

    def endless(*given: Any, **named: Any) -> Any:
        return claim(*given, **{**named, "patient_until_ms": 2**60})

    patch.setattr(lease, "_claim", endless)
    patch.setattr(waiter, "LEAST_MS", 6 * HOUR_MS)
    patch.setattr(waiter, "MOST_MS", 6 * HOUR_MS)


LEASE_MUTATIONS: dict[str, Mutation] = {
    "a waiter that never looks again": Mutation(
        graph="leased task", faults=CRASH, breaks=Invariant.NO_LOST_WORK, patch=never_looks_again
    ),
    "a waiter of a fused invocation that never looks again": Mutation(
        graph="leased chain",
        faults=NONE,
        breaks=Invariant.NO_LOST_WORK,
        patch=never_looks_again,
        scenario=ONE | {"store": StolenStore},
    ),
    "a waiter that fails": Mutation(
        graph="leased task",
        faults=NONE,
        breaks=Invariant.NO_LOST_WORK,
        patch=fails,
        scenario={"store": StolenStore},
    ),
    "a waiter for a shared result that never looks again": Mutation(
        graph="shared results", faults=CRASH, breaks=Invariant.NO_LOST_WORK, patch=never_looks_again, is_near=False
    ),
    "a waiter that waits beyond its execution's last moment": Mutation(
        graph="leased task",
        faults=NONE,
        breaks=Invariant.NO_LOST_WORK,
        patch=waits_beyond_the_execution,
        scenario={"store": StolenStore},
    ),
}
