"""The CloudFormation resource behind a construct."""

from typing import TypeVar
from weakref import WeakKeyDictionary

from aws_cdk import CfnResource
from constructs import IConstruct

Resource = TypeVar("Resource", bound=CfnResource)

_found: WeakKeyDictionary[IConstruct, CfnResource] = WeakKeyDictionary()
"""Each look-up is two calls from Python to the CDK's process, of about half a millisecond each."""


def resource_of(construct: IConstruct, kind: type[Resource]) -> Resource:
    """The resource of type `kind` that `construct` is made of.

    Raises:
        TypeError: it is made of another; somebody replaced its default child.
    """
    resource = _found.get(construct) or construct.node.default_child
    if not isinstance(resource, kind):
        raise TypeError(f"{construct.node.path}: expected a {kind.__name__}, got {resource!r}")
    _found[construct] = resource
    return resource
