"""Deliberate mistakes in what is stored of jobs; each is found, and told by the invariant that it breaks."""

import sys
from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.simulation.mutations import Mutation
from unum_runtime.errors import RefusedDelivery
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Collection
from unum_runtime.model.states import Json, State
from unum_runtime.protocol.delivery import deliver, run_task
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.protocol.waiting import service_job
from unum_simulator import Faults, Invariant

CRASH = Faults(crashes=1, duplicates=0)
DUPLICATE = Faults(crashes=0, duplicates=1)
STOP = Faults(crashes=0, duplicates=0, stops=1)
next_poll = service_job.next_poll


def nothing_stored(patch: pytest.MonkeyPatch) -> None:
    def unstored(rt: Runtime, _envelope: Envelope, found: Mapping[str, Json], due_ms: int) -> Json:
        return {**found, "term": 0, "until": due_ms + service_job.TERM_MS, "by": rt.delivery}

    patch.setattr(run_task, "next_poll", unstored)


def started_whatever_is_stored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(run_task, "with_stored_job", lambda _rt, envelope: envelope)


def a_term_is_of_its_delivery(patch: pytest.MonkeyPatch) -> None:
    def own(rt: Runtime, envelope: Envelope, found: Mapping[str, Json], due_ms: int) -> Json:
        before = envelope.job and {**envelope.job, "by": rt.delivery}
        return next_poll(rt, replace(envelope, job=before), found, due_ms)

    patch.setattr(run_task, "next_poll", own)


def who_has_begun_the_term_before_goes_on(patch: pytest.MonkeyPatch) -> None:
    """Stop at a term that any event has begun, this one included."""

    def first(rt: Runtime, envelope: Envelope, found: Mapping[str, Json], due_ms: int) -> Json:
        before = envelope.job and {**envelope.job, "by": "nobody"}
        known = rt.store.read([service_job._key(rt, envelope, (before or {"term": -1})["term"] + 1)])
        return None if known else next_poll(rt, replace(envelope, job=before), found, due_ms)

    patch.setattr(run_task, "next_poll", first)


def what_nobody_waits_for_is_kept(patch: pytest.MonkeyPatch) -> None:
    """Keep records of a job after its execution was stopped, or its fan-out settled, before the job's end."""

    def unless_refused(rt: Runtime, envelope: Envelope, state: State) -> None:
        if not isinstance(sys.exception(), RefusedDelivery):
            collect(rt, envelope, state)

    collect = deliver._collect_waiting
    patch.setattr(deliver, "_collect_waiting", unless_refused)


JOB_MUTATIONS: dict[str, Mutation] = {
    "jobs that are not stored": Mutation(
        graph="job", faults=DUPLICATE, breaks=Invariant.NO_RERUN, patch=nothing_stored
    ),
    "a job that is stored is started again": Mutation(
        graph="retry of a job", faults=DUPLICATE, breaks=Invariant.NO_RERUN, patch=started_whatever_is_stored
    ),
    "a term that is of its delivery": Mutation(
        graph="job", faults=CRASH, breaks=Invariant.NO_LOST_WORK, patch=a_term_is_of_its_delivery
    ),
    "a term that nobody goes on in who has begun it": Mutation(
        graph="job", faults=CRASH, breaks=Invariant.NO_LOST_WORK, patch=who_has_begun_the_term_before_goes_on
    ),
    "a job that nobody waits for is kept": Mutation(
        graph="jobs of branches",
        faults=STOP,
        breaks=Invariant.NOTHING_LEAKS,
        patch=what_nobody_waits_for_is_kept,
        scenario={"collection": Collection.EAGER},
    ),
}
