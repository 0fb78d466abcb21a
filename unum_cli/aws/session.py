"""Session of a command: the runtime's HTTP client where it suffices, boto3 elsewhere."""

import os
from collections.abc import Mapping
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any

from unum_cli.aws.aws_settings import Settings, botocore_settings, plain_settings
from unum_client.aws_clients import AwsClients
from unum_runtime.wire.call_errors import Unsupported

if TYPE_CHECKING:
    import boto3

RETRIES = 5

_LOCK = RLock()


class Session(AwsClients):
    """AWS clients for a profile and a region; safe to use from several threads.

    Args:
        profile: name of the profile; None for the default.
        region: region; None for that of the environment or of the profile.
    """

    def __init__(self, profile: str | None, region: str | None) -> None:
        self._profile, self._region = profile, region or _sdk_region(os.environ)

    @property
    def region_name(self) -> str | None:
        """Region; None without one."""
        return self.boto3.region_name if self._settings is None else self._settings.region

    @cached_property
    def boto3(self) -> "boto3.Session":
        """Session of boto3's for the same profile and region."""
        import boto3  # noqa: PLC0415 - slow, and few commands need it

        return boto3.Session(profile_name=self._profile, region_name=self._region)

    def create(self, service: str, *, retries: int = RETRIES, **config: Any) -> Any:  # noqa: D102 - in the base class
        if self._settings is None:
            return self._boto3_client(service, retries, config)
        from unum_cli.aws.wire_requests import wire_client  # noqa: PLC0415 - no command that fails before needs it

        try:
            return wire_client(service, self._settings, retries, config.get("read_timeout"))
        except Unsupported:
            return self._boto3_client(service, retries, config)

    def _boto3_client(self, service: str, retries: int, config: dict[str, Any]) -> Any:
        from botocore.config import Config  # noqa: PLC0415 - slow

        create: Any = self.boto3.client  # boto3's type stubs accept only literal names
        with _LOCK:
            return create(service, config=Config(retries={"mode": "standard", "max_attempts": retries}, **config))

    @cached_property
    def _settings(self) -> Settings | None:
        """Settings of the runtime's HTTP client; None where only boto3 supports them."""
        if os.environ.get("UNUM_CLIENT") == "botocore":
            return None
        plain = plain_settings(self._profile, self._region, os.environ)
        if plain is not None:
            return plain
        try:
            return botocore_settings(self._profile, self._region, os.environ)
        except Unsupported:
            return None


def _sdk_region(environment: Mapping[str, str]) -> str | None:
    """Return the region of AWS_REGION, which botocore ignores; None if its own variable has one."""
    return None if environment.get("AWS_DEFAULT_REGION") else environment.get("AWS_REGION") or None
