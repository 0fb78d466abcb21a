"""Function URL for responders that cannot invoke Lambda functions."""

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_runtime.model.naming import response_alias


def new_task_response_url(
    scope: Construct, construct_id: str, *, workflow_name: str, start_alias: lambda_.Alias
) -> lambda_.FunctionUrl:
    """Make a function URL with IAM authorization; it invokes the version behind the start alias.

    It uses an alias of its own: by that alias the runtime tells responses from the start events of other HTTP APIs,
    which have the same format.
    """
    alias = lambda_.Alias(scope, construct_id, alias_name=response_alias(workflow_name), version=start_alias.version)
    # The start alias depends on all policies, so responses never reach a function without permissions.
    alias.node.add_dependency(start_alias)
    return alias.add_function_url(auth_type=lambda_.FunctionUrlAuthType.AWS_IAM)
