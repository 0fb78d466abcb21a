"""Custom resource behind the CDK's `AwsCustomResource`: a request to AWS when a stack is created, updated or deleted.

Its function needs the AWS SDK for Node.js, which Lambda's runtime contains and this machine lacks. This module sends
the same request with the role of the function.
https://docs.aws.amazon.com/cdk/api/v2/docs/aws-cdk-lib.custom_resources.AwsCustomResource.html
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

import botocore.session
from botocore.exceptions import ClientError, UnknownServiceError
from botocore.model import OperationModel, Shape

from unum_emulator.aws_lambda.function_version import FunctionRef, role_credentials

_MARK = "InstallLatestAwsSdk"
"""Property that each `AwsCustomResource` has, whatever its type is."""

_PHYSICAL_ID = "PHYSICAL:RESOURCEID:"
"""Text in parameters that stands for the physical id."""

_OTHER_NAMES: Mapping[str, str] = {
    "cloudwatchevents": "events",
    "cloudwatchlogs": "logs",
    "cognitoidentityprovider": "cognito-idp",
    "cognitoidentityserviceprovider": "cognito-idp",
    "configservice": "config",
    "costandusagereportservice": "cur",
    "costexplorer": "ce",
    "databasemigrationservice": "dms",
    "directoryservice": "ds",
    "elasticloadbalancing": "elb",
    "elasticloadbalancingv2": "elbv2",
    "elasticsearchservice": "es",
    "eventbridge": "events",
    "iotdataplane": "iot-data",
    "serverlessapplicationrepository": "serverlessrepo",
    "sfn": "stepfunctions",
}
"""Services whose name in the SDK for JavaScript is another than botocore's, without separators."""

_SEPARATORS = re.compile(r"[^a-z0-9]")


def is_sdk_call(event: Mapping[str, Any]) -> bool:
    """Return True if CloudFormation's request is for an `AwsCustomResource`."""
    return _MARK in event["ResourceProperties"]


class SdkCalls:
    """Provider of the custom resource.

    Args:
        endpoint: AWS endpoint.
    """

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint

    def __call__(self, func: Mapping[str, Any], event: Mapping[str, Any]) -> dict[str, Any]:
        """Send the request for the type of `event`, if there is one; return physical id and data.

        Raises:
            ClientError: AWS refused the request.
            BotoCoreError: unknown service or parameters.
            ValueError: unknown action.
        """
        calls = {kind: json.loads(text) for kind in ("Create", "Update", "Delete") if (text := _text(event, kind))}
        physical_id, call = _physical_id(event, calls), calls.get(event["RequestType"])
        if call is None:
            return {"PhysicalResourceId": physical_id}
        region = call.get("region") or FunctionRef.parse(func["config"]["FunctionArn"]).region
        try:
            response = self._send(func["config"], call, region, physical_id)
        except ClientError as error:
            ignored = call.get("ignoreErrorCodesMatching")
            if not ignored or not re.search(ignored, error.response["Error"]["Code"]):
                raise
            return {"PhysicalResourceId": physical_id}
        found = {"region": region, **dict(_flat(response))}
        if path := call.get("physicalResourceId", {}).get("responsePath"):
            physical_id = str(found.get(path))
        return {"PhysicalResourceId": physical_id, "Data": _chosen(found, call)}

    def _send(self, config: Mapping[str, Any], call: Mapping[str, Any], region: str, physical_id: str) -> Any:
        credentials = role_credentials(config)
        keys: dict[str, Any] = {
            "aws_access_key_id": credentials["AWS_ACCESS_KEY_ID"],
            "aws_secret_access_key": credentials["AWS_SECRET_ACCESS_KEY"],
            "aws_session_token": credentials.get("AWS_SESSION_TOKEN"),
        }
        session = botocore.session.get_session()
        if role := call.get("assumedRoleArn"):
            sts: Any = session.create_client("sts", endpoint_url=self._endpoint, region_name=region, **keys)
            others = {"ExternalId": call["externalId"]} if "externalId" in call else {}
            assumed = sts.assume_role(RoleArn=role, RoleSessionName="AwsCustomResource", **others)["Credentials"]
            keys = {
                "aws_access_key_id": assumed["AccessKeyId"],
                "aws_secret_access_key": assumed["SecretAccessKey"],
                "aws_session_token": assumed["SessionToken"],
            }
        service = _service(session, call["service"])
        client: Any = session.create_client(service, endpoint_url=self._endpoint, region_name=region, **keys)
        model = client.meta.service_model.operation_model(_operation(client, call["action"]))
        given = _with_physical_id(call.get("parameters") or {}, physical_id)
        return client._make_api_call(model.name, _coerced(given, _input_of(model)))


