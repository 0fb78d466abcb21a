from pathlib import Path
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs import Definition, UnumFunction, UnumWorkflow

HERE = Path(__file__).parent

BROKEN: Any = {
    "StartAt": "Begin",
    "States": {
        "Begin": {"Type": "Task", "Resource": "Begin", "Next": "Each"},
        "Each": {
            "Type": "Map",
            "ItemProcessor": {
                "StartAt": "Price",
                "States": {"Price": {"Type": "Task", "Resource": "Price", "End": True}},
            },
            "Next": "End",
        },
        "End": {"Type": "Task", "Resource": "Begin", "End": True},
    },
}

MENDED: Any = {
    "StartAt": "Begin",
    "States": {
        **BROKEN["States"],
        "Begin": {**BROKEN["States"]["Begin"], "Next": "Mend"},
        "Mend": {"Type": "Pass", "Next": "Each"},
    },
}


class Repair(Stack):
    """A Map of which one branch fails, with code 1; and mended, with a further state, with code 2."""

    def __init__(self, scope: Construct, construct_id: str, *, code: int) -> None:
        super().__init__(scope, construct_id)
        text = (HERE / "work.py").read_text(encoding="utf-8").replace("CODE = 0", f"CODE = {code}")
        functions = {
            key: UnumFunction(self, key, handler=f"index.{key.lower()}", code=lambda_.Code.from_inline(text))
            for key in ("Begin", "Price")
        }
        definition = BROKEN if code == 1 else MENDED
        UnumWorkflow(self, "Workflow", definition=Definition.from_asl(definition), functions=functions)
