"""Environment variables of workflow functions: variables of the workflows, and the size limit."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import jsii
from aws_cdk import (
    DefaultTokenResolver,
    IResolvable,
    IResolveContext,
    ITokenMapper,
    Stack,
    StringConcat,
    Tokenization,
    TokenizedStringFragments,
    TreeInspector,
)
from aws_cdk import aws_lambda as lambda_

from unum_runtime.json_text import to_text

HANDLER, HANDLERS, WORKFLOWS = "UNUM_HANDLER", "UNUM_HANDLERS", "UNUM_WORKFLOWS"
"""Variables that workflows set."""

CHOICES: Mapping[str, tuple[str, ...]] = {"UNUM_CLIENT": ("wire", "botocore", ""), "UNUM_MAINTAIN_LEASES": ("0", "1")}
"""Variables that users may set, with their allowed values."""

MAX_BYTES = 4096
"""Size limit of all variables together. Source: AWS Lambda Developer Guide, "Lambda quotas"."""

GENERATED = "x" * 13
"""As long as what CloudFormation adds to the names that it generates."""

RESERVED_BYTES = 1024
"""Part of the environment that definitions leave free, for variables that users add later."""

MIN_ARN_BYTES = 50
"""Shortest ARN of a version: shortest region, function name of 1 character."""

MAX_ARN_BYTES = 140
"""Longest ARN of a version: function name of 64 characters. The URL of a queue with 80 characters is as long."""

TOKEN = "x" * MAX_ARN_BYTES
"""Stands for a token where the longest environment is measured."""

_TOKEN = re.compile(r"\$\{Token\[[^]]*\]\}")

_PROPERTIES = "aws:cdk:cloudformation:props"


def environment_of(resource: lambda_.CfnFunction, properties: Mapping[str, Any]) -> Any:
    """Return the environment of `resource` in a form that `resolve` accepts.

    After a read of the property, jsii returns an object without the variables; the CDK's inspector still shows them.
    """
    found = properties.get("environment")
    if not isinstance(found, lambda_.CfnFunction.EnvironmentProperty):
        return found
    inspector = TreeInspector()
    resource.inspect(inspector)
    return resource.stack.resolve(inspector)["attributes"][_PROPERTIES].get("environment")


def literal_variables(resource: lambda_.CfnFunction, properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the user's variables with `TOKEN` for each token in their values, which may not be known before synth."""
    found = properties.get("environment")
    if isinstance(found, lambda_.CfnFunction.EnvironmentProperty):
        resource.inspect(found := TreeInspector())
    resolved = Tokenization.resolve(found, scope=resource, resolver=_Literals(StringConcat()), preparing=False) or {}
    if isinstance(found, TreeInspector):
        resolved = resolved["attributes"][_PROPERTIES].get("environment") or {}
    variables: Mapping[str, Any] = resolved.get("variables") or {}
    return variables


class _Literals(DefaultTokenResolver):
    """Resolver that leaves texts unresolved: the CDK asks the producer of a lazy text only once."""

    def resolve_string(self, fragments: TokenizedStringFragments, context: IResolveContext) -> Any:  # noqa: ARG002
        """Return the literal parts, with `TOKEN` for each token."""
        return fragments.map_tokens(_Placeholders()).join(StringConcat())


@jsii.implements(ITokenMapper)
class _Placeholders:
    def map_token(self, _token: IResolvable) -> str:
        return TOKEN


def json_of(stack: Stack, services: Mapping[str, Mapping[str, Any]]) -> str:
    """Return `services` as JSON, as ``Stack.to_json_string`` does."""
    # Values of the user's substitutions may need escapes that only the deployment can make. Names, ARNs and URLs need
    # none, and without the CDK's token around them every later visit of the function is cheaper.
    if any("values" in each for each in services.values()):
        return stack.to_json_string(services)
    return to_text(services)


def variable_problems(variables: Mapping[str, Any], own: Mapping[str, Any]) -> Iterator[str]:
    """Yield problems of a function's variables; `own` are the workflows' variables, all resolved."""
    for name, value in own.items():
        if variables.get(name) != value:
            yield (
                f"{name} was set to {variables.get(name)!r} after the function joined a workflow, which sets it; "
                "remove the assignment"
            )
    for name, choices in CHOICES.items():
        given = variables.get(name, choices[0])
        if isinstance(given, str) and given not in choices:
            yield f"{name}: expected one of {[*choices]}, got {given!r}"


def min_bytes(variables: Mapping[str, Any]) -> int:
    """Return the least size of an environment in bytes; values that only the deployment knows count as empty.

    Lambda measures all names and values as one JSON object, as its error message shows: a quotation mark in a value
    counts twice.
    """
    known = {name: _known(value) for name, value in variables.items()}
    # Lambda measures UTF-8 bytes, so characters beyond ASCII must not be escaped.
    return len(to_text(known).encode())


def _known(value: Any) -> str:
    """Return the known part of a value with tokens."""
    match value:
        case str():
            return _TOKEN.sub("", value)
        case {"Fn::Join": [str() as separator, [*parts]]}:
            return separator.join(map(_known, parts))
    return ""
