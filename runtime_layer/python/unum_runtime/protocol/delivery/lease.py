"""Leases: expiring claims with an owner, which keep two deliveries from running user code at the same time.

A lease saves work and never decides correctness: create-if-absent alone decides the outcome. So no failure of a lease
changes a result. A delivery that cannot reach the store works as if it had the lease. A lease of a dead owner expires.
A delivery that finds a lease held does not wait in its sandbox: it schedules its event for later, see `waiter`.

Source of the scheme: the leases on invocations of mops, which are claimed by a writer, renewed by a thread, and taken
over when they have expired.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from unum_runtime.clock import Clock
from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import LeaseHeldError, LeaseStolenError, StoreError
from unum_runtime.model.envelope import START, Envelope, Writer
from unum_runtime.model.naming import Key, checkpoint_key, lease_key
from unum_runtime.protocol.runtime import MAX_DELIVERY_MS, Log, NoTimer, Runtime, silent
from unum_runtime.store.base import Store

LEASE_MS = 45_000
"""Lifetime of a renewed lease: a dead sandbox's lease expires before Lambda repeats the event, one minute later."""

RENEWALS = 3
"""Renewals within one lifetime of a lease; so two of them may fail."""

PATIENCE_MS = 3_600_000
"""Longest wait for leases on one result: four owners, one after the other, that each use a delivery's 15 minutes.

A delivery does without the lease only after that: all owners until then have ended without a result. Without this
limit, executions whose memoized function fails for their common input would fail one after the other, for days.
"""

REPEATED_MS = 120_000
"""Maximum age of a refused start request that no timer can keep, so that Lambda must repeat it.

Lambda repeats a failed delivery after one minute, and once more after two. So a younger event certainly arrives again.
An older one may be its last delivery: it works without the lease.
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

    def acquire(self, *, if_unknown: bool = True) -> bool:
        """Acquire the lease; return True for success, and `if_unknown` for a store failure."""
        try:
            return self.store.acquire(self.key, self.owner, expires_at_ms=self._expires_at_ms()) == self.owner
        except StoreError as error:  # work done twice is harmless, and work left undone is not
            self._ignore(error)
            return if_unknown

    def renew(self) -> bool:
        """Renew the lease; return False if it expired or has another owner, and True for a store failure."""
        try:
            return self.store.renew(self.key, self.owner, expires_at_ms=self._expires_at_ms())
        except StoreError as error:
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
            if not self.renew():
                return

    def _expires_at_ms(self) -> int:
        return self.clock.now_ms() + self.duration_ms

    def _ignore(self, error: StoreError) -> None:
        self.log("lease failed", lease=f"{self.key.partition} {self.key.sort}", error=str(error))


@dataclass(frozen=True)
class Claim:
    """Result of a delivery's lease request.

    Attributes:
        refusal: error for a delivery that must not do the work; None for a delivery without a lease.
        may_work: function that returns True as long as this delivery may do the work.
    """

    refusal: LeaseHeldError | None = None
    may_work: Callable[[], bool] = lambda: True

    def insist(self) -> None:
        """Raise `refusal` unless this delivery may work now.

        Raises:
            LeaseHeldError: another delivery does the work, or may have done it since this delivery read the store.
        """
        if not self.may_work() and self.refusal is not None:
            raise self.refusal


_UNCLAIMED = nullcontext(Claim())


def claim_invocation(rt: Runtime, envelope: Envelope) -> AbstractContextManager[Claim]:
    """Claim the invocation of `envelope` while the block runs."""
    key = checkpoint_key(rt.workflow.name, envelope.name)
    return claim_result(rt, envelope, key, "another delivery works on it")


def claim_result(rt: Runtime, envelope: Envelope, key: Key, reason: str) -> AbstractContextManager[Claim]:
    """Claim work producing an item at `key`, for a delivery of `envelope`, while the block runs.

    Args:
        rt: the runtime.
        envelope: the delivered event.
        key: key of the item.
        reason: text of the error if another delivery has the lease.
    """
    since_ms = envelope.waiting_since_ms
    begun_ms = rt.clock.now_ms() if since_ms is None else since_ms
    # Within the execution's life: after its last moment, every event is refused.
    last_ms = rt.last_s(envelope.name.execution) * 1000 - MAX_DELIVERY_MS
    return _claim(
        rt,
        key,
        owner=rt.delivery,
        refusal=LeaseHeldError(f"{envelope.name}: {reason}"),
        patient_until_ms=min(begun_ms + PATIENCE_MS, last_ms),
        # Many waiters may exceed the throughput of one lease's item. A throttled waiter must not start work that
        # another delivery is known to do.
        if_unknown=since_ms is None,
    )


def claim_start(rt: Runtime, start_key: Key, writer: Writer | None) -> AbstractContextManager[Claim]:
    """Claim an execution's start at `start_key` for `writer`; claim nothing without writer.

    The client and the function that it starts are one owner: the client may die as soon as the function runs. A writer
    that another has replaced does not get the lease. Its event stays, because the other writer may have died before it
    sent an event.
    """
    if writer is None:
        return _UNCLAIMED
    return _claim(
        rt,
        start_key,
        owner=writer.name,
        refusal=LeaseStolenError(f"{start_key.partition}: another client than {writer.name} is starting it"),
        patient_until_ms=writer.sent_ms + (PATIENCE_MS if can_start_later(rt) else REPEATED_MS),
    )


def can_start_later(rt: Runtime) -> bool:
    """Return True if a timer can keep start requests of this function."""
    return START in rt.routes and not isinstance(rt.timer, NoTimer)


@contextmanager
def _claim(
    rt: Runtime, key: Key, *, owner: str, refusal: LeaseHeldError, patient_until_ms: int, if_unknown: bool = True
) -> Iterator[Claim]:
    """Claim work producing an item at `key` while the block runs.

    Args:
        rt: the runtime.
        key: key of the item.
        owner: name of the owner.
        refusal: error if another owner has the lease.
        patient_until_ms: time from which the work is done without the lease, in milliseconds since 1970.
        if_unknown: True to do the work if the store does not answer.
    """
    remaining_ms = rt.remaining_ms()
    lease = Lease(
        store=rt.store,
        clock=rt.clock,
        key=lease_key(key),
        owner=owner,
        # Without renewals the lease must last as long as the delivery can.
        duration_ms=min(remaining_ms, LEASE_MS) if rt.maintain_leases else remaining_ms,
        log=rt.log,
    )
    asked_ms = rt.clock.now_ms()
    if lease.acquire(if_unknown=if_unknown):
        with lease.held(maintain=rt.maintain_leases):
            # A sandbox may freeze before user code, for longer than its lease lasts: only then, ask the store again.
            yield Claim(refusal, lambda: rt.clock.now_ms() < asked_ms + lease.duration_ms or lease.renew())
    elif asked_ms < patient_until_ms:
        yield Claim(refusal, lambda: False)
    else:
        rt.log("goes on without a lease", reason=str(refusal))
        yield Claim()
