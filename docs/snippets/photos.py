"""A Task that programs call."""

from aws_cdk import Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from docs.snippets.orders import HERE
from unum_constructs import Definition, Memoization, UnumFunction, UnumWorkflow

STATES = {"Resize": {"Type": "Task", "Resource": "Resize", "End": True}}


class Photos(Stack):
    """A workflow whose Task a web server calls."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        code = lambda_.Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"])
        web_server = lambda_.Function(
            self, "Web", runtime=lambda_.Runtime.PYTHON_3_13, code=code, handler="thumbnails.handle"
        )
        definition = Definition.from_asl({"StartAt": "Resize", "States": STATES})
        # --8<-- [start:stack]
        resize = UnumFunction(
            self,
            "Resize",
            code=code,
            handler="images.resize",
            memoize=Memoization(key=["$.image", "$.width"], version="2"),
        )
        workflow = UnumWorkflow(self, "Photos", definition=definition, functions={"Resize": resize})
        workflow.grant_call(web_server, "Resize")
        # --8<-- [end:stack]
