"""Concurrent starts of one execution by several clients, which share it through a lease."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from unum_runtime.client.polling import Pauses
from unum_runtime.model.envelope import Writer
from unum_runtime.protocol.delivery.lease import Lease

START_LEASE_MS = 60_000
"""Lease duration of a start; longer than Lambda needs to begin the execution."""


@dataclass(frozen=True, kw_only=True)
class Sharing:
    """One client's part in a shared start.

    Attributes:
        lease: lease on the start, owned by this client.
        has_begun: function that returns True if the execution has committed something, and needs no start.
        invoke: function that sends the start request in the name of a writer.
        maintain: True if the lease is renewed while the client waits.
    """

    lease: Lease
    has_begun: Callable[[], bool]
    invoke: Callable[[Writer], None]
    maintain: bool

    def begin(self, pauses: Pauses, *, is_new: bool) -> AbstractContextManager[None]:
        """Start the execution, or wait until another client has started it.

        Args:
            pauses: pauses between attempts to find a result or a free lease.
            is_new: True if this client created the execution, so no result can exist yet.

        Returns:
            Context manager that renews this client's lease, if any. Its end does not release the lease: the invoked
            function has the same claim, and releases it.

        Raises:
            InvokeError: Lambda rejected the start request; the lease is released.
            WaitTimedOut: another client held the lease until the deadline.
        """
        # The lease alone does not suffice: it is free again after the first step of an execution.
        while is_new or not self.has_begun():
            if self.lease.acquire():
                return self._invoke_and_renew()
            is_new = False
            pauses.pause()
        return nullcontext()

    def _invoke_and_renew(self) -> AbstractContextManager[None]:
        try:
            self.invoke(Writer(self.lease.owner, self.lease.clock.now_ms()))
        except BaseException:  # Ctrl-C included: otherwise other clients would wait for the lease's end
            self.lease.release()
            raise
        return self.lease.renewed(maintain=self.maintain)