def _text(event: Mapping[str, Any], kind: str) -> str:
    return str(event["ResourceProperties"].get(kind) or "")


def _physical_id(event: Mapping[str, Any], calls: Mapping[str, Any]) -> str:
    """Return the physical id before the request: that of the first request which has one, or the present one."""
    kind = event["RequestType"]
    asked = ("Create", "Update", "Delete") if kind == "Create" else (kind,)
    ids = (calls.get(each, {}).get("physicalResourceId", {}).get("id") for each in asked)
    present = event["LogicalResourceId"] if kind == "Create" else event["PhysicalResourceId"]
    return str(next((each for each in ids if each), present))


def _service(session: Any, given: str) -> str:
    """Return botocore's name of a service of the SDK for JavaScript, version 2 or 3.

    Raises:
        UnknownServiceError: there is none.
    """
    plain = _SEPARATORS.sub("", given.lower().removeprefix("@aws-sdk/client-"))
    names = {_SEPARATORS.sub("", each): each for each in session.get_available_services()}
    found = _OTHER_NAMES.get(plain) or names.get(plain)
    if found is None:
        raise UnknownServiceError(service_name=given, known_service_names="those of the AWS SDK")
    return str(found)


def _operation(client: Any, action: str) -> str:
    """Return the name of the operation `action`, as ``putParameter`` or ``PutParameterCommand``.

    Raises:
        ValueError: there is none.
    """
    names = {each.lower(): each for each in client.meta.service_model.operation_names}
    for name in (action.lower(), action.lower().removesuffix("command")):
        if name in names:
            return str(names[name])
    raise ValueError(f"{client.meta.service_model.service_name} has no action {action}")


def _with_physical_id(value: Any, physical_id: str) -> Any:
    if isinstance(value, dict):
        return {key: _with_physical_id(each, physical_id) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_physical_id(each, physical_id) for each in value]
    return physical_id if value == _PHYSICAL_ID else value


def _input_of(model: OperationModel) -> Shape | None:
    shape: Shape | None = model.input_shape
    return shape


def _coerced(value: Any, shape: Any) -> Any:
    """Return `value` with numbers, truth values and bytes for `shape` in place of texts; tokens resolve to texts."""
    kind = getattr(shape, "type_name", "")
    match kind, value:
        case "structure", dict():
            return {key: _coerced(each, shape.members.get(key)) for key, each in value.items()}
        case "map", dict():
            return {key: _coerced(each, shape.value) for key, each in value.items()}
        case "list", list():
            return [_coerced(each, shape.member) for each in value]
        case _, str() if kind in _FROM_TEXT:
            return _FROM_TEXT[kind](value)
    return value


_FROM_TEXT: Mapping[str, Callable[[str], Any]] = {
    "blob": str.encode,
    "boolean": lambda text: text == "true",
    "double": float,
    "float": float,
    "integer": int,
    "long": int,
}
"""Value of a text by the kind of its shape."""


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all values inside a response by their paths, with dots."""
    if isinstance(value, Mapping | list):
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, each in items:
            if path or key != "ResponseMetadata":
                yield from _flat(each, f"{path}.{key}" if path else str(key))
    elif hasattr(value, "read"):
        yield path, value.read().decode(errors="replace")
    elif isinstance(value, bytes):
        yield path, value.decode(errors="replace")
    elif isinstance(value, datetime):
        yield path, value.isoformat()
    else:
        yield path, value


def _chosen(found: Mapping[str, Any], call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that the resource asks for; all by default."""
    paths = [call["outputPath"]] if call.get("outputPath") else call.get("outputPaths")
    return {key: value for key, value in found.items() if paths is None or key.startswith(tuple(paths))}
