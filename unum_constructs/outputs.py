"""What a stack says of its workflows, for clients and the command line."""

import re
from collections.abc import Mapping

from aws_cdk import CfnOutput, Stack
from constructs import Construct


def add_outputs(workflow: Construct, outputs: Mapping[str, tuple[str, str]]) -> None:
    """Add outputs of the stack: value and description by what each is, which ends the output's name."""
    path = workflow.node.path.removeprefix(Stack.of(workflow).node.path)
    for kind, (value, description) in outputs.items():
        output = CfnOutput(workflow, f"{kind}Output", value=value, description=description)
        output.override_logical_id(re.sub(r"[^A-Za-z0-9]", "", path) + kind)
