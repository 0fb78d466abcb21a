"""What is asked of constructs again and again, kept.

Each question is a call from Python to the CDK's process, of about half a millisecond; none of these answers changes.
"""

from collections.abc import Callable, Mapping
from functools import cache, wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from aws_cdk import CfnResource, Stack, Token
from aws_cdk import aws_lambda as lambda_
from constructs import IConstruct, Node

Resource = TypeVar("Resource", bound=CfnResource)
Asked = TypeVar("Asked", bound=IConstruct)
Answer = TypeVar("Answer")


def _kept(ask: Callable[[Asked], Answer]) -> Callable[[Asked], Answer]:
    """`ask`, which asks each construct once."""
    answers: WeakKeyDictionary[Asked, Answer] = WeakKeyDictionary()

    @wraps(ask)
    def asked(construct: Asked) -> Answer:
        if construct not in answers:
            answers[construct] = ask(construct)
        return answers[construct]

    return asked


@_kept
def node_of(construct: IConstruct) -> Node:
    """Its place in the tree of constructs."""
    return construct.node


@_kept
def path_of(construct: IConstruct) -> str:
    """Its path."""
    return node_of(construct).path


@_kept
def stack_of(construct: IConstruct) -> Stack:
    """The stack that it is in."""
    return Stack.of(construct)


@_kept
def arn_of(function: lambda_.IFunction) -> str:
    """A token of the ARN of a function, or that of an alias with its name."""
    return function.function_arn


@_kept
def version_of(function: lambda_.Function) -> lambda_.Version:
    """Its version in this deployment."""
    return function.current_version


@cache
def is_token(text: str) -> bool:
    """Whether only the deployment knows what stands in `text`."""
    return Token.is_unresolved(text)


_found: WeakKeyDictionary[IConstruct, CfnResource] = WeakKeyDictionary()


def resource_of(construct: IConstruct, kind: type[Resource]) -> Resource:
    """The CloudFormation resource of type `kind` that `construct` is made of.

    Raises:
        TypeError: it is made of another; somebody replaced its default child.
    """
    resource = _found.get(construct) or node_of(construct).default_child
    if not isinstance(resource, kind):
        raise TypeError(f"{path_of(construct)}: expected a {kind.__name__}, got {resource!r}")
    _found[construct] = resource
    return resource


def properties_of(resource: CfnResource) -> Mapping[str, Any]:
    """What `resource` has been given until now, under the names that JavaScript has for it; asked in one call."""
    found: Mapping[str, Any] = resource._cfn_properties  # noqa: SLF001 - what the CDK has for those who extend it
    return found


@_kept
def runtime_of(function: lambda_.Function) -> str | None:
    """Its runtime, such as ``python3.13``; None for container images."""
    return resource_of(function, lambda_.CfnFunction).runtime


@_kept
def package_type_of(function: lambda_.Function) -> str | None:
    """``Image`` for container images."""
    return resource_of(function, lambda_.CfnFunction).package_type
