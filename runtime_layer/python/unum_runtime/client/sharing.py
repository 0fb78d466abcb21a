"""Clients that start the same execution at the same time, and share it by a lease."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from unum_runtime.client.polling import Pauses
from unum_runtime.model.envelope import Writer
from unum_runtime.protocol.delivery.lease import Lease

START_LEASE_MS = 60_000
"""For how long a client claims a start at once; longer than the platform needs to begin with it."""


@dataclass(frozen=True, kw_only=True)
class Sharing:
    """One client's part in the start of an execution.

    Attributes:
        lease: on the start, in this client's name.
        has_begun: whether the execution has committed something, so that nobody needs to start it.
        invoke: sends the start request in the name of a writer.
        maintain: whether the lease is renewed while the client waits.
    """

    lease: Lease
    has_begun: Callable[[], bool]
    invoke: Callable[[Writer], None]
    maintain: bool

    def begin(self, pauses: Pauses, *, is_new: bool) -> AbstractContextManager[None]:
        """Start the execution, unless another client does; returns when one of both is certain.

        Args:
            pauses: between two looks for a result or a free lease.
            is_new: whether this client created the execution, so that there is no result to look for.

        Returns:
            What keeps the lease, if this client has it, while the block runs. It is not released afterwards: the
            function that was started has the same claim, and releases it.

        Raises:
            InvokeError: the platform did not accept the start; the lease is released.
            WaitTimedOut: another client was starting it for all of the time.
        """
        while is_new or not self.has_begun():
            if self.lease.acquire():
                return self._invoked()
            is_new = False
            pauses.pause()
        return nullcontext()

    def _invoked(self) -> AbstractContextManager[None]:
        try:
            self.invoke(Writer(self.lease.owner, self.lease.clock.now_ms()))
        except BaseException:  # Ctrl-C included: nobody would renew the lease, and others would wait for its end
            self.lease.release()
            raise
        return self.lease.renewed(maintain=self.maintain)
