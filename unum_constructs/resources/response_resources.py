"""Resources of Tasks that wait for a response: activities and callbacks.

Responses arrive through the start alias, so responders need no access to the table. An activity is a queue in which its
Tasks wait for a worker.
"""

from collections.abc import Iterable, Mapping

from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_compiler.parsing.task_resources import activities
from unum_constructs.cdk.nag import ACTIVITIES, acknowledge
from unum_constructs.cdk.outputs import add_outputs
from unum_constructs.cdk.queues import new_queue
from unum_constructs.errors import ConstructError
from unum_constructs.resources.aliases import WorkflowAliases
from unum_runtime.model.ir import Workflow


def answered_functions(workflow: Workflow) -> tuple[str, ...]:
    """Return functions with Tasks that give out tokens, which responses invoke again."""
    return tuple(dict.fromkeys(task.function for task in workflow.tasks if task.gives_token))


def new_activities(
    scope: Construct, construct_id: str, workflow: Workflow, encryption_key: kms.IKey | None, *, kept: Iterable[str]
) -> Mapping[str, sqs.Queue]:
    """Make a queue for each activity of `workflow`, and those `kept`; return the queues by activity name."""
    names = dict.fromkeys((*activities(workflow), *kept))
    place = Construct(scope, construct_id) if names else scope
    if names:
        acknowledge(place, ACTIVITIES)
    return {name: new_queue(place, name, encryption_key=encryption_key) for name in names}


class AnsweredWorkflow(Construct):
    """Workflow with Tasks that may wait for responses."""

    workflow_name: str
    aliases: WorkflowAliases
    _workflow: Workflow

    def add_task_response_url(self) -> lambda_.FunctionUrl:
        """Add a function URL that takes signed HTTP responses for Tasks with a task token.

        Give responders ``grant_invoke_url`` of the result; it does not let them start executions.

        Returns:
            The URL; it requires IAM authorization.

        Raises:
            ConstructError: no Task of the definition waits for a response.
        """
        if not answered_functions(self._workflow):
            raise ConstructError(
                self, "add_task_response_url: expected a Task that waits for a response, found none; remove the call"
            )
        # An IAM policy cannot look into a request, but the alias behind the URL takes answers alone.
        url = self.aliases.respond.add_function_url(auth_type=lambda_.FunctionUrlAuthType.AWS_IAM)
        add_outputs(self, {"TaskResponseUrl": (url.url, f"Where Tasks of workflow {self.workflow_name} are answered")})
        return url
