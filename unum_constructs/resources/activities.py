"""What a workflow needs for Tasks that wait until somebody hands in their result: callbacks and activities.

The way back is the start alias, so that whoever answers needs no access to the table. An activity is a queue in which
its Tasks wait for a worker.
"""

from collections.abc import Mapping

from aws_cdk import aws_kms as kms
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_compiler.parsing.task_resources import activities
from unum_constructs.cdk.nag import ACTIVITIES, acknowledge
from unum_constructs.cdk.queues import new_queue
from unum_runtime.model.ir import Pattern, Workflow


def answered_functions(workflow: Workflow) -> tuple[str, ...]:
    """The functions that are invoked again when somebody hands in the result of one of their Tasks."""
    return tuple(dict.fromkeys(task.function for task in workflow.tasks if task.pattern is Pattern.CALLBACK))


def new_activities(
    scope: Construct, construct_id: str, workflow: Workflow, encryption_key: kms.IKey | None
) -> Mapping[str, sqs.Queue]:
    """A queue for each activity of `workflow`, by name."""
    names = activities(workflow)
    place = Construct(scope, construct_id) if names else scope
    if names:
        acknowledge(place, ACTIVITIES)
    return {name: new_queue(place, name, encryption_key=encryption_key) for name in names}
