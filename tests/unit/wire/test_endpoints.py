"""Endpoints and routes, compared with the rules of botocore and the standard library."""

import itertools
from typing import Any
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # typeshed lacks it

import pytest
from botocore.endpoint_provider import EndpointProvider
from botocore.session import get_session
from hypothesis import given
from hypothesis import strategies as st

from unum_runtime.wire.call_errors import Unsupported
from unum_runtime.wire.routes import Proxy, route_to
from unum_runtime.wire.service_clients import endpoint

LOADER = get_session().get_component("data_loader")
PARTITIONS = LOADER.load_data("partitions")
REGIONS = [name for partition in PARTITIONS["partitions"] for name in partition["regions"] if "global" not in name]
FLAGS = ("AWS_USE_DUALSTACK_ENDPOINT", "AWS_USE_FIPS_ENDPOINT")
LAMBDA = "https://lambda.eu-west-1.amazonaws.com"


@pytest.mark.parametrize("service", ["dynamodb", "lambda", "sqs"])
def test_endpoints_equal_botocores(service: str) -> None:
    rules = EndpointProvider(LOADER.load_service_model(service, "endpoint-rule-set-1"), PARTITIONS)
    for region, dual, fips in itertools.product(REGIONS, (True, False), (True, False)):
        flags = dict(zip(FLAGS, (str(dual), str(fips).lower()), strict=True))
        expected = rules.resolve_endpoint(Region=region, UseDualStack=dual, UseFIPS=fips).url
        assert endpoint(service, region, flags) == expected
    assert len(REGIONS) > 40


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"AWS_ENDPOINT_URL": "http://a"}, "http://a"),
        ({"AWS_ENDPOINT_URL": "http://a", "AWS_ENDPOINT_URL_LAMBDA": "http://b"}, "http://b"),
        ({"AWS_ENDPOINT_URL": "http://a", "AWS_ENDPOINT_URL_SQS": "http://b"}, "http://a"),
        ({"AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_LAMBDA": ""}, LAMBDA),
        ({"AWS_ENDPOINT_URL": "http://a", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}, LAMBDA),
    ],
)
def test_the_environment_may_name_an_endpoint(environment: dict[str, str], expected: str) -> None:
    assert endpoint("lambda", "eu-west-1", environment) == expected


@pytest.mark.parametrize("flag", FLAGS)
def test_a_custom_endpoint_is_neither_fips_nor_dual_stack(flag: str) -> None:
    with pytest.raises(Unsupported, match="http://a"):
        endpoint("lambda", "eu-west-1", {"AWS_ENDPOINT_URL": "http://a", flag: "true"})


def test_host_header_and_path_prefix() -> None:
    assert route_to(LAMBDA, {})[:5] == ("lambda.eu-west-1.amazonaws.com", 443, True, LAMBDA[8:], "")
    assert route_to("http://localhost:4566/base/", {})[:5] == ("localhost", 4566, False, "localhost:4566", "/base")
    assert route_to("http://localhost:80", {}).name == "localhost"


@pytest.mark.parametrize(
    ("url", "environment"),
    [("http://a:b", {}), ("http://a:99999", {}), (LAMBDA, {"HTTPS_PROXY": "http://me:secret@a:b"})],
)
def test_invalid_ports_are_unsupported(url: str, environment: dict[str, str]) -> None:
    with pytest.raises(Unsupported, match="the port of http://a:") as refused:
        route_to(url, environment)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("url", ["ftp://a", "localhost:4566", "https://", "http://a/?b=c"])
def test_invalid_endpoints(url: str) -> None:
    with pytest.raises(Unsupported, match="the endpoint"):
        route_to(url, {})


@pytest.mark.parametrize(
    ("proxy", "expected"),
    [
        ("http://proxy:3128", Proxy("proxy", 3128, None)),
        ("proxy:3128", Proxy("proxy", 3128, None)),
        ("http://proxy", Proxy("proxy", 80, None)),
        ("http://me:a%40b@proxy:1/", Proxy("proxy", 1, "Basic bWU6YUBi")),
    ],
)
def test_a_proxy_is_asked_for_a_tunnel(proxy: str, expected: Proxy) -> None:
    assert route_to(LAMBDA, {"HTTPS_PROXY": proxy}).proxy == expected
    assert route_to(LAMBDA, {"HTTPS_PROXY": "http://other", "https_proxy": proxy}).proxy == expected
    assert route_to("http://plain", {"HTTPS_PROXY": proxy}).proxy is None
    assert route_to(LAMBDA, {"HTTPS_PROXY": proxy, "https_proxy": ""}).proxy is None, "as in the standard library"


@pytest.mark.parametrize(
    ("url", "environment"),
    [
        (LAMBDA, {"HTTPS_PROXY": "https://proxy"}),
        (LAMBDA, {"HTTPS_PROXY": "socks5://proxy"}),
        ("http://plain", {"HTTP_PROXY": "http://proxy"}),
    ],
)
def test_other_proxies_are_unsupported(url: str, environment: dict[str, str]) -> None:
    with pytest.raises(Unsupported, match="proxy"):
        route_to(url, environment)


LABELS = st.sampled_from(["aws", "com", "example", "a", "localhost"])
HOSTS = st.lists(LABELS, min_size=1, max_size=3).map(".".join)
PORTS = st.sampled_from(["", ":8443", ":443"])
PATTERNS = st.tuples(st.sampled_from(["", ".", "*", "  "]), HOSTS, PORTS).map("".join) | st.sampled_from(
    ["*", "", "com"]
)


@given(host=HOSTS, port=PORTS, patterns=st.lists(PATTERNS, max_size=3))
def test_exceptions_from_proxies_are_those_of_urllib(host: str, port: str, patterns: list[str]) -> None:
    environment = {"HTTPS_PROXY": "http://proxy", "NO_PROXY": ",".join(patterns)}
    proxies: Any = {"no": environment["NO_PROXY"]}
    bypassed = bool(proxy_bypass_environment(f"{host}{port}", proxies))
    assert (route_to(f"https://{host}{port}", environment).proxy is None) == bypassed
