"""Leases: expiring claims with an owner, which keep two deliveries from running user code at the same time.

A lease saves work and never decides correctness: create-if-absent alone decides the outcome. So no failure of a lease
changes a result. A delivery that cannot reach the store works as if it had the lease. A lease of a dead owner expires.
A delivery that finds a lease held ends with an error instead of waiting in its sandbox; Lambda delivers its event
again, and the last delivery works without the lease.

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
from unum_runtime.model.naming import START_STEP, Key, checkpoint_key, lease_key
from unum_runtime.protocol.runtime import Log, Runtime, silent
from unum_runtime.store.base import Store

LEASE_MS = 45_000
"""Lifetime of a renewed lease: a dead sandbox's lease expires before Lambda repeats the event, one minute later."""

RENEWALS = 3
"""Renewals within one lifetime of a lease; so two of them may fail."""

PATIENCE_MS = 120_000
"""Maximum age of an event that is refused because another delivery has the lease.

Lambda repeats a failed delivery after one minute, and once more after two. So a younger event certainly arrives again.
An older one may be its last delivery: it works without the lease, because the failure destination would otherwise get
an event whose work is being done. Hence a duplicate does not run beside user code that ends within 3 minutes. If user
code takes longer, the third delivery of a duplicate may run it a second time.
Source: AWS Lambda Developer Guide, "How Lambda handles errors and retries with asynchronous invocation".
"""

SWITCH = "UNUM_MAINTAIN_LEASES"


def maintain_by_default() -> bool:
    """Return True unless the environment has ``UNUM_MAINTAIN_LEASES=0``."""
    return os.environ.get(SWITCH) != "0"


@dataclass(frozen=True, kw_only=True)
class Lease:
    """Lease of one owner on one key.

    Attributes:
        store: store of the lease.
        clock: clock of its expiry.
        key: the claimed key.
        owner: name of the owner.
        duration_ms: lifetime of the claim, and of each renewal.
        log: log of failures, which are otherwise ignored.
    """

    store: Store
    clock: Clock
    key: Key
    owner: str
    duration_ms: int
    log: Log = silent

    def acquire(self) -> bool:
        """Acquire the lease; return True for success or a store failure."""
        try:
            return self.store.acquire(self.key, self.owner, expires_at_ms=self._expires_at_ms()) == self.owner
        except StoreError as error:  # work done twice is harmless, and work left undone is not
            self._ignore(error)
            return True

    def release(self) -> None:
        """Release the lease."""
        try:
            self.store.release(self.key, self.owner)
        except StoreError as error:
            self._ignore(error)

    @contextmanager
    def renewed(self, *, maintain: bool) -> Iterator[None]:
        """Renew the acquired lease while the block runs.

        Args:
            maintain: True to renew it in a thread; False to do nothing.
        """
        over = threading.Event()
        if maintain:
            threading.Thread(target=self._renew_until, args=(over,), name=f"lease of {self.key}", daemon=True).start()
        try:
            yield
        finally:
            over.set()  # no join of the thread: the store refuses a renewal that arrives after the release

    @contextmanager
    def held(self, *, maintain: bool) -> Iterator[None]:
        """Renew the acquired lease while the block runs, and release it afterwards."""
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
    """Result of a delivery's lease request.

    Attributes:
        refusal: error that ends the delivery; None if it may do the work.
    """

    refusal: LeaseHeldError | None = None

    def insist(self) -> None:
        """Raise `refusal` unless this delivery may work.

        Raises:
            LeaseHeldError: another delivery does the work; Lambda delivers this event again.
        """
        if self.refusal is not None:
            raise self.refusal


_UNCLAIMED = nullcontext(Claim())


@contextmanager
def claim(rt: Runtime, key: Key, *, sent_ms: int, refusal: LeaseHeldError, owner: str | None = None) -> Iterator[Claim]:
    """Claim work producing an item at `key` while the block runs.

    Args:
        rt: the runtime.
        key: key of the item.
        sent_ms: time at which the delivered event was sent, in milliseconds since 1970.
        refusal: error if another owner has the lease.
        owner: name of the owner; None for this delivery.
    """
    remaining_ms = rt.remaining_ms()
    lease = Lease(
        store=rt.store,
        clock=rt.clock,
        key=lease_key(key),
        owner=owner or rt.delivery,
        # Without renewals the lease must last as long as the delivery can.
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


def claim_invocation(rt: Runtime, envelope: Envelope) -> AbstractContextManager[Claim]:
    """Claim the invocation of `envelope` while the block runs."""
    return claim(
        rt,
        checkpoint_key(rt.workflow.name, envelope.name),
        sent_ms=sent_ms(envelope),
        refusal=LeaseHeldError(f"{envelope.name}: another delivery works on it"),
    )


def claim_start(rt: Runtime, start_key: Key, writer: Writer | None) -> AbstractContextManager[Claim]:
    """Claim an execution's start at `start_key` for `writer`; claim nothing without writer.

    The client and the function that it starts are one owner: the client may die as soon as the function runs. A writer
    that another has replaced does not get the lease. Its event stays, because the other writer may have died before it
    sent an event.
    """
    if writer is None:
        return _UNCLAIMED
    refusal = LeaseStolenError(f"{start_key.partition}: another client than {writer.name} is starting it")
    return claim(rt, start_key, sent_ms=writer.sent_ms, refusal=refusal, owner=writer.name)


def sent_ms(envelope: Envelope) -> int:
    """Return `envelope`'s sending time or an earlier time, in milliseconds since 1970."""
    name = envelope.name
    # The first step may run in the delivery of the start event, whose envelope was made just now.
    if not name.frames and name.step == START_STEP + 1:
        return name.execution.started_ms
    return envelope.sent_s * 1000
