"""Logical ids that change with a function's version.

The CDK computes a version's logical id from everything that makes up the function, anew for each reference to it. Our
functions refer to their successors' versions, so that would be exponential in the length of a workflow with conditions.
Here each id is computed once, when the CDK first asks for it in the synthesis, when functions change no more; and once
more when the references between stacks have become what stands in the templates, for that changes the ids.
"""

from typing import ClassVar
from weakref import WeakKeyDictionary

import jsii
from aws_cdk import CfnOutput, CfnResource, Fn, IResolveContext, IStringProducer, Lazy, RemovalPolicy, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import IValidation

from unum_constructs.cdk.lookup import node_of, path_of, resource_of, stack_of

MAX_LOGICAL_ID = 255


class _Synthesis:
    """How far it is; ids that were computed before hold no more."""

    phase: ClassVar[int] = 0


class _VersionId:
    """The logical id of one version.

    Attributes:
        resource: the version.
    """

    def __init__(self, version: lambda_.Version) -> None:
        self._stack = stack_of(version)
        self.resource = resource_of(version, lambda_.CfnVersion)
        self._token = self.resource.logical_id
        self._known: tuple[int, str] | None = None

    def followed_by(self, suffix: str) -> str:
        """It as it is now, and `suffix`."""
        _noticed(self._stack).compute()
        return self.now()[len(suffix) - MAX_LOGICAL_ID :] + suffix

    def now(self) -> str:
        """It as it is now; the CDK asks for those of the versions that the function refers to meanwhile."""
        if self._known is None or self._known[0] != _Synthesis.phase:
            self._known = _Synthesis.phase, self._stack.resolve(self._token)
        return self._known[1]


@jsii.implements(IValidation)
class _ReferencesAreResolved:
    """Notices it, once for each stack: the CDK validates constructs after that, and before it writes templates."""

    def __init__(self) -> None:
        self._named: list[tuple[CfnResource, _VersionId, str]] = []
        self._computed: int | None = None

    def name(self, resource: CfnResource, version_id: _VersionId, suffix: str) -> None:
        """Give `resource` an id then."""
        self._named.append((resource, version_id, suffix))

    def compute(self) -> None:
        """Compute ids in the order in which none needs another that is not known.

        What executions come to later is named later. From first to last, the CDK and Python would ask each other for
        the next one until their stacks are full.
        """
        if self._computed != _Synthesis.phase:
            self._computed = _Synthesis.phase
            for _, version_id, _ in reversed(self._named):
                version_id.now()

    def validate(self) -> list[str]:
        _Synthesis.phase += 1
        for resource, version_id, suffix in self._named:
            resource.override_logical_id(version_id.followed_by(suffix))
        for each in self._retained():
            each.apply_removal_policy(RemovalPolicy.RETAIN)
        return []

    def _retained(self) -> dict[CfnResource, None]:
        return dict.fromkeys(each for named, version_id, _ in self._named for each in (version_id.resource, named))


_ids: WeakKeyDictionary[lambda_.Version, _VersionId] = WeakKeyDictionary()
_noticing: WeakKeyDictionary[Stack, _ReferencesAreResolved] = WeakKeyDictionary()


def _id_of(version: lambda_.Version) -> _VersionId:
    if version not in _ids:
        _ids[version] = _VersionId(version)
        _noticed(stack_of(version))
    return _ids[version]


def _noticed(stack: Stack) -> _ReferencesAreResolved:
    if stack not in _noticing:
        _noticing[stack] = _ReferencesAreResolved()
        node_of(stack).add_validation(_noticing[stack])
    return _noticing[stack]


@jsii.implements(IStringProducer)
class _LogicalId:
    def __init__(self, version_id: _VersionId, suffix: str) -> None:
        self._version_id = version_id
        self._suffix = suffix

    def produce(self, _context: IResolveContext) -> str:
        return self._version_id.followed_by(self._suffix)


def logical_id(version: lambda_.Version, suffix: str = "") -> str:
    """A token of the logical id of `version`, followed by `suffix`."""
    return Lazy.uncached_string(_LogicalId(_id_of(version), suffix))


def retain_with(version: lambda_.Version, resource: CfnResource, suffix: str) -> None:
    """Retain `version` and `resource`, which gets the logical id of `version`, followed by `suffix`.

    Not before synthesis: so the CDK does not ask for the id each time that it comes by.
    """
    _noticed(stack_of(version)).name(resource, _id_of(version), suffix)


def version_arn(version: lambda_.Version) -> str:
    """A token of the qualified ARN of `version`, for functions of the same stack."""
    return Fn.ref(logical_id(version))


def version_output(version: lambda_.Version, stack: Stack) -> str:
    """A token of the same for another stack, `stack`, which has to be deployed later or is around the version's.

    It is an output of the version's stack that nobody exports: so a version that is not the current one any more may go
    from that stack's template, although others were deployed with it. The output's name changes with the version, for
    otherwise the other stacks would not see that they have to change.
    """
    name, own = logical_id(version, suffix="Arn"), stack_of(version)
    if version.node.try_find_child(_OUTPUT) is None:
        output = CfnOutput(
            version, _OUTPUT, value=version_arn(version), description="Version for workflows of other stacks"
        )
        output.override_logical_id(name)
    if nested_in(stack, own) and own.nested_stack_resource is not None:
        return Fn.get_att(own.nested_stack_resource.logical_id, f"Outputs.{name}").to_string()
    return Fn.get_stack_output(own.stack_name, name)


def nested_in(around: Stack, stack: Stack) -> bool:
    """Whether `stack` is nested directly in `around`."""
    parent = stack.nested_stack_parent
    return parent is not None and path_of(parent) == path_of(around)


_OUTPUT = "Arn"
