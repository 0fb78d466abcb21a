"""What a stack says of its workflows, for clients and the command line."""

import re
from collections.abc import Mapping

from aws_cdk import CfnOutput, Stack
from constructs import Construct

from unum_constructs.errors import ConstructError

EXPORTED = ("StartAlias", "ControlAlias", "Table")
"""What other stacks have to know of a workflow."""


def export_name(workflow_name: str, kind: str) -> str:
    """The name under which the account has one of `EXPORTED` for all stacks of a region.

    It has no ``_``, which names of workflows may have. Source: AWS CloudFormation User Guide, "Outputs".
    """
    return f"unum:{workflow_name.replace('_', '::')}:{kind}"


def add_outputs(workflow: Construct, outputs: Mapping[str, tuple[str, str]], *, exported_as: str | None = None) -> None:
    """Add outputs of the stack: value and description by what each is, which ends the output's name.

    Args:
        workflow: the workflow.
        outputs: what is told.
        exported_as: name of the workflow, where other stacks are to find it by that.

    Raises:
        ConstructError: another workflow of the stack is exported under that name.
    """
    if exported_as:
        _claim_export(workflow, exported_as)
    path = workflow.node.path.removeprefix(Stack.of(workflow).node.path)
    for kind, (value, description) in outputs.items():
        name = export_name(exported_as, kind) if exported_as and kind in EXPORTED else None
        output = CfnOutput(workflow, f"{kind}Output", value=value, description=description, export_name=name)
        output.override_logical_id(re.sub(r"[^A-Za-z0-9]", "", path) + kind)


def _claim_export(workflow: Construct, name: str) -> None:
    stack, claimed = Stack.of(workflow), f"UnumExported-{name}"
    if stack.node.try_find_child(claimed) is not None:
        raise ConstructError(
            workflow, f"exported: another workflow of the stack is exported as {name!r}; change `workflow_name`"
        )
    Construct(stack, claimed)
