"""Leases: expiring, owned claims, so that work which is being done is not done a second time meanwhile.

A lease saves work and decides nothing: what is committed is decided by create-if-absent alone. So no failure of a lease
changes a result. Whoever cannot reach the store goes on as if it had the lease; a lease whose owner died expires; and
whoever finds one held does not wait in its sandbox: its event is delivered again, at last to go on without the lease.

Source of the scheme: the leases on invocations of mops, which are claimed by a writer, renewed by a thread, and taken
over when they have expired.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from unum_runtime.clock import Clock
from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import LeaseHeldError, LeaseStolenError, StoreError
from unum_runtime.model.envelope import Envelope, Writer
from unum_runtime.model.ir import Guard, State, Task
from unum_runtime.model.naming import START_STEP, Key, checkpoint_key, lease_key
from unum_runtime.protocol.runtime import EVENT_LIFE_S, Log, Runtime, silent
from unum_runtime.store.base import Store

LEASE_MS = 45_000
"""For how long a lease is claimed that is renewed: what a sandbox held that died is free when Lambda delivers the event
again, which is after a minute."""

RENEWALS = 3
"""How often a lease is renewed before it would expire; so two renewals may fail."""

PATIENCE_MS = 120_000
"""How old an event may be to be sent back because somebody else is at its work.

When a delivery fails, Lambda delivers the event again after one minute, and once more after two. So an event that is
younger than this is certain to come back. An older one may be here for the last time: it goes on without the lease,
rather than end among the failed events while its work is being done. Hence a duplicate does not run beside user code
that ends within 3 minutes; where that takes longer, the third delivery of a duplicate may do the work a second time.
Source: AWS Lambda Developer Guide, "How Lambda handles errors and retries with asynchronous invocation".
"""

SWITCH = "UNUM_MAINTAIN_LEASES"


def maintain_by_default() -> bool:
    """Whether leases are renewed where nothing else is said: unless the environment has ``UNUM_MAINTAIN_LEASES=0``."""
    return os.environ.get(SWITCH) != "0"


@dataclass(frozen=True, kw_only=True)
class Lease:
    """One owner's claim on one key.

    Attributes:
        store: where it is.
        clock: tells when it expires.
        key: what is claimed.
        owner: who claims it.
        duration_ms: how long the claim lasts, and each renewal.
        log: told of failures, which are ignored.
    """

    store: Store
    clock: Clock
    key: Key
    owner: str
    duration_ms: int
    log: Log = silent

    def acquire(self) -> bool:
        """Whether the lease is the owner's now; also where the store fails, so that work is done rather than left."""
        try:
            return self.store.acquire(self.key, self.owner, expires_at_ms=self._expires_at_ms()) == self.owner
        except StoreError as error:
            self._ignore(error)
            return True

    def release(self) -> None:
        """Let others have the lease."""
        try:
            self.store.release(self.key, self.owner)
        except StoreError as error:
            self._ignore(error)

    @contextmanager
    def renewed(self, *, maintain: bool) -> Iterator[None]:
        """Keep the lease, which was acquired, as long as the block runs.

        Args:
            maintain: whether a thread renews it; otherwise nothing happens here.
        """
        over = threading.Event()
        if maintain:
            threading.Thread(target=self._renew_until, args=(over,), name=f"lease of {self.key}", daemon=True).start()
        try:
            yield
        finally:
            over.set()  # not joined: a renewal that is under way when the lease is released is refused or overwritten

    @contextmanager
    def held(self, *, maintain: bool) -> Iterator[None]:
        """The same, and release the lease when the block is left, however it is left."""
        try:
            with self.renewed(maintain=True) if maintain else nullcontext():
                yield
        finally:
            self.release()

    def _renew_until(self, over: threading.Event) -> None:
        while not over.wait(self.duration_ms / RENEWALS / 1000):
            try:
                if not self.store.renew(self.key, self.owner, expires_at_ms=self._expires_at_ms()):
                    return
            except StoreError as error:
                self._ignore(error)

    def _expires_at_ms(self) -> int:
        return self.clock.now_ms() + self.duration_ms

    def _ignore(self, error: StoreError) -> None:
        self.log("lease failed", lease=f"{self.key.partition} {self.key.sort}", error=str(error))


@dataclass(frozen=True)
class Claim:
    """What came of a delivery's wish for a lease.

    Attributes:
        refusal: why the delivery should end here; None where it may do the work.
    """

    refusal: LeaseHeldError | None = None

    def insist(self) -> None:
        """Do nothing, if the work may be done.

        Raises:
            LeaseHeldError: somebody else is at it, and the event will be delivered again.
        """
        if self.refusal is not None:
            raise self.refusal


_UNCLAIMED = nullcontext(Claim())


@contextmanager
def claim(rt: Runtime, key: Key, *, sent_ms: int, refusal: LeaseHeldError, owner: str | None = None) -> Iterator[Claim]:
    """Claim for a delivery, as long as the block runs, the work that ends with an item at `key`.

    Args:
        rt: the runtime.
        key: the item.
        sent_ms: when the delivered event was sent, in milliseconds since 1970.
        refusal: what to raise where somebody else has the claim.
        owner: who claims it; this delivery, if nobody is named.
    """
    remaining_ms = rt.remaining_ms()
    lease = Lease(
        store=rt.store,
        clock=rt.clock,
        key=lease_key(key),
        owner=owner or rt.delivery,
        duration_ms=min(remaining_ms, LEASE_MS) if rt.maintain_leases else remaining_ms,
        log=rt.log,
    )
    if lease.acquire():
        with lease.held(maintain=rt.maintain_leases):
            yield Claim()
    elif rt.clock.now_ms() - sent_ms < PATIENCE_MS:
        yield Claim(refusal)
    else:
        rt.log("goes on without a lease", reason=str(refusal))
        yield Claim()


def claim_invocation(rt: Runtime, envelope: Envelope, state: State) -> AbstractContextManager[Claim]:
    """Claim the invocation of `envelope`, if `state` is a Task whose guard asks for it."""
    if not isinstance(state, Task) or state.guard is not Guard.LEASE:
        return _UNCLAIMED
    return claim(
        rt,
        checkpoint_key(rt.workflow.name, envelope.name),
        sent_ms=sent_ms(envelope),
        refusal=LeaseHeldError(f"{envelope.name}: another delivery works on it"),
    )


def claim_start(rt: Runtime, start_key: Key, writer: Writer | None) -> AbstractContextManager[Claim]:
    """Claim the start of the execution with `start_key` in the name of `writer`; nothing is claimed if there is none.

    The client and the function that it starts are one owner: so the client may die once the function runs. The lease is
    refused to a writer that another has replaced. Its event is not dropped, because the other may have died before it
    sent one.
    """
    if writer is None:
        return _UNCLAIMED
    refusal = LeaseStolenError(f"{start_key.partition}: another client than {writer.name} is starting it")
    return claim(rt, start_key, sent_ms=writer.sent_ms, refusal=refusal, owner=writer.name)


def sent_ms(envelope: Envelope) -> int:
    """When the event of `envelope` was sent, in milliseconds since 1970, or what is safe: an earlier time."""
    name = envelope.name
    if not name.frames and name.step == START_STEP + 1:  # the event may be that of the start, unpacked here
        return name.execution.started_ms
    return (envelope.not_after_s - EVENT_LIFE_S) * 1000
