"""Stack that reports failed and stalled executions by mail."""

from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from docs.snippets.orders import Orders


class Watched(Orders):
    """Orders with alarms."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        # --8<-- [start:alarm]
        on_call = sns.Topic(self, "OnCall")
        on_call.add_subscription(subscriptions.EmailSubscription("on-call@example.com"))
        self.workflow.add_alarms(actions=[actions.SnsAction(on_call)])
        # --8<-- [end:alarm]
