"""Cached properties of constructs.

Those that the compiler asks for as well are in `unum_compiler.frontends.construct_attributes`.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from aws_cdk import CfnResource, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import IConstruct, Node

from unum_compiler.frontends import construct_attributes
from unum_compiler.frontends.construct_attributes import cached, remember

__all__ = [
    "arn_of",
    "forget_given_properties",
    "function_behind",
    "given_properties_of",
    "is_token",
    "name_of",
    "node_of",
    "package_type_of",
    "path_of",
    "properties_of",
    "queue_url_of",
    "remember",
    "remember_role",
    "resource_of",
    "role_of",
    "runtime_of",
    "session_of",
    "stack_of",
    "version_of",
]

Resource = TypeVar("Resource", bound=CfnResource)

arn_of: Callable[[lambda_.IFunction], str] = construct_attributes.arn_of
name_of: Callable[[lambda_.IFunction], str] = construct_attributes.name_of
node_of: Callable[[IConstruct], Node] = construct_attributes.node_of
path_of: Callable[[IConstruct], str] = construct_attributes.path_of


@cached
def stack_of(construct: IConstruct) -> Stack:
    """Return the construct's stack."""
    return Stack.of(construct)


def function_behind(function: Any) -> Any:
    """Return the function behind `function`, an alias or version; other functions unchanged."""
    # By attribute: aliases and versions from attributes have no class in Python.
    behind = getattr(function, "lambda_", None)
    return function if behind is None else function_behind(behind)


@cached
def queue_url_of(queue: sqs.IQueue) -> str:
    """Return a token of the queue's URL."""
    return queue.queue_url


@cached
def version_of(function: lambda_.Function) -> lambda_.Version:
    """Return the function's version in this deployment."""
    return function.current_version


_TOKEN = re.compile(r"\$\{Token\[[^\]]+\]\}")


def is_token(text: str) -> bool:
    """Return True if only the deployment knows (a part of) `text`."""
    # The form in which the CDK writes tokens into texts: asking the CDK costs a call for each text.
    return _TOKEN.search(text) is not None


_found: WeakKeyDictionary[IConstruct, CfnResource] = WeakKeyDictionary()


def resource_of(construct: IConstruct, kind: type[Resource]) -> Resource:
    """Return the CloudFormation resource of type `kind` behind `construct`.

    Raises:
        TypeError: the default child has another type, because the app replaced it.
    """
    resource = _found.get(construct) or node_of(construct).default_child
    if not isinstance(resource, kind):
        raise TypeError(f"{path_of(construct)}: expected a {kind.__name__}, got {resource!r}")
    _found[construct] = resource
    return resource


def properties_of(resource: CfnResource) -> Mapping[str, Any]:
    """Return all current properties of `resource`, by their names in JavaScript, with one request to its process."""
    found: Mapping[str, Any] = resource._cfn_properties  # noqa: SLF001 - what the CDK has for those who extend it
    return found


_given: WeakKeyDictionary[CfnResource, Mapping[str, Any]] = WeakKeyDictionary()


def given_properties_of(resource: CfnResource) -> Mapping[str, Any]:
    """Return the properties of `resource` as they were at the first request since `forget_given_properties`.

    For properties that no workflow sets: only the app changes them, between the constructors of workflows.
    """
    if resource not in _given:
        _given[resource] = properties_of(resource)
    return _given[resource]


def forget_given_properties() -> None:
    """Let `given_properties_of` read all properties again, because the app may have changed them."""
    _given.clear()


@cached
def runtime_of(function: lambda_.Function) -> str | None:
    """Return the function's runtime, such as ``python3.13``; None for container images."""
    return resource_of(function, lambda_.CfnFunction).runtime


_roles: WeakKeyDictionary[lambda_.IFunction, iam.IRole] = WeakKeyDictionary()


def role_of(function: lambda_.IFunction) -> iam.IRole:
    """Return the role of a function; every function that an app creates has one."""
    role = _roles.get(function) or function.role
    assert role is not None  # noqa: S101 - see above
    remember_role(function, role)
    return role


def session_of(function: lambda_.IFunction) -> str:
    """Return what identifies the sessions of a function's role: a token of the role's unique id.

    For a role that another team makes, whose id no template knows, the name of the session after a colon: Lambda names
    it after the function.
    """
    role = node_of(role_of(function)).default_child
    return role.attr_role_id if isinstance(role, iam.CfnRole) else f":{name_of(function)}"


def remember_role(function: lambda_.IFunction, role: iam.IRole) -> None:
    """Save the call that asks `function` for its role."""
    _roles[function] = role


@cached
def package_type_of(function: lambda_.Function) -> str | None:
    """Return the function's package type: ``Image`` for container images."""
    return resource_of(function, lambda_.CfnFunction).package_type
