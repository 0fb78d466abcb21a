"""A function URL for those who answer for Tasks that wait, and do not call Lambda."""

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_runtime.model.naming import response_alias


def new_task_response_url(
    scope: Construct, construct_id: str, *, workflow_name: str, start_alias: lambda_.Alias
) -> lambda_.FunctionUrl:
    """The URL, for requests that IAM allows; they reach the version that executions start in.

    It has an alias of its own, by which the runtime tells its requests from events that start executions: those of
    other APIs look the same.
    """
    alias = lambda_.Alias(scope, construct_id, alias_name=response_alias(workflow_name), version=start_alias.version)
    alias.node.add_dependency(start_alias)  # which comes when everything is allowed
    return alias.add_function_url(auth_type=lambda_.FunctionUrlAuthType.AWS_IAM)
