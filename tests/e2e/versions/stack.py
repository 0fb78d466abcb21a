from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs import Definition, UnumFunction, UnumWorkflow

HERE = Path(__file__).parent

HANDLERS: Mapping[str, str] = {
    "Prepare": "note",
    "Gate": "gate",
    "Ask": "ask",
    "Die": "die",
    "Conclude": "note",
    "Check": "note",
}


class Versions(Stack):
    """A workflow whose definition and code change: it waits at a gate and for an answer, dies, and recovers.

    Its functions are in the stacks `places`, by turns; in this one without any.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        definition: int,
        code: int,
        places: Sequence[Stack] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        places = places or [self]
        self._notes = dynamodb.Table(
            places[0],
            "Notes",
            partition_key=dynamodb.Attribute(name="key", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            removal_policy=RemovalPolicy.DESTROY,
        )
        self._code = lambda_.Code.from_inline(
            (HERE / "work.py").read_text(encoding="utf-8").replace("CODE = 0", f"CODE = {code}")
        )
        workflow = Definition.from_asl_file(HERE / f"workflow_{definition}.asl.json")
        homes = dict(zip(HANDLERS, cycle(places), strict=False))
        if definition == 1:
            del homes["Check"]
        functions = {key: self.new_function(place, key, HANDLERS[key]) for key, place in homes.items()}
        UnumWorkflow(self, "Workflow", definition=workflow, functions=functions)
        CfnOutput(self, "NotesTable", value=self._notes.table_name)

    def new_function(self, place: Stack, key: str, handler: str) -> UnumFunction:
        """Make a function of the code of this version, which may read and write notes."""
        function = UnumFunction(
            place,
            key,
            handler=f"index.{handler}",
            code=self._code,
            environment={"NOTES_TABLE": self._notes.table_name},
        )
        self._notes.grant(function, "dynamodb:GetItem", "dynamodb:PutItem")
        return function
