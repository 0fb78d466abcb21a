"""Grants to start a workflow, and to read its executions."""

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from docs.snippets.orders import HERE, Orders


class Web(Orders):
    """Orders with two functions outside the workflow."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        code = lambda_.Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"])
        runtime = lambda_.Runtime.PYTHON_3_13
        web_server = lambda_.Function(self, "Web", runtime=runtime, code=code, handler="web.handle")
        dashboard = lambda_.Function(self, "Dashboard", runtime=runtime, code=code, handler="web.show")
        # --8<-- [start:grants]
        self.workflow.grant_start(web_server)
        self.workflow.grant_read(dashboard)
        # --8<-- [end:grants]
