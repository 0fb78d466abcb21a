"""Clients for the operations of a normal delivery, with boto3's parameters and responses.

Endpoint URLs of AWS services.

Source: AWS SDKs and Tools Reference Guide, "Service-specific endpoints" and "Dual-stack and FIPS endpoints".
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal
from urllib.parse import quote

from unum_runtime.json_text import parse_json, to_ascii
from unum_runtime.wire.api import Api
from unum_runtime.wire.call_errors import CallError, Unsupported
from unum_runtime.wire.routes import route_to
from unum_runtime.wire.signing import Credentials, Signer

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

_OTHER_SOURCES = ("AWS_CONFIG_FILE", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_CREDENTIAL_EXPIRATION")
"""Variables that select credentials which only botocore can read or renew."""


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


class WireClient:
    """Client of one service."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def connect(self) -> None:
        """Open a connection ahead of the first call.

        Raises:
            OSError: the connection failed.
        """
        self._api.connections.open()


class JsonClient(WireClient):
    """Client of a service with the protocol AWS JSON 1.0. Source: Smithy, "AWS JSON 1.0 protocol"."""

    PREFIX: ClassVar[str]
    CONTENT_TYPE: ClassVar[str] = "application/x-amz-json-1.0"

    def _call(self, operation: str, parameters: Mapping[str, Any]) -> Any:
        headers = {"content-type": self.CONTENT_TYPE, "x-amz-target": f"{self.PREFIX}.{operation}"}
        body = self._api.post("/", headers, to_ascii(parameters).encode()).body
        try:
            return parse_json(body)
        except ValueError as error:
            raise CallError(f"{operation}: expected JSON, got {body[:200]!r}") from error


def operation(name: str) -> Callable[..., Any]:
    """Return the method for the operation `name`."""
    return lambda client, **parameters: client._call(name, parameters)  # noqa: SLF001 - a method of its subclasses


class DynamoDb(JsonClient):
    """DynamoDB client without binary values; boto3 documents the operations."""

    PREFIX = "DynamoDB_20120810"
    put_item = operation("PutItem")
    get_item = operation("GetItem")
    batch_get_item = operation("BatchGetItem")
    query = operation("Query")
    update_item = operation("UpdateItem")
    batch_write_item = operation("BatchWriteItem")


class Sqs(JsonClient):
    """SQS client; boto3 documents the operations."""

    PREFIX = "AmazonSQS"
    send_message = operation("SendMessage")
    send_message_batch = operation("SendMessageBatch")


class Events(JsonClient):
    """EventBridge client; boto3 documents the operation."""

    PREFIX = "AWSEvents"
    CONTENT_TYPE = "application/x-amz-json-1.1"
    put_events = operation("PutEvents")


class Lambda(WireClient):
    """Lambda client; boto3 documents the operation."""

    def invoke(self, *, FunctionName: str, InvocationType: Literal["Event"], Payload: bytes) -> Any:  # noqa: D102, N803
        path = f"/2015-03-31/functions/{quote(FunctionName, safe='')}/invocations"
        response = self._api.post(path, {"x-amz-invocation-type": InvocationType}, Payload)
        return {"StatusCode": response.status}


_CLIENTS: Mapping[str, type[WireClient]] = {"dynamodb": DynamoDb, "events": Events, "lambda": Lambda, "sqs": Sqs}


def wire_client(service: str, environment: Mapping[str, str]) -> WireClient:
    """Return a client of `service` for the region and credentials in `environment`.

    Args:
        service: ``dynamodb``, ``lambda``, ``sqs`` or ``events``.
        environment: environment variables of a function.

    Raises:
        Unsupported: only botocore supports the settings in `environment`.
    """
    region = environment.get("AWS_DEFAULT_REGION") or environment.get("AWS_REGION")
    if region is None:
        raise Unsupported("a region outside of the environment")
    if environment.get("AWS_LAMBDA_INITIALIZATION_TYPE") == "snap-start":
        # SnapStart functions get container credentials, because credentials in variables would expire in the snapshot.
        # Source: AWS Lambda Developer Guide, "Working with Lambda environment variables".
        raise Unsupported("credentials and connections restored from a snapshot")
    route = route_to(endpoint(service, region, environment), environment)
    return _CLIENTS[service](Api(route, Signer(service, region, _credentials(environment))))


def _credentials(environment: Mapping[str, str]) -> Credentials:
    others = [name for name in _OTHER_SOURCES if name in environment]
    if others:
        raise Unsupported(f"the settings in {' and '.join(others)}")
    match [environment.get(name) for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")]:
        case [str(key_id), str(secret)]:
            return Credentials(key_id, secret, environment.get("AWS_SESSION_TOKEN"))
    raise Unsupported("credentials outside of the environment")
