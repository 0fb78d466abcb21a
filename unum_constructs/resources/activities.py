"""Resources of Tasks that wait for a response: activities and callbacks.

Responses arrive through the start alias, so responders need no access to the table. An activity is a queue in which its
Tasks wait for a worker.
"""

from collections.abc import Iterable, Mapping

from aws_cdk import aws_kms as kms
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_compiler.parsing.task_resources import activities
from unum_constructs.cdk.nag import ACTIVITIES, acknowledge
from unum_constructs.cdk.queues import new_queue
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Pattern


def answered_functions(workflow: Workflow) -> tuple[str, ...]:
    """Return functions with callback Tasks, which responses invoke again."""
    return tuple(dict.fromkeys(task.function for task in workflow.tasks if task.pattern is Pattern.CALLBACK))


def new_activities(
    scope: Construct, construct_id: str, workflow: Workflow, encryption_key: kms.IKey | None, *, kept: Iterable[str]
) -> Mapping[str, sqs.Queue]:
    """Make a queue for each activity of `workflow`, and those `kept`; return the queues by activity name."""
    names = dict.fromkeys((*activities(workflow), *kept))
    place = Construct(scope, construct_id) if names else scope
    if names:
        acknowledge(place, ACTIVITIES)
    return {name: new_queue(place, name, encryption_key=encryption_key) for name in names}
