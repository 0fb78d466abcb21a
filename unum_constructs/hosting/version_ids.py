"""Logical ids that change with a function's version.

The CDK computes a version's logical id from all properties of the function, again for each reference. Functions refer
to the versions of their successors, so the cost would grow exponentially with the length of a workflow with choices.
Here each id is computed once, on the CDK's first request during synthesis, when functions no longer change; and once
more after references between stacks have their final form, which changes the ids.
"""

from typing import ClassVar
from weakref import WeakKeyDictionary

import jsii
from aws_cdk import CfnOutput, CfnResource, Fn, IResolveContext, IStringProducer, Lazy, RemovalPolicy, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import IValidation

from unum_constructs.cdk.lookup import node_of, path_of, resource_of, stack_of

# Source: AWS CloudFormation User Guide, "Understand CloudFormation quotas".
MAX_LOGICAL_ID = 255


class _Synthesis:
    """Phase of the synthesis; ids of an earlier phase are obsolete."""

    phase: ClassVar[int] = 0


class _VersionId:
    """Logical id of one version.

    Attributes:
        resource: the version.
    """

    def __init__(self, version: lambda_.Version) -> None:
        self._stack = stack_of(version)
        self.resource = resource_of(version, lambda_.CfnVersion)
        # Each read of `logical_id` costs a request to the CDK's process; the token stays the same.
        self._token = self.resource.logical_id
        self._cached: tuple[int, str] | None = None

    def with_suffix(self, suffix: str) -> str:
        """Return the current id with `suffix`, shortened in front to the limit of 255 characters."""
        _assignment_in(self._stack).compute()
        # The front may go: the digest at the end makes the id unique.
        return self.current()[len(suffix) - MAX_LOGICAL_ID :] + suffix

    def current(self) -> str:
        """Return the current id; resolving requests ids of all referenced versions."""
        if self._cached is None or self._cached[0] != _Synthesis.phase:
            self._cached = _Synthesis.phase, self._stack.resolve(self._token)
        return self._cached[1]


@jsii.implements(IValidation)
class _IdAssignment:
    """Validation that assigns ids, once for each stack.

    The CDK validates after it has resolved references, and before it writes templates.
    """

    def __init__(self) -> None:
        self._assigned: list[tuple[CfnResource, _VersionId, str]] = []
        self._computed: int | None = None

    def assign_later(self, resource: CfnResource, version_id: _VersionId, suffix: str) -> None:
        """Assign the id of `version_id` with `suffix` to `resource` during validation."""
        self._assigned.append((resource, version_id, suffix))

    def compute(self) -> None:
        """Compute all ids, successors first.

        Later states are registered later. In the other order, the CDK and Python would recurse through the whole
        workflow, and large ones would exceed their stacks.
        """
        if self._computed != _Synthesis.phase:
            self._computed = _Synthesis.phase
            for _, version_id, _ in reversed(self._assigned):
                version_id.current()

    def validate(self) -> list[str]:
        # References between stacks are final from here on; they changed functions, and with them the ids.
        _Synthesis.phase += 1
        for resource, version_id, suffix in self._assigned:
            resource.override_logical_id(version_id.with_suffix(suffix))
        for each in self._retained():
            # CloudFormation would delete a version that leaves the template, under executions that still use it.
            each.apply_removal_policy(RemovalPolicy.RETAIN)
        return []

    def _retained(self) -> dict[CfnResource, None]:
        return dict.fromkeys(
            each for resource, version_id, _ in self._assigned for each in (version_id.resource, resource)
        )


_ids: WeakKeyDictionary[lambda_.Version, _VersionId] = WeakKeyDictionary()
_assignments: WeakKeyDictionary[Stack, _IdAssignment] = WeakKeyDictionary()


def _id_of(version: lambda_.Version) -> _VersionId:
    if version not in _ids:
        _ids[version] = _VersionId(version)
        _assignment_in(stack_of(version))
    return _ids[version]


def _assignment_in(stack: Stack) -> _IdAssignment:
    if stack not in _assignments:
        _assignments[stack] = _IdAssignment()
        node_of(stack).add_validation(_assignments[stack])
    return _assignments[stack]


@jsii.implements(IStringProducer)
class _LogicalId:
    def __init__(self, version_id: _VersionId, suffix: str) -> None:
        self._version_id = version_id
        self._suffix = suffix

    def produce(self, _context: IResolveContext) -> str:
        return self._version_id.with_suffix(self._suffix)


def logical_id(version: lambda_.Version, suffix: str = "") -> str:
    """Return a token of the logical id of `version` with `suffix`."""
    # Uncached: the CDK resolves twice, and the second phase has other ids.
    return Lazy.uncached_string(_LogicalId(_id_of(version), suffix))


def retain_with(version: lambda_.Version, resource: CfnResource, suffix: str) -> None:
    """Retain `version` and `resource`; `resource` gets the logical id of `version` with `suffix`.

    The id is assigned during synthesis, so that the CDK does not compute it on each earlier visit.
    """
    _assignment_in(stack_of(version)).assign_later(resource, _id_of(version), suffix)


def version_arn(version: lambda_.Version) -> str:
    """Return a token of the version's qualified ARN, for functions of the same stack."""
    return Fn.ref(logical_id(version))


def version_output(version: lambda_.Version, stack: Stack) -> str:
    """Return a token of the version's ARN for `stack`, which is deployed later or contains the version's stack.

    It is an output without an export: CloudFormation lets the version's stack drop an old version while other stacks
    still use it. The output's name changes with the version, because other stacks would not notice a changed value.
    """
    name, own = logical_id(version, suffix="Arn"), stack_of(version)
    # Several workflows of other stacks may use one version: they share the output.
    if version.node.try_find_child(_OUTPUT) is None:
        output = CfnOutput(
            version, _OUTPUT, value=version_arn(version), description="Version for workflows of other stacks"
        )
        output.override_logical_id(name)
    if nested_in(stack, own) and own.nested_stack_resource is not None:
        return Fn.get_att(own.nested_stack_resource.logical_id, f"Outputs.{name}").to_string()
    return Fn.get_stack_output(own.stack_name, name)


def nested_in(around: Stack, stack: Stack) -> bool:
    """Return True if `stack` is nested directly in `around`."""
    parent = stack.nested_stack_parent
    return parent is not None and path_of(parent) == path_of(around)


_OUTPUT = "Arn"
