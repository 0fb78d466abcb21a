import json
from pathlib import Path
from typing import Any

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs import Definition, UnumFunction, UnumWorkflow

HERE = Path(__file__).parent
MACHINE = json.loads((HERE / "workflow.asl.json").read_text(encoding="utf-8"))
LANES = 4


class Chaos(Stack):
    """A map with functions that die, and one with lanes; what died is in a table, for the test to see."""

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        deaths = dynamodb.Table(
            self,
            "Deaths",
            partition_key=dynamodb.Attribute(name="key", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            removal_policy=RemovalPolicy.DESTROY,
        )
        for name, machine, prefix in (("Workflow", MACHINE, ""), ("Lanes", in_lanes(MACHINE), "Lane")):
            functions = {key: self._function(f"{prefix}{key}", key, deaths) for key in ("Source", "Item", "Join")}
            UnumWorkflow(self, name, definition=Definition.from_asl(machine), functions=functions)
        CfnOutput(self, "DeathsTable", value=deaths.table_name)

    def _function(self, construct_id: str, key: str, deaths: dynamodb.Table) -> UnumFunction:
        function = UnumFunction(
            self,
            construct_id,
            handler=f"chaos.{key.lower()}",
            code=lambda_.Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"]),
            environment={"DEATHS_TABLE": deaths.table_name},
        )
        deaths.grant(function, "dynamodb:PutItem")
        return function


def in_lanes(machine: dict[str, Any]) -> dict[str, Any]:
    """`machine` with a Map in which only so many branches run at once."""
    states = machine["States"]
    return machine | {"States": states | {"Each": states["Each"] | {"MaxConcurrency": LANES}}}
