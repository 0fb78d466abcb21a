"""Settings that a command finds by itself, equal to botocore's."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from botocore.session import Session as BotocoreSession

from unum_cli.aws.aws_settings import botocore_settings, plain_settings
from unum_cli.aws.session import Session
from unum_runtime.wire.call_errors import CallError, Unsupported
from unum_runtime.wire.signing import Credentials

KEYS = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"}
SHARED = """
[default]
aws_access_key_id = shared
aws_secret_access_key = b
[other]
aws_access_key_id = o
aws_secret_access_key = p
aws_session_token = q
"""
CONFIG = """
[default]
region = eu-west-1
output = json
cli_pager =
[profile other]
region = eu-west-3
"""
SSO = """
[default]
sso_session = work
sso_account_id = 1
region = eu-west-1
[sso-session work]
sso_region = eu-west-1
"""

Files = Callable[..., Mapping[str, str]]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    """Write both files, set variables, and return the environment."""

    def write(config: str = "", shared: str = "", **variables: str) -> Mapping[str, str]:
        made = {"AWS_CONFIG_FILE": tmp_path / "config", "AWS_SHARED_CREDENTIALS_FILE": tmp_path / "credentials"}
        for path, text in zip(made.values(), (config, shared), strict=True):
            path.write_text(text, encoding="utf-8")
        environment = {
            **{name: str(path) for name, path in made.items()},
            "AWS_EC2_METADATA_DISABLED": "true",
            **variables,
        }
        for name in [
            *KEYS,
            "AWS_SESSION_TOKEN",
            "AWS_PROFILE",
            "AWS_DEFAULT_PROFILE",
            "AWS_CA_BUNDLE",
            "REQUESTS_CA_BUNDLE",
            "AWS_REGION",
            "AWS_DEFAULT_REGION",
        ]:
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return environment

    return write


@pytest.mark.parametrize(
    ("config", "shared", "profile", "variables"),
    [
        ("", "", None, {**KEYS, "AWS_DEFAULT_REGION": "eu-north-1"}),
        ("", "", None, {**KEYS, "AWS_SESSION_TOKEN": "t", "AWS_DEFAULT_REGION": "eu-north-1"}),
        (CONFIG, "", None, KEYS),
        (CONFIG, SHARED, None, KEYS),
        (CONFIG, SHARED, None, {}),
        (CONFIG, SHARED, "other", {}),
        (CONFIG, SHARED, "other", KEYS),
        (CONFIG, SHARED, None, {"AWS_PROFILE": "other"}),
        (CONFIG, SHARED, None, {"AWS_PROFILE": "default", "AWS_DEFAULT_PROFILE": "other"}),
        (CONFIG, SHARED, None, {**KEYS, "AWS_PROFILE": "other"}),
        (CONFIG, SHARED, None, {"AWS_DEFAULT_REGION": "eu-north-1"}),
        (CONFIG + "aws_access_key_id = c\naws_secret_access_key = d\n", SHARED, "other", {}),
        ("[profile other]\naws_access_key_id = c\naws_secret_access_key = d\nregion = r\n", "", "other", {}),
        (SSO, "", None, KEYS),
    ],
)
def test_plain_settings_are_those_of_botocore(
    files: Files, config: str, shared: str, profile: str | None, variables: Mapping[str, str]
) -> None:
    environment = files(config, shared, **variables)
    found = plain_settings(profile, None, environment)
    theirs = BotocoreSession(profile=profile)
    keys = theirs.get_credentials().get_frozen_credentials()
    assert found is not None
    assert found.region == theirs.get_config_variable("region")
    assert found.credentials() == Credentials(str(keys.access_key), str(keys.secret_key), keys.token)
    same = botocore_settings(profile, None, environment)
    assert (same.region, same.credentials()) == (found.region, found.credentials())


@pytest.mark.parametrize(
    ("config", "shared", "profile", "variables"),
    [
        ("", "", None, {}),
        ("", "", None, {"AWS_ACCESS_KEY_ID": "id"}),
        (SSO, "", None, {}),
        (CONFIG, SHARED, "unknown", {}),
        (CONFIG, SHARED, None, {"AWS_PROFILE": "unknown"}),
        ("[default]\nrole_arn = r\nsource_profile = other\n", SHARED, None, {}),
        ("[default]\ncredential_process = p\n", "", None, {}),
        ("[default]\nendpoint_url = https://localhost\n", SHARED, None, {}),
        ("[default]\nuse_fips_endpoint = true\n", "", None, KEYS),
        ("not a file of settings", SHARED, None, {}),
        (CONFIG, SHARED, None, {"AWS_WEB_IDENTITY_TOKEN_FILE": "f"}),
        ("", "", None, {**KEYS, "AWS_CREDENTIAL_EXPIRATION": "2030-01-01T00:00:00Z"}),
    ],
)
def test_what_is_not_plain_is_left_to_botocore(
    files: Files, config: str, shared: str, profile: str | None, variables: Mapping[str, str]
) -> None:
    assert plain_settings(profile, None, files(config, shared, **variables)) is None


def test_an_option_comes_before_the_configured_region(files: Files) -> None:
    environment = files(CONFIG, SHARED, AWS_DEFAULT_REGION="eu-north-1")
    for found in (plain_settings(None, "us-west-2", environment), botocore_settings(None, "us-west-2", environment)):
        assert found is not None
        assert found.region == "us-west-2"


def test_settings_of_files_that_botocore_reads_become_variables(files: Files) -> None:
    environment = files("[default]\nuse_fips_endpoint = true\nca_bundle = /own.pem\n", SHARED)
    found = botocore_settings(None, None, environment).environment
    assert (found["AWS_USE_FIPS_ENDPOINT"], found["AWS_CA_BUNDLE"]) == ("True", "/own.pem")


@pytest.mark.parametrize("setting", ["endpoint_url = https://localhost", "services = mine"])
def test_endpoints_in_files_are_for_boto3(files: Files, setting: str) -> None:
    with pytest.raises(Unsupported):
        botocore_settings(None, None, files(f"[default]\n{setting}\n", SHARED))


def test_nobody_has_credentials(files: Files) -> None:
    found = botocore_settings(None, None, files(CONFIG))
    with pytest.raises(CallError, match=r"^Unable to locate credentials$"):
        found.credentials()


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "cacert.pem"),
        ({"REQUESTS_CA_BUNDLE": "/theirs.pem"}, "/theirs.pem"),
        ({"AWS_CA_BUNDLE": "/a.pem"}, "/a.pem"),
    ],
)
def test_certificates_are_those_that_botocore_trusts(files: Files, variables: Mapping[str, str], expected: str) -> None:
    found = plain_settings(None, None, files(**KEYS, **variables))
    assert found is not None
    assert found.environment["AWS_CA_BUNDLE"].endswith(expected)


@pytest.mark.parametrize("client", ["", "botocore"])
@pytest.mark.parametrize(
    ("config", "options", "variables", "region"),
    [
        ("", (None, None), {"AWS_REGION": "eu-south-1"}, "eu-south-1"),
        ("", (None, None), {"AWS_REGION": "eu-south-1", "AWS_DEFAULT_REGION": "eu-north-1"}, "eu-north-1"),
        (CONFIG, (None, None), {"AWS_REGION": "eu-south-1"}, "eu-south-1"),
        (CONFIG, ("other", None), {"AWS_REGION": "eu-south-1"}, "eu-south-1"),
        (CONFIG, ("other", None), {"AWS_REGION": ""}, "eu-west-3"),
        ("", (None, "eu-west-2"), {"AWS_REGION": "eu-south-1"}, "eu-west-2"),
        ("", (None, None), {}, None),
    ],
)
def test_the_region_is_that_of_the_sdks_variable_too(
    client: str,
    config: str,
    options: tuple[str | None, str | None],
    variables: Mapping[str, str],
    region: str | None,
    files: Files,
) -> None:
    """Options are the profile and the region."""
    files(config, SHARED, UNUM_CLIENT=client, **variables)
    assert Session(*options).region_name == region
