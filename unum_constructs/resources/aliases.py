"""Aliases of a workflow, one for each verb: IAM tells verbs apart by the alias that a caller may invoke."""

from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from aws_cdk import aws_lambda as lambda_

from unum_constructs.cdk.lookup import resource_of
from unum_constructs.hosting.host import Failures
from unum_runtime.model.naming import describe_alias, response_alias, run_alias

if TYPE_CHECKING:
    from constructs import Construct


class WorkflowAliases(NamedTuple):
    """Aliases besides the start alias and those of operators.

    Attributes:
        run: starts executions by name.
        describe: describes executions.
        respond: takes answers with a task token.
    """

    run: lambda_.Alias
    describe: lambda_.Alias
    respond: lambda_.Alias


class StartableWorkflow(Protocol):
    """Workflow with its start alias."""

    workflow_name: str
    start_alias: lambda_.Alias


def new_aliases(
    workflow: StartableWorkflow, describing: lambda_.Version, failures: Failures, destination: lambda_.Alias
) -> WorkflowAliases:
    """Make the aliases of `workflow`, besides its start alias, and send starts that fail to `destination`.

    Args:
        workflow: the workflow, a construct.
        describing: version that describes executions.
        failures: limits of Lambda's retries.
        destination: alias that receives starts that Lambda gives up.
    """
    name, start_alias, scope = workflow.workflow_name, workflow.start_alias, cast("Construct", workflow)
    run = lambda_.Alias(scope, "Run", alias_name=run_alias(name), version=start_alias.version)
    respond = lambda_.Alias(scope, "Respond", alias_name=response_alias(name), version=start_alias.version)
    describe = lambda_.Alias(scope, "Describe", alias_name=describe_alias(name), version=describing)
    for alias in (run, respond, describe):
        # The start alias depends on all policies, so requests never reach a function without permissions.
        resource_of(alias, lambda_.CfnAlias).node.add_dependency(resource_of(start_alias, lambda_.CfnAlias))
    for alias in (start_alias, run):
        configuration = failures.configure(
            alias,
            function_name=alias.lambda_.function_name,
            qualifier=alias.alias_name,
            destination=destination.function_arn,
        )
        # The configuration names the alias by text, which CloudFormation takes for no dependency.
        configuration.node.add_dependency(resource_of(alias, lambda_.CfnAlias))
    return WorkflowAliases(run=run, describe=describe, respond=respond)
