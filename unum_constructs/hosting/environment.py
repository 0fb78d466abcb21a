"""The environments of functions that host nodes: which variables are the workflows', and how much fits in."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from aws_cdk import TreeInspector
from aws_cdk import aws_lambda as lambda_

HANDLER, WORKFLOWS = "UNUM_HANDLER", "UNUM_WORKFLOWS"
"""The variables that workflows set."""

CHOICES: Mapping[str, tuple[str, ...]] = {"UNUM_CLIENT": ("wire", "botocore", ""), "UNUM_MAINTAIN_LEASES": ("0", "1")}
"""Those that are the user's to set, and what they may say."""

MOST_BYTES = 4096
"""The most that Lambda allows. Source: AWS Lambda Developer Guide, "Lambda quotas"."""

LEAST_ARN_BYTES = 50
"""Of the ARN of a version, in the region with the shortest name and with a function's name of one character."""

MOST_ARN_BYTES = 140
"""Of the ARN of a version, with a function's name of 64 characters; the URL of a queue, with 80, may be as long."""

_TOKEN = re.compile(r"\$\{Token\[[^]]*\]\}")

_PROPERTIES = "aws:cdk:cloudformation:props"


def environment_of(resource: lambda_.CfnFunction, properties: Mapping[str, Any]) -> Any:
    """What has to be resolved for the environment of `resource`, which has these `properties`.

    Once anybody has asked for it, jsii makes of it what has no variables, so that it has to be inspected.
    """
    found = properties.get("environment")
    if not isinstance(found, lambda_.CfnFunction.EnvironmentProperty):
        return found
    inspector = TreeInspector()
    resource.inspect(inspector)
    return resource.stack.resolve(inspector)["attributes"][_PROPERTIES].get("environment")


def overwritten(variables: Mapping[str, Any], own: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the variables of a function, if the workflow's are `own`; all resolved."""
    for name, value in own.items():
        if variables.get(name) != value:
            yield (
                f"{name} was set to {variables.get(name)!r} after the function became a part of a workflow, which sets "
                "it itself; remove that"
            )
    for name, choices in CHOICES.items():
        given = variables.get(name, choices[0])
        if isinstance(given, str) and given not in choices:
            yield f"{name}: expected one of {[*choices]}, got {given!r}"


def least_bytes(variables: Mapping[str, Any]) -> int:
    """How large an environment is at least: what only the deployment knows counts as nothing.

    Lambda measures all names and values as one JSON object, so that a quotation mark in a value counts twice; its error
    message shows what it has measured.
    """
    known = {name: _known(value) for name, value in variables.items()}
    return len(json.dumps(known, ensure_ascii=False, separators=(",", ":")).encode())


def _known(value: Any) -> str:
    """What is known of a value, with tokens in it or resolved."""
    match value:
        case str():
            return _TOKEN.sub("", value)
        case {"Fn::Join": [str() as separator, [*parts]]}:
            return separator.join(map(_known, parts))
    return ""
