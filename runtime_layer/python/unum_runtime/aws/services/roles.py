"""Calls with other roles than the function's own, as ``Credentials`` of a Task ask for.

Source: AWS Step Functions Developer Guide, "Accessing resources in other AWS accounts in Step Functions".
"""

import re

from botocore.exceptions import BotoCoreError, ClientError

from unum_runtime.aws.services.boto_clients import Clients, Keys
from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.errors import StatesError

MARGIN_MS = 300_000
"""How long before they expire credentials are not used any more: clocks differ, and requests take time."""

MOST_KEPT = 16
"""How many sessions are kept; each has clients of its own, which take memory."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_+=,.@-]")
_LONGEST_NAME = 64


class _Kept(NamedTuple):
    """Clients, and until when they can be used."""

    clients: Clients
    until_ms: float


class Roles:
    """Clients by the role that they call with, and the name of its session.

    Args:
        own: clients with the role that assumes the others.
    """

    def __init__(self, own: Clients) -> None:
        self._own = own
        self._kept: dict[tuple[str, str], _Kept] = {}

    def clients(self, role_arn: str, execution: str, now_ms: int) -> Clients:
        """Clients with the role `role_arn`, whose session has the name of `execution`, as far as STS takes that.

        Raises:
            StatesError: ``States.Permissions``: the role cannot be assumed.
        """
        session = f"unum-{_NOT_IN_NAMES.sub('-', execution)}"[:_LONGEST_NAME]
        kept = self._kept.get((role_arn, session))
        if kept is None or kept.until_ms <= now_ms:
            self._kept.pop((role_arn, session), None)
            kept = self._kept[role_arn, session] = self._assumed(role_arn, session)
            self._forget()
        return kept.clients

    def _assumed(self, role_arn: str, session: str) -> _Kept:
        try:
            found = self._own.client("sts").assume_role(RoleArn=role_arn, RoleSessionName=session)["Credentials"]
        except (ClientError, BotoCoreError) as error:
            raise StatesError("States.Permissions", f"the role {role_arn} cannot be assumed: {error}") from error
        keys = Keys(found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])
        return _Kept(self._own.signing_with(keys), found["Expiration"].timestamp() * 1000 - MARGIN_MS)

    def _forget(self) -> None:
        """Drop those that were assumed first."""
        for key in [*self._kept][:-MOST_KEPT]:
            del self._kept[key]
