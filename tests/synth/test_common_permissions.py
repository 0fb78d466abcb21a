"""One policy for what functions have in common, and managed policies for functions of many workflows."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.synth.deployment import Deployment, as_list, flat, function
from tests.synth.machines import Machine, chain
from tests.synth.test_large_workflows import (
    MOST_MANAGED_CHARACTERS,
    MOST_POLICY_CHARACTERS,
    inline_sizes,
    size,
)
from unum_constructs.assembly import common_permissions
from unum_constructs.errors import ConstructError
from unum_constructs.testing import assert_workflow

KEYS = "ABCDEF"
UNLIMITED = {"@aws-cdk/core:stackResourceLimit": 0}


def with_retries(*keys: str, without: str = "") -> Machine:
    """A chain whose Tasks are retried, except one."""
    definition = chain(*keys)
    for name, each in definition["States"].items():
        if name != without:
            each["Retry"] = [{"ErrorEquals": ["Again"]}]
    return definition


def rights(deployment: Deployment) -> Mapping[str, Counter[str]]:
    """Return each role's policies, one line for each action and resource."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for kind in ("Policy", "ManagedPolicy"):
        for policy in deployment.all(f"IAM::{kind}").values():
            for role in policy["Properties"]["Roles"]:
                found[flat(role)].update(lines(policy["Properties"]["PolicyDocument"]))
    return found


def lines(document: Any) -> Iterator[str]:
    for one in document["Statement"]:
        for action in as_list(one["Action"]):
            for resource in as_list(one["Resource"]):
                yield f"{one['Effect']} {action} {flat(resource)} {one.get('Condition')}"


def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each function have all its permissions in its own policy."""
    monkeypatch.setattr(common_permissions, "LEAST_ALIKE", 1_000)
    monkeypatch.setattr(common_permissions, "MOST_INLINE", 1_000)


def shared_policies(deployment: Deployment) -> Mapping[str, Any]:
    return {name: each for name, each in deployment.all("IAM::Policy").items() if len(each["Properties"]["Roles"]) > 1}


def test_functions_share_a_policy_and_may_do_what_they_may_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    together = Deployment.of(with_retries(*KEYS), *KEYS)
    (shared,) = shared_policies(together).values()
    assert {flat(role) for role in shared["Properties"]["Roles"]} == {
        together.logical_id(f"{key}Role") for key in KEYS[1:]
    }
    alone(monkeypatch)
    apart = Deployment.of(with_retries(*KEYS), *KEYS)
    assert not shared_policies(apart)
    assert rights(together) == rights(apart)
    assert assert_workflow(together.template).edges == assert_workflow(apart.template).edges


def test_a_few_functions_share_nothing() -> None:
    assert not shared_policies(Deployment.of(with_retries(*"ABCD"), *"ABCD"))


def test_a_function_that_may_do_something_else_is_in_no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    together = Deployment.of(with_retries(*KEYS, without="C"), *KEYS)
    (shared,) = shared_policies(together).values()
    expected = {together.logical_id(f"{key}Role") for key in "BDEF"}
    assert {flat(role) for role in shared["Properties"]["Roles"]} == expected
    alone(monkeypatch)
    assert rights(together) == rights(Deployment.of(with_retries(*KEYS, without="C"), *KEYS))


def test_a_deployment_never_takes_a_permission_before_it_gives_it() -> None:
    """The new group's policy is another resource, made before a function's own policy and all else are changed."""
    before, after = (Deployment.of(with_retries(*KEYS, without=key), *KEYS) for key in ("C", "D"))
    (old,), (new,) = (shared_policies(each).keys() for each in (before, after))
    assert old != new
    for key in "BCEF":
        policy = after.all("IAM::Policy")[after.logical_id(f"Flow/Permissions/{key}")]
        assert policy["DependsOn"] == [new]


def many(number: int) -> Deployment:
    """A function that is the last of the Tasks of many workflows."""
    deployment = Deployment.new(**UNLIMITED)
    shared = function(deployment.stack, "Shared")
    for index in range(number):
        first = f"First{index}"
        functions = {first: function(deployment.stack, first), "Shared": shared}
        deployment.flow(chain(first, "Shared"), functions, f"W{index}")
    return deployment


def test_a_function_of_twenty_workflows_stays_within_the_limits_of_iam(monkeypatch: pytest.MonkeyPatch) -> None:
    deployment = many(20)
    assert max(inline_sizes(deployment).values()) <= MOST_POLICY_CHARACTERS
    managed = deployment.all("IAM::ManagedPolicy").values()
    assert len(managed) <= common_permissions.MOST_MANAGED
    assert max(size(each["Properties"]["PolicyDocument"]) for each in managed) <= MOST_MANAGED_CHARACTERS
    alone(monkeypatch)
    apart = many(20)
    assert rights(deployment) == rights(apart)
    assert max(inline_sizes(apart).values()) > MOST_POLICY_CHARACTERS


def test_more_workflows_than_a_role_has_policies_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common_permissions, "MOST_MANAGED", 1)
    monkeypatch.setattr(common_permissions, "MOST_WORKFLOWS", 5)
    with pytest.raises(
        ConstructError, match=r"^Stack/Shared: expected at most 5 workflows, .* got one more than 5: IAM"
    ):
        many(6)
