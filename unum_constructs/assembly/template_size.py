"""Check of the stack's number of resources against CloudFormation's quota.

The CDK checks the quota as well, but reports only counts by resource type, without a remedy.
"""

import jsii
from aws_cdk import CfnResource, Stack
from constructs import IConstruct, IValidation

from unum_constructs.cdk.lookup import node_of, path_of, stack_of

MOST_RESOURCES = 500
"""Source: AWS CloudFormation User Guide, "Understand CloudFormation quotas"."""

MANY_FUNCTIONS = 55
"""Functions of one workflow from which the stack is counted; smaller ones skip the slow walk over all constructs."""


def check_size(workflow: IConstruct, functions: int) -> None:
    """Count the stack's resources at the end of synthesis, for workflows with many functions."""
    if functions > MANY_FUNCTIONS:
        node_of(workflow).add_validation(_Fits(stack_of(workflow), functions))


@jsii.implements(IValidation)
class _Fits:
    def __init__(self, stack: Stack, functions: int) -> None:
        self._stack = stack
        self._functions = functions

    def validate(self) -> list[str]:
        resources = _resources(self._stack)
        if resources <= MOST_RESOURCES:
            return []
        what = f"its stack {path_of(self._stack)!r} has {resources} resources, of {self._functions} functions of this"
        remedy = "make functions in nested stacks (`NestedStack`), or let one function host several Tasks"
        return [f"{what} workflow and of others; CloudFormation allows {MOST_RESOURCES}: {remedy}"]


def _resources(stack: Stack) -> int:
    """Return the number of resources in the template of `stack`, without nested stacks."""
    own = (each for each in node_of(stack).find_all() if isinstance(each, CfnResource))
    return sum(path_of(stack_of(each)) == path_of(stack) for each in own)
