from pathlib import Path
from typing import Any

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_constructs import Definition, UnumFunction, UnumSignalTarget, UnumWorkflow

HERE = Path(__file__).parent


class Callbacks(Stack):
    """One workflow with a case for each way of waiting for somebody, and users: who answers, who does that by HTTP, who
    works; and who may start, send events, describe, read, or control, and nothing else."""

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        asked = dynamodb.Table(
            self,
            "Asked",
            partition_key=dynamodb.Attribute(name="key", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            removal_policy=RemovalPolicy.DESTROY,
        )
        letters = sqs.Queue(self, "Letters", removal_policy=RemovalPolicy.DESTROY)
        ask = UnumFunction(
            self,
            "Ask",
            handler="asking.ask",
            code=lambda_.Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"]),
            environment={"ASKED_TABLE": asked.table_name},
        )
        asked.grant(ask, "dynamodb:PutItem")
        self.workflow = UnumWorkflow(
            self,
            "Workflow",
            definition=Definition.from_asl_file(
                HERE / "workflow.asl.json", substitutions={"Letters": letters.queue_url}
            ),
            functions={"Ask": ask},
        )
        self.workflow.grant_task_response(self._user("Answering"))
        self.workflow.grant_task_response(self._responder("Responder", lambda_.Runtime.PYTHON_3_13, "answering.answer"))
        node = self._responder("NodeResponder", lambda_.Runtime.NODEJS_22_X, "answering.handler")
        url = self.workflow.add_task_response_url()
        url.grant_invoke_url(self._user("Posting"))
        url.grant_invoke_url(node)
        node.add_environment("ANSWERS", url.url)
        self.workflow.grant_activity(self._user("Worker"), "work")
        self.workflow.grant_signal(self._user("Telling"))
        reply = UnumSignalTarget(
            self.workflow,
            "told",
            key=events.EventField.from_path("$.detail.order"),
            value=events.EventField.from_path("$.detail"),
        )
        events.Rule(self, "Told", event_pattern=events.EventPattern(source=["shop"]), targets=[reply])
        self.workflow.grant_start(self._user("Starter"))
        self.workflow.grant_describe(self._user("Describer"))
        self.workflow.start_alias.grant_invoke(self._user("Source"))
        self.workflow.grant_read(self._user("Reader"))
        self.workflow.grant_redrive(self._user("Operator"))
        CfnOutput(self, "AskedTable", value=asked.table_name)
        CfnOutput(self, "LettersUrl", value=letters.queue_url)

    def _responder(self, construct_id: str, runtime: lambda_.Runtime, handler: str) -> lambda_.Function:
        folder = HERE.parents[2] / "docs" / "snippets" / "functions" / "task_tokens"
        code = lambda_.Code.from_asset(str(folder), exclude=["__pycache__"])
        function = lambda_.Function(self, construct_id, runtime=runtime, handler=handler, code=code)
        CfnOutput(self, f"{construct_id}Name", value=function.function_name)
        return function

    def _user(self, construct_id: str) -> iam.Role:
        role = iam.Role(self, construct_id, assumed_by=iam.AccountRootPrincipal())
        CfnOutput(self, f"{construct_id}Role", value=role.role_arn)
        return role
