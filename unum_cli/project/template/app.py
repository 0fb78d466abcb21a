"""CDK app: one stack with one workflow."""

from aws_cdk import App, Stack
from aws_cdk.aws_lambda import Code
from constructs import Construct

from unum_constructs import Definition, UnumFunction, UnumWorkflow


class ProjectNameStack(Stack):
    """Workflow that prices orders."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        # One function hosts all Tasks: they share code, memory and permissions.
        tasks = UnumFunction(
            self,
            "Tasks",
            code=Code.from_asset("functions", exclude=["__pycache__"]),
            handlers={"Split": "orders.split", "Price": "orders.price", "Total": "orders.total"},
        )
        self.workflow = UnumWorkflow(
            self, "Orders", definition=Definition.from_asl_file("workflow.asl.json"), functions=tasks
        )


if __name__ == "__main__":
    app = App()
    ProjectNameStack(app, "ProjectName")
    app.synth()
