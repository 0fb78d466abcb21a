"""Logical ids that change with a function's version.

The CDK computes a version's logical id from everything that makes up the function, anew for each reference to it. Our
functions refer to their successors' versions, so that would be exponential in the length of a workflow with conditions.
Here each id is computed once, when the CDK first asks for it in the synthesis, when functions change no more; and once
more when the references between stacks have become what stands in the templates, for that changes the ids.
"""

from typing import ClassVar

import jsii
from aws_cdk import CfnOutput, Fn, IResolveContext, IStringProducer, Lazy
from aws_cdk import aws_lambda as lambda_
from constructs import IValidation

from unum_constructs.resource import resource_of

MAX_LOGICAL_ID = 255


class _Synthesis:
    """How far it is; ids that were computed before hold no more."""

    phase: ClassVar[int] = 0


@jsii.implements(IValidation)
class _ReferencesAreResolved:
    """Notices it: the CDK validates constructs after it has resolved references, and before it writes templates."""

    def validate(self) -> list[str]:
        _Synthesis.phase += 1
        return []


@jsii.implements(IStringProducer)
class _LogicalId:
    def __init__(self, version: lambda_.Version, suffix: str) -> None:
        self._version = version
        self._suffix = suffix
        self._known: tuple[int, str] | None = None

    def produce(self, _context: IResolveContext) -> str:
        if self._known is None or self._known[0] != _Synthesis.phase:
            self._known = _Synthesis.phase, self._computed()
        return self._known[1]

    def _computed(self) -> str:
        resource = resource_of(self._version, lambda_.CfnVersion)
        logical_id: str = resource.stack.resolve(resource.logical_id)
        return logical_id[len(self._suffix) - MAX_LOGICAL_ID :] + self._suffix


def logical_id(version: lambda_.Version, suffix: str = "") -> str:
    """A token of the logical id of `version`, followed by `suffix`."""
    return Lazy.uncached_string(_LogicalId(version, suffix))


def version_arn(version: lambda_.Version) -> str:
    """A token of the qualified ARN of `version`, for functions of the same stack."""
    version.node.add_validation(_ReferencesAreResolved())
    return Fn.ref(logical_id(version))


def version_output(version: lambda_.Version) -> str:
    """A token of the same, for other stacks, which have to be deployed later.

    It is an output of the version's stack that nobody exports: so a version that is not the current one any more may go
    from that stack's template, although others were deployed with it. The output's name changes with the version, for
    otherwise the other stacks would not see that they have to change.
    """
    name = logical_id(version, suffix="Arn")
    if version.node.try_find_child(_OUTPUT) is None:
        output = CfnOutput(
            version, _OUTPUT, value=version_arn(version), description="Version for workflows of other stacks"
        )
        output.override_logical_id(name)
    return Fn.get_stack_output(version.stack.stack_name, name)


_OUTPUT = "Arn"
