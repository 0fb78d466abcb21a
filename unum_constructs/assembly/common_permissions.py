"""Policies: permissions that several functions share, and permissions of functions in many workflows.

Each function has a policy of its own, for what it alone may do: invoke the functions that follow it. What several
functions may do alike, to the workflow's state, queue and failure handler, is in one policy of all their roles. It
would otherwise be half of the template of a large workflow.

A function of many workflows would exceed the inline policies of its role. From the fourth workflow on, its common
permissions are in managed policies.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from aws_cdk import aws_iam as iam
from constructs import Construct

from unum_constructs.cdk.lookup import path_of, stack_of
from unum_constructs.cdk.nag import acknowledge_policies
from unum_constructs.cdk.policies import is_fixed, new_policy
from unum_constructs.errors import ConstructError
from unum_constructs.hosting.host import Host, Managed
from unum_runtime.cold_start.digest import short_digest

Statements: TypeAlias = tuple[iam.PolicyStatement, ...]
AnyPolicy: TypeAlias = iam.Policy | iam.ManagedPolicy

LEAST_ALIKE = 4
"""Functions with equal permissions that share a policy: for fewer, a resource more is not worth the bytes."""

MOST_INLINE = 3
"""Workflows of a function whose common permissions are inline. With names of the greatest length, a payload bucket,
status events and keys, those of one workflow have 2,900 characters, and all inline policies of a role 10,240."""

MOST_IN_ONE = 2
"""Workflows in one managed policy, which has 6,144 characters."""

MOST_MANAGED = 9
"""Managed policies of a role; IAM allows ten, and the CDK attaches one to the role of a `lambda_.Function`.

Source: IAM User Guide, "IAM and AWS STS quotas"."""

MOST_WORKFLOWS = MOST_INLINE + MOST_IN_ONE * MOST_MANAGED


class Common(NamedTuple):
    """One function's permissions, possibly shared with other functions of its workflow.

    Attributes:
        host: the function.
        role: its role, as known in the workflow's stack.
        failures: permission to hand failed events over; of functions, which managed policies do not name, because a
            policy of several workflows would make their functions depend on each other.
        state: permissions for the workflow's state by name; equal names have equal statements.
    """

    host: Host
    role: iam.IRole
    failures: Statements
    state: Mapping[str, Statements]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all permissions."""
        return (*(("failures",) if self.failures else ()), *self.state)

    @property
    def state_statements(self) -> list[iam.PolicyStatement]:
        """All statements about the state."""
        return [statement for each in self.state.values() for statement in each]


class PolicyId(NamedTuple):
    """Construct id and name of a policy; a name of None is the CDK's default."""

    construct_id: str
    policy_name: str | None


class CommonPolicies(NamedTuple):
    """Policies with common permissions, by function key.

    Attributes:
        shared: one policy for several functions, with all of them.
        managed: policies of functions in many workflows, with those about the state.
    """

    shared: Mapping[str, iam.Policy]
    managed: Mapping[str, iam.ManagedPolicy]

    def of(self, key: str) -> AnyPolicy | None:
        """Return the policy of a function; None if its permissions belong into its own policy."""
        return self.shared.get(key) or self.managed.get(key)


def attach_common(workflow: Construct, functions: Mapping[str, Common]) -> CommonPolicies:
    """Attach common permissions of `functions`, by key, to their roles.

    Raises:
        ConstructError: a function belongs to more workflows than its role has policies for.
    """
    # A role that gets no policies has no limit of them either.
    crowded = [
        key for key, each in functions.items() if len(each.host.workflows) >= MOST_INLINE and not is_fixed(each.role)
    ]
    managed = {key: _managed(workflow, key, functions[key]) for key in crowded}
    alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for key in sorted(functions.keys() - managed.keys()):
        alike[functions[key].names].append(key)
    groups = {names: keys for names, keys in sorted(alike.items()) if len(keys) >= LEAST_ALIKE}
    if not groups:
        return CommonPolicies({}, managed)
    scope = Construct(workflow, "Shared")
    shared: dict[str, iam.Policy] = {}
    for names, keys in groups.items():
        shared |= dict.fromkeys(keys, _shared(scope, names, {key: functions[key] for key in keys}))
    return CommonPolicies(shared, managed)


def _shared(scope: Construct, names: tuple[str, ...], functions: Mapping[str, Common]) -> iam.Policy:
    """Attach one policy to the roles of `functions`."""
    # A function that changes its group must never lack a permission. So each group has a policy of its own:
    # CloudFormation makes new resources before it changes others, and deletes old ones last.
    construct_id = short_digest("\0".join([*names, "", *functions]).encode())
    first = next(iter(functions.values()))
    roles = dict.fromkeys(each.role for each in functions.values())
    statements = [*first.failures, *first.state_statements]
    own = policy_id(scope, construct_id, [each.host for each in functions.values()])
    return new_policy(scope, own.construct_id, statements=statements, roles=roles, policy_name=own.policy_name)


def policy_id(scope: Construct, construct_id: str, hosts: Iterable[Host]) -> PolicyId:
    """Return id and name of policy `construct_id` for roles of `hosts`; a name of None is the CDK's default.

    The CDK takes the logical id, which workflows of two stacks may have alike. Two policies of one name in a role are
    one policy: a deployment would take the permissions of another workflow away. So policies of functions in other
    stacks have names of their own. Another id lets CloudFormation make the policy before it deletes one of an earlier
    release.
    """
    here = path_of(stack_of(scope))
    if all(host.stack == here for host in hosts):
        return PolicyId(construct_id, None)
    return PolicyId(f"{construct_id}Elsewhere", f"Unum{short_digest(f'{path_of(scope)}/{construct_id}'.encode())}")


def _managed(workflow: Construct, key: str, function: Common) -> iam.ManagedPolicy:
    """Add permissions for the state to a managed policy of the role, or attach another one."""
    host, stack, statements = function.host, path_of(stack_of(workflow)), function.state_statements
    held = host.managed.setdefault(stack, [])
    if not held or held[-1].workflows == MOST_IN_ONE:
        if sum(map(len, host.managed.values())) == MOST_MANAGED:
            raise ConstructError(
                host.function,
                f"expected at most {MOST_WORKFLOWS} workflows, of as few stacks as possible, got one more than "
                f"{len(host.workflows)}: IAM limits the policies of a role, and from the {MOST_INLINE + 1}th workflow "
                f"on, {MOST_IN_ONE} of a stack share one of {MOST_MANAGED}; make two functions, or pass an alias of "
                "this one, which the workflow calls",
            )
        held.append(Managed(iam.ManagedPolicy(workflow, f"{key}Common", roles=[function.role])))
    policy = held[-1].policy
    held[-1].workflows += 1
    policy.add_statements(*statements)
    acknowledge_policies(policy, (), [arn for each in statements for arn in each.resources])
    return policy
