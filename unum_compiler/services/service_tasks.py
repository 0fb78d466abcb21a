"""Checks of service Tasks: actions, spelling and parameters.

This module loads botocore's models of the services' APIs, which takes half a second. Import it only for a definition
with service Tasks.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from unum_compiler.problems import did_you_mean, listed, shown
from unum_compiler.services.service_permissions import (
    NoSuchOperation,
    Statement,
    iam_statements,
    operation,
    sdk_spellings,
)
from unum_runtime.asl.places import member
from unum_runtime.errors import Problem
from unum_runtime.features.services.api_request import TOKENS
from unum_runtime.features.services.integrations import OPTIMIZED
from unum_runtime.features.services.jobs import JOBS
from unum_runtime.features.services.spelling import capitalize, field_name, fold_name
from unum_runtime.model.states import Json, Pattern

__all__ = ["Statement", "check_parameters", "check_spelling", "iam_statements", "refusal_reason"]

SDK = "aws-sdk:"
_SUFFIXES = {Pattern.RESPONSE: "", Pattern.SYNC: ".sync", Pattern.CALLBACK: ".waitForTaskToken"}
_VERSION = ":2"


class _Fields(NamedTuple):
    """The parameters of a call.

    Attributes:
        names: all parameters, as the documentation spells them.
        required: required parameters.
    """

    names: tuple[str, ...]
    required: tuple[str, ...]


_API_FIELDS = ("AllowNullValues", "AuthType", "Headers", "Path", "QueryParameters", "RequestBody", "Stage")
_CLUSTER = ("ClusterName", "CertificateAuthority", "Endpoint")
_HTTP_FIELDS = ("Authentication", "Headers", "InvocationConfig", "QueryParameters", "RequestBody", "Transform")
_OVER_HTTP = {
    "apigateway:invoke": _Fields(("ApiEndpoint", "Method", *_API_FIELDS), ("ApiEndpoint", "Method")),
    "http:invoke": _Fields(("ApiEndpoint", "Method", *_HTTP_FIELDS), ("ApiEndpoint", "Method")),
    "eks:call": _Fields((*_CLUSTER, "Method", "Path", "QueryParameters", "RequestBody"), (*_CLUSTER, "Method", "Path")),
    "eks:runJob": _Fields((*_CLUSTER, "Job", "LogOptions", "Namespace"), (*_CLUSTER, "Job")),
}
# Developer Guide, "Create and manage Amazon EMR clusters": one cluster, step, fleet or group, by id or name.
_ONE = {
    f"elasticmapreduce:{action}": _Fields(names, required)
    for action, names, required in (
        ("addStep", ("ClusterId", "ExecutionRoleArn", "Step"), ("ClusterId", "Step")),
        ("cancelStep", ("ClusterId", "StepCancellationOption", "StepId"), ("ClusterId", "StepId")),
        *(
            (action, names, names)
            for action, names in (
                ("modifyInstanceFleetByName", ("ClusterId", "InstanceFleet", "InstanceFleetName")),
                ("modifyInstanceGroupByName", ("ClusterId", "InstanceGroup", "InstanceGroupName")),
                ("setClusterTerminationProtection", ("ClusterId", "TerminationProtected")),
                ("terminateCluster", ("ClusterId",)),
            )
        ),
    )
}
_REMOVED = {"elasticmapreduce:createCluster": "Steps"}  # the same page: the cluster must wait for addStep
_ADDED = {"bedrock:invokeModel": ("Input", "Output")}
_UNSUPPORTED = {
    ("apigateway:invoke", "allownullvalues"): "leave null values out of QueryParameters",
}


def refusal_reason(resource: str, pattern: Pattern) -> str | None:
    """Return a sentence with reason and alternatives if `resource` does not support `pattern`, else None.

    Args:
        resource: such as ``dynamodb:putItem``, ``aws-sdk:s3:getObject``, or ``states:startExecution:2`` for
            ``.sync:2``; without the suffix of the pattern.
        pattern: meaning of the suffix.
    """
    if resource.startswith(SDK):
        return _sdk_refusal(resource, pattern)
    name = _without_version(resource, pattern)
    return _optimized_refusal(name, pattern) or _version_refusal(resource, name)


def check_spelling(resource: str) -> str | None:
    """Return a message with the required spelling; None for correct spelling and unknown resources.

    Source: the Developer Guide, "Learning to use AWS service SDK integrations in Step Functions": names of services are
    those of the AWS SDK for Java in lower case, names of actions are in camel case.
    """
    if not resource.startswith(SDK):
        return None
    try:
        model = operation(resource)
    except NoSuchOperation:
        return None
    service, _, action = resource.removeprefix(SDK).partition(":")
    names = sdk_spellings(model.service_model)
    expected = f"{SDK}{service if service in names else names[0]}:{action[:1].lower()}{action[1:]}"
    return None if resource == expected else f"expected {shown(expected)}, got {shown(resource)}"


def _sdk_refusal(resource: str, pattern: Pattern) -> str | None:
    # Developer Guide, "Discover service integration patterns": SDK integrations cannot wait for jobs.
    if pattern is Pattern.SYNC:
        return f"{resource} has no .sync; remove the suffix, and poll the job in a loop"
    try:
        model = operation(resource)
    except NoSuchOperation as error:
        return error.remedy
    if model.has_event_stream_input or model.has_event_stream_output:
        return f"{resource} streams events, which a Task cannot take; call it in a Lambda function of the workflow"
    return None


def _optimized_refusal(resource: str, pattern: Pattern) -> str | None:
    service, _, action = resource.partition(":")
    integration = OPTIMIZED.get(service)
    if integration is None:
        remedy = did_you_mean(service, (*OPTIMIZED, SDK.rstrip(":")))
        return f"there is no integration {shown(service)}; {remedy}"
    if action not in integration.actions:
        remedy = did_you_mean(action, integration.actions)
        return (
            f"the integration {shown(service)} has no action {shown(action)}; {remedy}{_sdk_instead(service, action)}"
        )
    if pattern is Pattern.SYNC and resource not in JOBS:
        return f"{resource} has no .sync; actions of {service} with it: {_jobs(service)}"
    if pattern is Pattern.CALLBACK and not integration.has_callback:
        able = (name for name, other in OPTIMIZED.items() if other.has_callback)
        return f"{resource} has no .waitForTaskToken; these services have it: {listed(able)}"
    return None


def _version_refusal(resource: str, name: str) -> str | None:
    if name not in (resource, "states:startExecution"):
        return f"{name} has no .sync:2, which is for states:startExecution alone; write .sync"
    return None


def _jobs(service: str) -> str:
    return listed(name for name in JOBS if name.startswith(f"{service}:")) or "none"


def _sdk_instead(service: str, action: str) -> str:
    """Return a hint to ``aws-sdk:`` if only that integration knows the action."""
    name = {"states": "sfn", "events": "eventbridge"}.get(service, fold_name(service))
    try:
        operation(f"{SDK}{name}:{action}")
    except NoSuchOperation:
        return ""
    return f" Or call {SDK}{name}:{action}"


def check_parameters(resource: str, pattern: Pattern, parameters: Json, where: str) -> list[Problem]:
    """Return problems with parameter names, first level only.

    Args:
        resource: a resource without a `refusal_reason`.
        pattern: pattern of the call.
        parameters: ``Parameters`` or ``Arguments`` as in the definition; None without that field.
        where: JSON path of that field.
    """
    if parameters is not None and not isinstance(parameters, dict):
        return []  # an expression, or a wrong type that `read_data` reports
    spellings = {fold_name(key.removesuffix(".$")): key for key in parameters or {}}
    fields = _fields(_without_version(resource, pattern))
    return [*_unknown(resource, spellings, fields, where), *_missing(resource, spellings, fields, where)]


def _without_version(resource: str, pattern: Pattern) -> str:
    return resource.removesuffix(_VERSION) if pattern is Pattern.SYNC else resource


def _unknown(resource: str, spellings: Mapping[str, str], fields: _Fields, where: str) -> Iterator[Problem]:
    # `field_name` appends "Value" to names that Java reserves; definitions may use the API's name as well.
    allowed = {
        spelling for name in fields.names for spelling in (fold_name(name), fold_name(name).removesuffix("value"))
    }
    for name, key in spellings.items():
        spelled = capitalize(key)
        if (resource, name) in _UNSUPPORTED:
            feature = f"{resource} with {key.removesuffix('.$')}"
            message = f"{feature}: not supported by this version; {_UNSUPPORTED[resource, name]}"
            yield Problem(member(where, key), message, feature)
        elif name not in allowed:
            remedy = did_you_mean(key.removesuffix(".$"), fields.names)
            yield Problem(member(where, key), f"{resource} has no parameter {shown(key)}; {remedy}")
        elif key != spelled:
            message = f"expected {shown(spelled)}, got {shown(key)}: names of parameters begin with a capital letter"
            yield Problem(member(where, key), message)


def _missing(resource: str, spellings: Mapping[str, str], fields: _Fields, where: str) -> Iterator[Problem]:
    for name in fields.required:
        if fold_name(name) not in spellings and fold_name(name).removesuffix("value") not in spellings:
            yield Problem(where, f'{resource} needs the parameter "{name}"; add "{name}", or "{name}.$" with a path')


def _fields(resource: str) -> _Fields:
    if resource in _OVER_HTTP or resource in _ONE:
        return _OVER_HTTP.get(resource) or _ONE[resource]
    shape: Any = operation(resource).input_shape
    if shape is None:
        return _Fields((), ())
    spelled = field_name if resource.startswith(SDK) else capitalize
    required = (name for name in shape.required_members if fold_name(name) not in TOKENS)
    members = (name for name in shape.members if name != _REMOVED.get(resource))
    names = (*map(spelled, members), *_ADDED.get(resource, ()))
    return _Fields(names, tuple(map(spelled, required)))
