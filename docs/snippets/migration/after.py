"""The state machine of `before.py` as a workflow: same states, another construct."""

from aws_cdk import Duration, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks
from constructs import Construct

from docs.snippets.orders import HERE
from unum_constructs import Definition, UnumWorkflow


class Pricing(Stack):
    """Stack that prices an order, and notifies the warehouse."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        warehouse = sns.Topic(self, "Warehouse")
        price = tasks.LambdaInvoke(self, "Price", lambda_function=self._function("price"), output_path="$.Payload")
        total = tasks.LambdaInvoke(self, "Total", lambda_function=self._function("total"), output_path="$.Payload")
        tell = tasks.SnsPublish(self, "Tell", topic=warehouse, message=sfn.TaskInput.from_json_path_at("$"))
        each_line = sfn.Map(self, "Each line", items_path="$.lines").item_processor(price)
        # --8<-- [start:changes]
        UnumWorkflow(
            self,
            "Workflow",
            definition=Definition.from_chainable(each_line.next(total).next(tell), timeout=Duration.minutes(5)),
        )
        # --8<-- [end:changes]

    def _function(self, name: str) -> lambda_.Function:
        code = lambda_.Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"])
        runtime = lambda_.Runtime.PYTHON_3_13
        return lambda_.Function(self, f"{name}Function", runtime=runtime, code=code, handler=f"orders.{name}")
