"""Clients of AWS services, each made when it is first needed."""

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any

from unum_runtime.aws.services.spelling import folded
from unum_runtime.cold_start.records import NamedTuple

READ_TIMEOUT_S = 890
"""A Lambda function may take 15 minutes to answer, and so may the one that waits for it."""


class Keys(NamedTuple):
    """Temporary credentials, under the names that botocore has for them."""

    aws_access_key_id: str
    aws_secret_access_key: str
    aws_session_token: str


class Clients:
    """Clients by the name of their service.

    Args:
        session: a ``botocore.session.Session``; None for one from the environment.
        options: of every client, such as ``region_name`` or ``endpoint_url``.
        send: sends a ``botocore.awsrequest.AWSPreparedRequest`` and gives the response; None for botocore's own.
        keys: what requests are signed with; None for what the session has.
    """

    def __init__(
        self,
        session: Any = None,
        options: Mapping[str, Any] | None = None,
        send: Callable[[Any], Any] | None = None,
        keys: Keys | None = None,
    ) -> None:
        self._given = session
        self._options = dict(options or {})
        self._send = send
        self._keys = keys
        self.client: Callable[[str], Any] = cache(self._make)

    @cached_property
    def session(self) -> Any:
        """Where credentials and models come from."""
        if self._given is not None:
            return self._given
        from botocore.session import get_session  # noqa: PLC0415 - 150 ms that a call over HTTP without it saves

        return get_session()

    @property
    def credentials(self) -> Any:
        """What requests are signed with."""
        if self._keys is None:
            return self.session.get_credentials()
        from botocore.credentials import Credentials  # noqa: PLC0415 - see `session`

        return Credentials(*self._keys)

    def signing_with(self, keys: Keys) -> "Clients":
        """Clients that differ in what they sign requests with."""
        return Clients(self.session, self._options, self._send, keys)

    @property
    def region(self) -> str:
        """Where the workflow runs."""
        return str(self._options.get("region_name") or self.session.get_config_variable("region") or "us-east-1")

    def send(self, request: Any) -> Any:
        """Send a prepared request, whatever host it is for, and give the response; redirects are not followed."""
        if self._send is None:
            from botocore.httpsession import URLLib3Session  # noqa: PLC0415 - only for calls over HTTP

            self._send = URLLib3Session(timeout=60).send
        return self._send(request)

    def _make(self, service: str) -> Any:
        """A client of `service`, which may be spelled without hyphens."""
        from botocore.config import Config  # noqa: PLC0415 - see `session`

        names = {folded(name): name for name in self.session.get_available_services()}
        config = Config(read_timeout=READ_TIMEOUT_S, parameter_validation=False)
        signed = {} if self._keys is None else self._keys._asdict()
        return self.session.create_client(names[folded(service)], config=config, **self._options | signed)
