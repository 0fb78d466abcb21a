"""Logical ids that change with a function's version.

The CDK computes a version's logical id from everything that makes up the function, anew for each reference to it. Our
functions refer to their successors' versions, so that would be exponential in the length of a workflow with conditions.
Here each id is computed once, when the CDK first asks for it: in the synthesis, when functions change no more.
"""

import jsii
from aws_cdk import Fn, IStableStringProducer, Lazy
from aws_cdk import aws_lambda as lambda_

from unum_constructs.resource import resource_of

MAX_LOGICAL_ID = 255


@jsii.implements(IStableStringProducer)
class _LogicalId:
    def __init__(self, version: lambda_.Version, suffix: str) -> None:
        self._version = version
        self._suffix = suffix

    def produce(self) -> str:
        resource = resource_of(self._version, lambda_.CfnVersion)
        logical_id: str = resource.stack.resolve(resource.logical_id)
        return logical_id[len(self._suffix) - MAX_LOGICAL_ID :] + self._suffix


def logical_id(version: lambda_.Version, suffix: str = "") -> str:
    """A token of the logical id of `version`, followed by `suffix`."""
    return Lazy.string(_LogicalId(version, suffix))


def version_arn(version: lambda_.Version) -> str:
    """A token of the qualified ARN of `version`, for functions of the same stack."""
    return Fn.ref(logical_id(version))
