"""Configuration files of the AWS CLI that need no botocore: a region, and keys as they are.

Source: AWS SDKs and Tools Reference Guide, "Shared config and credentials files" and "Settings reference".
"""

from collections.abc import Mapping
from configparser import Error, RawConfigParser
from pathlib import Path

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
