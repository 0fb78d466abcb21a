"""Service jobs (`.sync` Tasks): poll jobs by event chains, and recover broken chains.

Each event polls the job and sends the next event. The facts needed for polling are stored before the first event is
sent, and again from time to time, each time for a *term*. A term that is over without a successor proves that a poll
was lost, and its item contains everything to resume polling. A job that ends within its first term costs one write.

Terms are numbered and created if absent. Polls may multiply, because events are repeated and operators nudge. Each
event names the delivery that sent it. If two events want to begin the same term, only the event named in the term's
item continues. The event decides, not its delivery: an event that began a term and died continues when it is delivered
again.
"""

from collections.abc import Mapping

from unum_runtime.cold_start.digest import sha256
from unum_runtime.cold_start.records import NamedTuple, replace
from unum_runtime.errors import RefusedDelivery
from unum_runtime.json_text import parse_json, to_text
from unum_runtime.model.checkpoint import TOMBSTONE, Item
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.naming import Key, Name, job_key, job_partition, term_of_job
from unum_runtime.model.states import Json, Pattern, State, Task
from unum_runtime.protocol.runtime import Runtime

TERM_MS = 900_000
"""Duration of a term after its first poll is due."""

MARGIN_MS = 300_000
"""Minimum rest of a term when a poll without a new term is due: a poll may be delivered that late."""


class Stored(NamedTuple):
    """Stored facts about a Task's last job.

    Attributes:
        job: job of the event that polls it.
        retries: retries of that event.
        until_ms: end of its term, in milliseconds since 1970; a live chain of polls begins the next term before.
    """

    job: Mapping[str, Json]
    retries: tuple[int, ...]
    until_ms: int

    def polled_by(self, delivery: str) -> Json:
        """Return a polling job for `delivery`'s event, which begins a new term unless the service job ended."""
        return {**self.job, "until": 0, "by": delivery}


def with_stored_job(rt: Runtime, envelope: Envelope) -> Envelope:
    """Return an event polling `envelope`'s started job; without stored job, return `envelope`, which starts one.

    Raises:
        RefusedDelivery: the stored job was collected.
    """
    # A second job would cost money and do its side effects twice, so every first event reads before it starts one.
    key = _key(rt, envelope, term=0)
    item = rt.store.read([key]).get(key)
    return envelope if item is None else replace(envelope, job=_job(item, term=0))


def next_poll(rt: Runtime, envelope: Envelope, found: Mapping[str, Json], due_ms: int) -> Json:
    """Return the next polling event's job.

    Args:
        rt: the runtime.
        envelope: the event that has started or polled the job.
        found: ``handle``, which polls the service, and ``since``, the start of the try.
        due_ms: time of the next poll, in milliseconds since 1970.

    Returns:
        None if other events poll the job, so that none must follow this one.
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
    # The event that began the term continues, also in a repeated delivery; every other chain of polls ends here.
    return {**_job(item, term), "by": rt.delivery} if item["by"] == by and TOMBSTONE not in item else None


def last_job(rt: Runtime, name: Name, state: str) -> Stored | None:
    """Return `state`'s last stored job under `name`; None for missing or collected jobs."""
    partition = job_partition(rt.workflow.name, _digest(name, state))
    for key, item in rt.store.query(partition, newest=1).items():
        if TOMBSTONE not in item:
            return Stored(_job(item, term_of_job(key)), tuple(parse_json(str(item["retries"]))), int(item["until_ms"]))
    return None


def collect_jobs(rt: Runtime, envelope: Envelope, state: State) -> None:
    """Collect stored jobs of all tries, after performing the committed outcome's effects."""
    if isinstance(state, Task) and state.pattern is Pattern.SYNC:
        items = rt.store.query(job_partition(rt.workflow.name, _digest(envelope.name, envelope.state)))
        rt.store.collect(key for key, item in items.items() if TOMBSTONE not in item)


def jobs_partition(workflow: str, name: Name, state: str) -> str:
    """Return the partition of the service jobs of the invocation `name`."""
    return job_partition(workflow, _digest(name, state))


def _key(rt: Runtime, envelope: Envelope, term: int) -> Key:
    digest = _digest(envelope.name, envelope.state)
    return job_key(rt.workflow.name, digest, sum(envelope.retries), term)


def _digest(name: Name, state: str) -> str:
    """Return a digest naming a Task's invocation."""
    # The state is included: a Task without a checkpoint shares its invocation name with the Task that commits for it.
    return sha256(f"{name} {state}".encode())


def _job(item: Item, term: int) -> dict[str, Json]:
    if TOMBSTONE in item:
        raise RefusedDelivery("its job was collected, because what follows from it is committed")
    return {**parse_json(str(item["value"])), "term": term, "until": item["until_ms"], "by": item["by"]}
