"""Clients with assumed roles, for ``Credentials`` of Tasks.

Source: AWS Step Functions Developer Guide, "Accessing resources in other AWS accounts in Step Functions".
"""

import re

from botocore.exceptions import BotoCoreError, ClientError

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.errors import StatesError
from unum_runtime.features.services.boto_clients import Clients, Keys

MARGIN_MS = 300_000
"""Safety margin before the expiry of credentials: clocks differ, and requests take time."""

MOST_KEPT = 16
"""Maximum of cached sessions; the clients of each take memory."""

# STS API Reference, AssumeRole, RoleSessionName: pattern and length.
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_+=,.@-]")
_LONGEST_NAME = 64


class _Session(NamedTuple):
    """Assumed role: clients and expiry."""

    clients: Clients
    until_ms: float


class Roles:
    """Clients by role and session name.

    Args:
        own: clients of the function's own role, which assumes the others.
    """

    def __init__(self, own: Clients) -> None:
        self._own = own
        self._sessions: dict[tuple[str, str], _Session] = {}

    def clients(self, role_arn: str, execution: str, now_ms: int) -> Clients:
        """Return clients of the role `role_arn`, in a session named after `execution` for CloudTrail.

        Raises:
            StatesError: ``States.Permissions``: the role cannot be assumed.
        """
        session = f"unum-{_NOT_IN_NAMES.sub('-', execution)}"[:_LONGEST_NAME]
        current = self._sessions.get((role_arn, session))
        if current is None or current.until_ms <= now_ms:
            # Removed first, so that the new session counts as the newest in insertion order.
            self._sessions.pop((role_arn, session), None)
            current = self._sessions[role_arn, session] = self._assume(role_arn, session)
            self._drop_oldest()
        return current.clients

    def _assume(self, role_arn: str, session: str) -> _Session:
        try:
            credentials = self._own.client("sts").assume_role(RoleArn=role_arn, RoleSessionName=session)["Credentials"]
        except (ClientError, BotoCoreError) as error:
            raise StatesError("States.Permissions", f"the role {role_arn} cannot be assumed: {error}") from error
        keys = Keys(credentials["AccessKeyId"], credentials["SecretAccessKey"], credentials["SessionToken"])
        return _Session(self._own.signing_with(keys), credentials["Expiration"].timestamp() * 1000 - MARGIN_MS)

    def _drop_oldest(self) -> None:
        """Remove the oldest sessions above the limit."""
        for key in [*self._sessions][:-MOST_KEPT]:
            del self._sessions[key]
