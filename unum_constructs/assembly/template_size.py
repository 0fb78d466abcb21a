"""Whether a stack with a workflow is larger than CloudFormation allows, and what is to be done about that.

The CDK counts resources as well, but knows only how many there are of each type.
"""

import jsii
from aws_cdk import CfnResource, Stack
from constructs import IConstruct, IValidation

from unum_constructs.cdk.lookup import node_of, path_of, stack_of

MOST_RESOURCES = 500
"""Source: AWS CloudFormation User Guide, "Understand CloudFormation quotas"."""

MANY_FUNCTIONS = 55
"""Of one workflow; stacks with fewer are not counted, for to list all constructs of a stack takes a moment."""


def check_size(workflow: IConstruct, functions: int) -> None:
    """Have the stack of `workflow`, which has that many functions, counted at the end of synthesis."""
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
    """How many there are in the template of `stack`, without those of stacks nested in it."""
    own = (each for each in node_of(stack).find_all() if isinstance(each, CfnResource))
    return sum(path_of(stack_of(each)) == path_of(stack) for each in own)
