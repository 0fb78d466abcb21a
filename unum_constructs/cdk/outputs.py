"""Stack outputs of a workflow, for clients and the command line."""

import re
from collections.abc import Mapping

from aws_cdk import CfnOutput, Stack
from constructs import Construct

from unum_constructs.errors import ConstructError

EXPORTED = ("StartAlias", "DescribeAlias", "ControlFunction", "Table")
"""Outputs that other stacks import."""


def export_name(workflow_name: str, kind: str) -> str:
    """Return the export name of one of `EXPORTED`, unique in the account and region.

    Workflow names may contain ``_``, which export names may not. Source: AWS CloudFormation User Guide, "Outputs".
    """
    return f"unum:{workflow_name.replace('_', '::')}:{kind}"


def add_outputs(workflow: Construct, outputs: Mapping[str, tuple[str, str]], *, exported_as: str | None = None) -> None:
    """Add stack outputs.

    Args:
        workflow: the workflow.
        outputs: value and description by kind, which is the suffix of the output's logical id.
        exported_as: workflow name in the exports; None exports nothing.

    Raises:
        ConstructError: another workflow of the stack has the same export name.
    """
    if exported_as:
        _claim_export(workflow, exported_as)
    for kind, (value, description) in outputs.items():
        name = export_name(exported_as, kind) if exported_as and kind in EXPORTED else None
        output = CfnOutput(workflow, f"{kind}Output", value=value, description=description, export_name=name)
        # Clients find outputs by suffix, so the CDK must not append its hash.
        output.override_logical_id(output_id(workflow, kind))


def output_id(workflow: Construct, kind: str) -> str:
    """Return the logical id of an output."""
    path = workflow.node.path.removeprefix(Stack.of(workflow).node.path)
    return re.sub(r"[^A-Za-z0-9]", "", path) + kind


def _claim_export(workflow: Construct, name: str) -> None:
    stack, claimed = Stack.of(workflow), f"UnumExported-{name}"
    if stack.node.try_find_child(claimed) is not None:
        raise ConstructError(
            workflow, f"exported: another workflow of the stack is exported as {name!r}; change `workflow_name`"
        )
    Construct(stack, claimed)
