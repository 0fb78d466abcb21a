"""Region, credentials and variables of a command: from the environment, or as botocore reads configuration files.

Source: AWS SDKs and Tools Reference Guide, "Configuration and authentication settings",
"Shared config and credentials files" and "Settings reference".
"""

import os
from collections.abc import Callable, Mapping
from configparser import Error, RawConfigParser
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from unum_runtime.wire.call_errors import CallError, Unsupported
from unum_runtime.wire.signing import Credentials

_OTHER_SOURCES = ("AWS_CREDENTIAL_EXPIRATION", "AWS_WEB_IDENTITY_TOKEN_FILE")
"""Variables of credentials that only botocore reads or renews."""

_PROFILES = ("AWS_DEFAULT_PROFILE", "AWS_PROFILE")
"""Variables with the name of a profile, in botocore's order."""

_FILES = {"AWS_CONFIG_FILE": "~/.aws/config", "AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials"}

_VARIABLES = {
    "use_fips_endpoint": "AWS_USE_FIPS_ENDPOINT",
    "use_dualstack_endpoint": "AWS_USE_DUALSTACK_ENDPOINT",
    "ca_bundle": "AWS_CA_BUNDLE",
    "ignore_configured_endpoint_urls": "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
}
"""Variables by the names of the same settings in configuration files."""

_OTHER_ENDPOINTS = ("endpoint_url", "services")


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of AWS clients.

    Attributes:
        region: region; None without one.
        environment: variables that select endpoints, proxies and certificates.
        credentials: source of valid credentials, asked for each request, because they may be renewed meanwhile.
    """

    region: str | None
    environment: Mapping[str, str]
    credentials: Callable[[], Credentials]


def plain_settings(profile: str | None, region: str | None, environment: Mapping[str, str]) -> Settings | None:
    """Return the settings in `environment` and in plain files; None if botocore has to find them."""
    if any(environment.get(name) for name in _OTHER_SOURCES):
        return None
    # As botocore, keys in the environment come before a profile, unless that is given by an option.
    own = {} if profile else {name: environment[name.upper()] for name in KEYS if environment.get(name.upper())}
    named = profile or next(filter(None, map(environment.get, _PROFILES)), None)
    config, shared = (Path(environment.get(name) or default).expanduser() for name, default in _FILES.items())
    found = plain_profile(named or "default", config, shared, only_region=bool(own))
    if found is None or (named is not None and not found):
        return None
    match [(own or found).get(name) for name in KEYS]:
        case [str(key_id), str(secret), token]:
            region = region or environment.get("AWS_DEFAULT_REGION") or found.get("region")
            credentials = Credentials(key_id, secret, token or None)
            return Settings(region, _trusting(environment), lambda: credentials)
    return None


def botocore_settings(profile: str | None, region: str | None, environment: Mapping[str, str]) -> Settings:
    """Return the settings that botocore finds in files and elsewhere.

    Raises:
        Unsupported: the files choose endpoints.
        BotoCoreError: unknown profile, or malformed file.
    """
    from botocore.session import Session  # noqa: PLC0415 - slow, and not needed with credentials in the environment

    session = Session(profile=profile)
    if any(name in session.get_scoped_config() for name in _OTHER_ENDPOINTS):
        raise Unsupported("endpoints in configuration files")
    found = {name: session.get_config_variable(setting) for setting, name in _VARIABLES.items()}
    merged = {**environment, **{name: str(value) for name, value in found.items() if value not in (None, False)}}

    def credentials() -> Credentials:
        known = session.get_credentials()
        if known is None:
            raise CallError("Unable to locate credentials")
        frozen = known.get_frozen_credentials()
        return Credentials(str(frozen.access_key), str(frozen.secret_key), frozen.token)

    return Settings(region or session.get_config_variable("region"), _trusting(merged), credentials)


def _trusting(environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return `environment` with botocore's certificates: some installations of Python find no others."""
    if environment.get("AWS_CA_BUNDLE"):
        return environment
    found = environment.get("REQUESTS_CA_BUNDLE") or _packaged("certifi") or _packaged("botocore")
    return {**environment, "AWS_CA_BUNDLE": found} if found else environment


def _packaged(package: str) -> str | None:
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        file = os.path.join(folder, "cacert.pem")  # noqa: PTH118 - text, as a variable has it
        if os.path.isfile(file):  # noqa: PTH113 - the same
            return file
    return None


KEYS = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")

_INERT = frozenset({*KEYS, "region", "output", "retry_mode", "max_attempts", "s3", "sts_regional_endpoints"})
"""Settings that are read here, or mean nothing to the requests of the command."""

_OTHER_CREDENTIALS = ("role_", "sso_", "source_profile", "credential_", "external_id", "mfa_serial", "duration_seconds")
"""Beginnings of settings that other credentials come by."""


def plain_profile(name: str, config: Path, credentials: Path, *, only_region: bool) -> Mapping[str, str] | None:
    """Return the settings of a profile in both files; None if botocore has to read them.

    Args:
        name: profile name.
        config: file with settings.
        credentials: file with keys, which come before those in `config`.
        only_region: True if the keys come from elsewhere, so no other credentials in the files count.
    """
    try:
        merged = {**_section(config, name, f"profile {name}"), **_section(credentials, name)}
    except (Error, OSError, UnicodeError):
        return None
    unknown = [each for each in merged if each not in _INERT and not each.startswith("cli_")]
    if only_region:
        unknown = [each for each in unknown if not each.startswith(_OTHER_CREDENTIALS)]
    return None if unknown else merged


def _section(file: Path, *names: str) -> Mapping[str, str]:
    parser = RawConfigParser(default_section=" ")
    parser.read(file, encoding="utf-8")
    found = [parser[name] for name in names if parser.has_section(name)]
    return {key: value for each in found for key, value in each.items()}
