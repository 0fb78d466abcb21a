"""What a workflow needs for Tasks that wait until somebody hands in their result: callbacks and activities.

The way back is the start alias, so that whoever answers needs no access to the table. An activity is a queue in which
its Tasks wait for a worker.
"""

from collections.abc import Mapping

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_constructs.errors import ConstructError
from unum_constructs.queues import new_queue
from unum_runtime.model.ir import Pattern, Workflow

ACTIVITY = "activity:"


def answered_functions(workflow: Workflow) -> tuple[str, ...]:
    """The functions that are invoked again when somebody hands in the result of one of their Tasks."""
    return tuple(dict.fromkeys(task.function for task in workflow.tasks if task.pattern is Pattern.CALLBACK))


def new_activities(scope: Construct, construct_id: str, workflow: Workflow) -> Mapping[str, sqs.Queue]:
    """A queue for each activity of `workflow`, by name."""
    resources = dict.fromkeys(task.resource or "" for task in workflow.tasks)
    names = [each.removeprefix(ACTIVITY) for each in resources if each.startswith(ACTIVITY)]
    place = Construct(scope, construct_id) if names else scope
    return {name: new_queue(place, name) for name in names}


def grant_task_response(grantee: iam.IGrantable, *, start_alias: lambda_.Alias) -> iam.Grant:
    """Let `grantee` answer for Tasks whose tokens it has."""
    return iam.Grant.add_to_principal(
        grantee=grantee, actions=["lambda:InvokeFunction"], resource_arns=[start_alias.function_arn]
    )


def grant_activity(
    grantee: iam.IGrantable, name: str, *, activities: Mapping[str, sqs.Queue], start_alias: lambda_.Alias
) -> iam.Grant:
    """Let `grantee` work for the activity `name`: take its Tasks, and answer for them.

    Raises:
        ConstructError: the workflow has no such activity.
    """
    if name not in activities:
        raise ConstructError(start_alias, f"activity {name!r}: expected one of {sorted(activities)}")
    queue = iam.Grant.add_to_principal(
        grantee=grantee,
        actions=["sqs:DeleteMessage", "sqs:ReceiveMessage"],
        resource_arns=[activities[name].queue_arn],
    )
    return queue.combine(grant_task_response(grantee, start_alias=start_alias))
