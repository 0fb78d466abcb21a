"""Jobs that Tasks wait for (`.sync`): what is stored of them, so that a look that was lost can be made up for.

A job is looked at by events, each of which sends the next. What is needed to look is stored before the first of them is
sent, and now and then again, each time for a *term*: so a term that is over without another after it tells that a look
was lost, and what is stored, how to go on. A job that ends within its first term costs one write.

Terms have numbers and are stored by create-if-absent. Looks may multiply, because events come twice, or somebody
nudges; an event says which delivery has sent it, and where two of them want to begin the same term, only the one that
does goes on. What says who does is the event and not the delivery of it: so whoever dies after it has begun a term has
begun it when its event comes again.
"""

import json
from collections.abc import Mapping

from unum_runtime.cold_start.digest import sha256
from unum_runtime.cold_start.records import NamedTuple, replace
from unum_runtime.errors import RefusedDelivery
from unum_runtime.model.checkpoint import TOMBSTONE, Item, to_text
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Json, Pattern, State, Task
from unum_runtime.model.naming import Key, Name, job_key, job_partition, term_of_job
from unum_runtime.protocol.runtime import Runtime

TERM_MS = 900_000
"""How long a term lasts after the look that it begins with is due."""

MARGIN_MS = 300_000
"""How much of a term has to be left when a look is due that begins no other: so late may a look be delivered."""


class Stored(NamedTuple):
    """What is stored of the last job of a Task.

    Attributes:
        job: of the event that looks at it.
        retries: the same.
        until_ms: when its term is over, in milliseconds since 1970; as long as it is looked at, it begins another
            before that.
    """

    job: Mapping[str, Json]
    retries: tuple[int, ...]
    until_ms: int

    def looked_at_by(self, delivery: str) -> Json:
        """The job of an event that `delivery` sends; it begins another term, if the job is not over."""
        return {**self.job, "until": 0, "by": delivery}


def resumed(rt: Runtime, envelope: Envelope, task: Task) -> Envelope:
    """`envelope`; or, if that is to start a job of `task` which was started before, an event that looks at it.

    Raises:
        RefusedDelivery: what is stored of the job was collected.
    """
    if task.pattern is not Pattern.SYNC or envelope.job is not None:
        return envelope
    key = _key(rt, envelope, term=0)
    item = rt.store.read([key]).get(key)
    return envelope if item is None else replace(envelope, job=_job(item, term=0))


def next_look(rt: Runtime, envelope: Envelope, found: Mapping[str, Json], due_ms: int) -> Json:
    """The job of the event that looks next.

    Args:
        rt: the runtime.
        envelope: the event that has started the job, or looked at it.
        found: ``handle``, what the service has to be asked by, and ``since``, when the try began.
        due_ms: when the next look is due, in milliseconds since 1970.

    Returns:
        None if other events look at the job, so that none must follow.
    """
    before = envelope.job
    if before is not None and before["until"] - due_ms >= MARGIN_MS:
        return {**before, **found, "by": rt.delivery}
    term, by = (0, "") if before is None else (before["term"] + 1, before["by"])
    item: Item = {
        "value": to_text(dict(found)),
        "retries": to_text([*envelope.retries]),
        "until_ms": due_ms + TERM_MS,
        "by": by,
    }
    item = rt.store.create(_key(rt, envelope, term), item, expires_at_s=rt.expires_at_s()) or item
    return {**_job(item, term), "by": rt.delivery} if item["by"] == by and TOMBSTONE not in item else None


def last_job(rt: Runtime, name: Name, state: str) -> Stored | None:
    """What is stored of the last job of `state` under `name`; None if it has started none, or that is collected."""
    partition = job_partition(rt.workflow.name, _digest(name, state))
    for key, item in rt.store.query(partition, newest=1).items():
        if TOMBSTONE not in item:
            return Stored(_job(item, term_of_job(key)), tuple(json.loads(str(item["retries"]))), int(item["until_ms"]))
    return None


def forget(rt: Runtime, envelope: Envelope, state: State) -> None:
    """Collect what was stored of the jobs of all tries; the outcome is committed and what follows is sent."""
    if isinstance(state, Task) and state.pattern is Pattern.SYNC:
        items = rt.store.query(job_partition(rt.workflow.name, _digest(envelope.name, envelope.state)))
        rt.store.collect(key for key, item in items.items() if TOMBSTONE not in item)


def _key(rt: Runtime, envelope: Envelope, term: int) -> Key:
    digest = _digest(envelope.name, envelope.state)
    return job_key(rt.workflow.name, digest, sum(envelope.retries), term)


def _digest(name: Name, state: str) -> str:
    """Names a Task; the state is in it, as one that is not checkpointed has the name of the one that commits for it."""
    return sha256(f"{name} {state}".encode())


def _job(item: Item, term: int) -> dict[str, Json]:
    if TOMBSTONE in item:
        raise RefusedDelivery("its job was collected, because what follows from it is committed")
    return {**json.loads(str(item["value"])), "term": term, "until": item["until_ms"], "by": item["by"]}
