from pathlib import Path
from typing import Any

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_constructs import Definition, Monitoring, UnumFunction, UnumWorkflow, UnumWorkflowTarget, start_by_messages

HERE = Path(__file__).parent


class Named(Stack):
    """A workflow that every kind of event source starts."""

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        note = UnumFunction(
            self,
            "Note",
            handler="named.note",
            code=lambda_.Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"]),
        )
        machine = {"StartAt": "Note", "States": {"Note": {"Type": "Task", "Resource": "Note", "End": True}}}
        workflow = UnumWorkflow(
            self,
            "Workflow",
            definition=Definition.from_asl(machine),
            functions={"Note": note},
            monitoring=Monitoring(attributes={"customer": "$.customer", "kind": "$['detail-type']"}),
        )
        self._start_by_objects(workflow)
        queue, topic = sqs.Queue(self, "Queue"), sns.Topic(self, "Topic")
        start_by_messages(workflow, queue)
        topic.add_subscription(subscriptions.LambdaSubscription(workflow.start_alias))
        placed = events.EventPattern(source=["named.shop"])
        events.Rule(self, "Told", event_pattern=placed, targets=[UnumWorkflowTarget(workflow)])
        unchanged = events.EventPattern(source=["named.machine"])
        as_machine = targets.SfnStateMachine(workflow, input=events.RuleTargetInput.from_event_path("$.detail"))
        events.Rule(self, "Unchanged", event_pattern=unchanged, targets=[as_machine])
        CfnOutput(self, "QueueUrl", value=queue.queue_url)
        CfnOutput(self, "TopicArn", value=topic.topic_arn)

    def _start_by_objects(self, workflow: UnumWorkflow) -> None:
        """Allow a bucket to start executions; the test configures it, in place of the CDK's custom resource."""
        bucket = s3.Bucket(self, "Uploads", removal_policy=RemovalPolicy.DESTROY)
        workflow.start_alias.add_permission(
            "Uploads", principal=iam.ServicePrincipal("s3.amazonaws.com"), source_arn=bucket.bucket_arn
        )
        CfnOutput(self, "UploadsBucket", value=bucket.bucket_name)
