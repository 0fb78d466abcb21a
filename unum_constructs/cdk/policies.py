"""Policies of roles, also of roles that the app must not change.

The CDK puts a policy into the template for every role that it is made with: for a role with ``mutable=False``, and for
roles that another team makes (`iam.Role.customize_roles`), too. Here such roles get none. What they need is said in a
warning, or in the CDK's report of policies.
"""

from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import jsii
from aws_cdk import Annotations
from aws_cdk import aws_iam as iam
from constructs import Construct, IValidation

from unum_constructs.cdk.lookup import node_of, path_of, stack_of
from unum_runtime.json_text import to_text

_CUSTOMIZED = "@aws-cdk/iam:customizeRoles"
"""Context that `iam.Role.customize_roles` sets."""


def new_policy(
    scope: Construct,
    construct_id: str,
    *,
    statements: Iterable[iam.PolicyStatement],
    roles: Iterable[iam.IRole],
    policy_name: str | None = None,
) -> iam.Policy:
    """Return a policy of `roles`; roles that the app must not change stay as they are, and their needs are reported."""
    every = [*roles]
    kept = [each for each in every if is_fixed(each)]
    changed = [each for each in every if each not in kept]
    policy = iam.Policy(scope, construct_id, statements=[*statements], roles=changed, policy_name=policy_name)
    if is_customized(scope):
        # Statements may still be added, and the report takes what a policy has when it is attached.
        policy.node.add_validation(_Report(policy, every))
    elif kept:
        policy.node.add_validation(_Warning(policy, kept))
    return policy


def is_customized(scope: Construct) -> bool:
    """Return True if the app of `scope` reports policies instead of, or beside, making roles."""
    stack = stack_of(scope)
    if stack not in _customized:
        _customized[stack] = node_of(stack).try_get_context(_CUSTOMIZED) is not None
    return _customized[stack]


def is_made(role: iam.IRole) -> bool:
    """Return True if the app makes `role`, so that its template has the role."""
    return isinstance(role, iam.Role) and isinstance(node_of(role).default_child, iam.CfnRole)


def is_fixed(role: iam.IRole) -> bool:
    """Return True if no policy of the app may be attached to `role`."""
    if role not in _fixed:
        _fixed[role] = not (_takes_policies(role) if not isinstance(role, iam.Role) else _is_own(role))
    return _fixed[role]


_customized: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
_fixed: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
"""Answers of the CDK's process, each of which is a call."""


def _is_own(role: iam.Role) -> bool:
    return not is_customized(role) or is_made(role)


def _takes_policies(role: iam.IRole) -> bool:
    """Return True if an imported role takes policies: it is mutable, and in this account."""
    # The CDK has no question for that. So a policy is attached and taken out of the tree again.
    stack = stack_of(role)
    policy = iam.Policy(stack, f"UnumAttachable{node_of(role).addr}")
    role.attach_inline_policy(policy)
    resource: Any = policy.node.default_child
    is_attached = bool(stack.resolve(resource.roles))
    node_of(stack).try_remove_child(policy.node.id)
    return is_attached


def _statements(policy: iam.Policy) -> list[Any]:
    """Return the statements of `policy`, with references by logical id."""
    document = stack_of(policy).resolve(policy.document)
    return list(document["Statement"]) if document else []


@jsii.implements(IValidation)
class _Report:
    """Validation that adds a policy to the CDK's report, when all its statements are known."""

    def __init__(self, policy: iam.Policy, roles: list[iam.IRole]) -> None:
        self._policy, self._left = policy, [*roles]

    def validate(self) -> list[str]:
        for role in self._left:
            role.attach_inline_policy(self._policy)
        self._left.clear()  # an app may be synthesized again
        return []


@jsii.implements(IValidation)
class _Warning:
    """Validation that tells the statements of a policy which its roles do not get."""

    def __init__(self, policy: iam.Policy, roles: list[iam.IRole]) -> None:
        self._policy, self._roles = policy, roles

    def validate(self) -> list[str]:
        statements = _statements(self._policy)
        for role in self._roles if statements else ():
            Annotations.of(self._policy).add_warning_v2(
                f"unum:rolePolicy[{path_of(role)}]",
                f"role {path_of(role)} gets no policy of this app, because it is imported with mutable=False, from "
                f"another account, or without policy updates; executions fail until whoever has the role allows: "
                f"{to_text(statements)}",
            )
        self._roles = []  # once, also if the app is synthesized again
        return []
