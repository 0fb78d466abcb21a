"""Clients of AWS services, created on first use; those with assumed roles, for ``Credentials`` of Tasks.

Source: AWS Step Functions Developer Guide, "Accessing resources in other AWS accounts in Step Functions".
"""

import re
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.errors import StatesError
from unum_runtime.features.services.spelling import fold_name

READ_TIMEOUT_S = 890
"""Read timeout below 15 minutes, Lambda's limit for the callee and for the service function itself."""

MARGIN_MS = 300_000
"""Safety margin before the expiry of credentials: clocks differ, and requests take time."""

MOST_KEPT = 16
"""Maximum of cached sessions; the clients of each take memory."""

# STS API Reference, AssumeRole, RoleSessionName: pattern and length.
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_+=,.@-]")
_LONGEST_NAME = 64


class Keys(NamedTuple):
    """Temporary credentials, named as in botocore."""

    aws_access_key_id: str
    aws_secret_access_key: str
    aws_session_token: str


class Clients:
    """Clients by service name.

    Args:
        session: ``botocore.session.Session``; None for a session from the environment.
        options: options of every client, such as ``region_name`` or ``endpoint_url``.
        send: function that sends a ``botocore.awsrequest.AWSPreparedRequest`` and returns its response; None for
            botocore's.
        keys: credentials for signatures; None for the session's.
    """

    def __init__(
        self,
        session: Any = None,
        options: Mapping[str, Any] | None = None,
        send: Callable[[Any], Any] | None = None,
        keys: Keys | None = None,
    ) -> None:
        self._given_session = session
        self._options = dict(options or {})
        self._send = send
        self._keys = keys
        # Cached per instance: creation parses a service model, which takes tens of milliseconds.
        self.client: Callable[[str], Any] = cache(self._create)

    @cached_property
    def session(self) -> Any:
        """Session with credentials and service models."""
        if self._given_session is not None:
            return self._given_session
        from botocore.session import get_session  # noqa: PLC0415 - saves HTTP calls 150 ms

        return get_session()

    @property
    def credentials(self) -> Any:
        """Credentials for signatures."""
        if self._keys is None:
            return self.session.get_credentials()
        from botocore.credentials import Credentials  # noqa: PLC0415 - see `session`

        return Credentials(*self._keys)

    def signing_with(self, keys: Keys) -> "Clients":
        """Return clients that sign with `keys`."""
        return Clients(self.session, self._options, self._send, keys)

    @property
    def region(self) -> str:
        """Region of the workflow."""
        return str(self._options.get("region_name") or self.session.get_config_variable("region") or "us-east-1")

    def send(self, request: Any) -> Any:
        """Send a prepared request to any host and return its response, without following redirects."""
        if self._send is None:
            from botocore.httpsession import URLLib3Session  # noqa: PLC0415 - only for HTTP calls

            self._send = URLLib3Session(timeout=60).send
        return self._send(request)

    def _create(self, service: str) -> Any:
        """Create a client of `service`, whose name may lack hyphens."""
        from botocore.config import Config  # noqa: PLC0415 - see `session`

        names = {fold_name(name): name for name in self.session.get_available_services()}
        # Parameters follow Step Functions' rules, which `to_request` has checked; AWS checks the rest.
        config = Config(read_timeout=READ_TIMEOUT_S, parameter_validation=False)
        signed = {} if self._keys is None else self._keys._asdict()
        return self.session.create_client(names[fold_name(service)], config=config, **self._options | signed)


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
