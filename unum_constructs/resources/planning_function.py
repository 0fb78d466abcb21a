"""Functions of a workflow without user code that plan in place of its other functions."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_compiler.lambda_settings import FAILURE_HANDLER_TIMEOUT_S
from unum_constructs.hosting.host import async_configuration
from unum_constructs.hosting.version_ids import retain_with, version_arn
from unum_constructs.layer.workflow_layer import WorkflowLayers
from unum_constructs.resources import permissions
from unum_constructs.resources.own_functions import Provision


class PlanningFunction(Construct):
    """Function that plans in place of the functions of a workflow; it costs nothing while idle.

    Args:
        scope: the workflow.
        construct_id: id below `scope`.
        workflow_name: workflow name.
        service: shared fields of `unum_runtime.functions.configuration.Service`.
        layers: runtime, and the definition if it is not in an environment.
        provision: options of the function.
        dead_letters: queue for events that the function could not process.
        environment: variables of its own.

    Attributes:
        function: the function.
        version: version of this deployment.
        version_arn: token of the version's qualified ARN.
        policy: what the function may do in place of others.
        failures: configuration that sends its failed events to `dead_letters`.
    """

    HANDLER: ClassVar[str]
    ID: ClassVar[str]
    """Id of the function below the construct."""
    DESCRIPTION: ClassVar[str]

    policy: iam.Policy | iam.ManagedPolicy
    failures: lambda_.CfnEventInvokeConfig

    def __init__(  # noqa: PLR0913 - one keyword for each part
        self,
        scope: Construct,
        construct_id: str,
        *,
        workflow_name: str,
        service: Mapping[str, Any],
        layers: WorkflowLayers,
        provision: Provision,
        dead_letters: sqs.Queue,
        environment: Mapping[str, str],
    ) -> None:
        super().__init__(scope, construct_id)
        self.workflow_name = workflow_name
        self._dead_letters = dead_letters
        self.function = provision.new_function(
            self,
            self.ID,
            handler=self.HANDLER,
            layers=layers,
            timeout=Duration.seconds(FAILURE_HANDLER_TIMEOUT_S),
            # An execution with a loop may fail, and continue here, in each of its rounds.
            recursive_loop=lambda_.RecursiveLoop.ALLOW,
            description=self.DESCRIPTION,
        )
        variables = {"UNUM_WORKFLOWS": self.function.stack.to_json_string({workflow_name: service}), **environment}
        for name, value in variables.items():
            self.function.add_environment(name, value)
        if "definition" not in service:
            layers.definition.add_to(self.function)
        self.version = self.function.current_version
        self.version_arn = version_arn(self.version)

    def allow(self, hosts: Collection[permissions.HasEnvironment], statements: Iterable[iam.PolicyStatement]) -> None:
        """Let the function act in place of `hosts`, with `statements`; its own failures go to the dead-letter queue."""
        self.policy = permissions.attach_for_all(
            self,
            "Permissions",
            self.function,
            [*hosts],
            actions=permissions.PLAN_ACTIONS,
            statements=[
                *permissions.environment_key_statements(hosts),
                *statements,
                *permissions.send_statements([self._dead_letters]),
                *self._own_statements(),
            ],
        )
        self.failures = async_configuration(
            self.version,
            function_name=self.function.function_name,
            qualifier=self.version.version,
            destination=self._dead_letters.queue_arn,
        )
        # PutFunctionEventInvokeConfig fails unless the role may already send to the queue.
        self.failures.node.add_dependency(self.policy)
        retain_with(self.version, self.failures, suffix="OnFailure")

    def _own_statements(self) -> Iterator[iam.PolicyStatement]:
        """Yield what only this kind of function needs."""
        yield from ()
