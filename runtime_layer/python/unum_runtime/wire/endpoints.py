"""Endpoint URLs of AWS services.

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
"""Plain and dual-stack domain of each partition, by prefix of the region name."""

_DEFAULT_SUFFIXES = ("amazonaws.com", "api.aws")

_NAMES = {"events": "EVENTBRIDGE"}
"""Names of services in variables, where they are not those in endpoints."""

_GOVERNMENT = "us-gov"
_FIPS_BY_DEFAULT = frozenset({"dynamodb", "sqs"})
"""Services whose plain endpoints in GovCloud regions are FIPS endpoints."""


def endpoint(service: str, region: str, environment: Mapping[str, str]) -> str:
    """Return the URL of `service` in `region`, or the custom endpoint in `environment`.

    Raises:
        Unsupported: `environment` has a custom endpoint together with FIPS or dual-stack.
    """
    dual_stack = _is_true(environment, "AWS_USE_DUALSTACK_ENDPOINT")
    fips = _is_true(environment, "AWS_USE_FIPS_ENDPOINT")
    configured = _custom_endpoint(service, environment)
    if configured is None:
        return _regional(service, region, dual_stack=dual_stack, fips=fips)
    if dual_stack or fips:
        raise Unsupported(f"a custom endpoint ({configured}) together with FIPS or dual-stack")
    return configured


def _custom_endpoint(service: str, environment: Mapping[str, str]) -> str | None:
    if _is_true(environment, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"):
        return None
    name = _NAMES.get(service, service.upper())
    return environment.get(f"AWS_ENDPOINT_URL_{name}") or environment.get("AWS_ENDPOINT_URL") or None


def _regional(service: str, region: str, *, dual_stack: bool, fips: bool) -> str:
    group = region.rsplit("-", 2)[0]
    suffix = _SUFFIXES.get(group, _DEFAULT_SUFFIXES)[dual_stack]
    is_fips_already = group == _GOVERNMENT and not dual_stack and service in _FIPS_BY_DEFAULT
    name = f"{service}-fips" if fips and not is_fips_already else service
    return f"https://{name}.{region}.{suffix}"


def _is_true(environment: Mapping[str, str], name: str) -> bool:
    return environment.get(name, "").lower() == "true"
