"""Where the services are.

Source: AWS SDKs and Tools Reference Guide, "Service-specific endpoints" and "Dual-stack and FIPS endpoints".
"""

from collections.abc import Mapping

from unum_runtime.wire.call_errors import Unsupported

_SUFFIXES = {
    "cn": ("amazonaws.com.cn", "api.amazonwebservices.com.cn"),
    "eusc-de": ("amazonaws.eu", "api.amazonwebservices.eu"),
    "us-iso": ("c2s.ic.gov", "api.aws.ic.gov"),
    "us-isob": ("sc2s.sgov.gov", "api.aws.scloud"),
    "us-isof": ("csp.hci.ic.gov", "api.aws.hci.ic.gov"),
    "eu-isoe": ("cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"),
}
"""Domains, plain and dual-stack, of the partitions, by what names of regions begin with."""

_DEFAULT_SUFFIXES = ("amazonaws.com", "api.aws")

_GOVERNMENT = "us-gov"
_FIPS_WITHOUT_NAME = frozenset({"dynamodb", "sqs"})
"""Services whose plain endpoints in the government's regions are FIPS endpoints."""


def endpoint(service: str, region: str, environment: Mapping[str, str]) -> str:
    """URL of `service` in `region`, or the one that `environment` names in its place.

    Raises:
        Unsupported: `environment` wants two things at once.
    """
    dual_stack = _is_true(environment, "AWS_USE_DUALSTACK_ENDPOINT")
    fips = _is_true(environment, "AWS_USE_FIPS_ENDPOINT")
    configured = _configured(service, environment)
    if configured is None:
        return _regional(service, region, dual_stack=dual_stack, fips=fips)
    if dual_stack or fips:
        raise Unsupported(f"an endpoint of one's own ({configured}) that is FIPS or dual-stack")
    return configured


def _configured(service: str, environment: Mapping[str, str]) -> str | None:
    if _is_true(environment, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"):
        return None
    return environment.get(f"AWS_ENDPOINT_URL_{service.upper()}") or environment.get("AWS_ENDPOINT_URL") or None


def _regional(service: str, region: str, *, dual_stack: bool, fips: bool) -> str:
    group = region.rsplit("-", 2)[0]
    suffix = _SUFFIXES.get(group, _DEFAULT_SUFFIXES)[dual_stack]
    has_no_name = group == _GOVERNMENT and not dual_stack and service in _FIPS_WITHOUT_NAME
    name = f"{service}-fips" if fips and not has_no_name else service
    return f"https://{name}.{region}.{suffix}"


def _is_true(environment: Mapping[str, str], name: str) -> bool:
    return environment.get(name, "").lower() == "true"
