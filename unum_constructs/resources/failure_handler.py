"""Failure handler of a workflow: takes over events that Lambda gave up, and runs control requests.

It costs nothing while idle. It is the on-failure destination of the workflow's functions, as a version, because running
executions stay on their definition. On-failure destinations are resources of their own, attached to versions: no
function refers to the handler and it refers to no function, so no workflow makes the references circular.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct, IDependable

from unum_compiler.lambda_settings import FAILURE_HANDLER_TIMEOUT_S
from unum_constructs.cdk.nag import ALARM, acknowledge
from unum_constructs.cdk.threshold_alarm import new_alarm
from unum_constructs.errors import ConstructError
from unum_constructs.hosting import environment
from unum_constructs.hosting.host import FailureDestination, async_configuration
from unum_constructs.hosting.version_ids import retain_with, version_arn
from unum_constructs.layer.workflow_layer import WorkflowLayer
from unum_constructs.resources import permissions
from unum_constructs.resources.own_functions import Provision

HANDLER = "unum_runtime.failure_handler.handle"

OTHERS = "UNUM_OTHERS"
"""Environment variable with the handlers of other workflows."""


class FailureHandler(Construct):
    """Function that commits failed invocations and continues the execution.

    Args:
        scope: the workflow.
        construct_id: id below `scope`.
        workflow_name: workflow name.
        service: shared fields of `unum_runtime.functions.configuration.Service`.
        layer: runtime and definition.
        provision: options of the function.
        dead_letters: queue for events that the handler could not process.

    Attributes:
        function: the function.
        version: version of this deployment.
        version_arn: token of the version's qualified ARN.
        alarm: alarm on dead letters, without actions of its own.
        ready: constructs that have to exist before the handler can do its work.
    """

    ready: tuple[IDependable, ...]

    def __init__(  # noqa: PLR0913 - one keyword for each part
        self,
        scope: Construct,
        construct_id: str,
        *,
        workflow_name: str,
        service: Mapping[str, Any],
        layer: WorkflowLayer,
        provision: Provision,
        dead_letters: sqs.Queue,
    ) -> None:
        super().__init__(scope, construct_id)
        self._dead_letters = dead_letters
        self._others: dict[str, str] = {}
        self.function = provision.new_function(
            self,
            "Handler",
            handler=HANDLER,
            layers=[layer],
            timeout=Duration.seconds(FAILURE_HANDLER_TIMEOUT_S),
            # An execution with a loop may fail, and continue here, in each of its rounds.
            recursive_loop=lambda_.RecursiveLoop.ALLOW,
            description="Goes on from the events of a workflow that Lambda has given up",
        )
        self.function.add_environment("UNUM_WORKFLOWS", self.function.stack.to_json_string({workflow_name: service}))
        layer.check_runtime_of(self.function)
        # A layer keeps its logical id when its content changes: without this, the CDK would publish no new version.
        self.function.invalidate_version_based_on(layer.digest)
        self.version = self.function.current_version
        self.version_arn = version_arn(self.version)
        self.alarm = self._alarm()

    def allow(self, hosts: Collection[permissions.HasEnvironment], statements: Iterable[iam.PolicyStatement]) -> None:
        """Let the handler act in place of `hosts`, with `statements`; its own failures go to the dead-letter queue."""
        policy = permissions.attach_for_all(
            self,
            "Permissions",
            self.function,
            [*hosts],
            actions=permissions.PLAN_ACTIONS,
            statements=[
                *permissions.environment_key_statements(hosts),
                *statements,
                *permissions.send_statements([self._dead_letters]),
            ],
        )
        configuration = async_configuration(
            self.version,
            function_name=self.function.function_name,
            qualifier=self.version.version,
            destination=self._dead_letters.queue_arn,
        )
        # PutFunctionEventInvokeConfig fails unless the role may already send to the queue.
        configuration.node.add_dependency(policy)
        retain_with(self.version, configuration, suffix="OnFailure")
        # The handler delays events to itself, and executions of older definitions use older versions of it.
        own = [*permissions.invoke_statements([self]), permissions.read_aliases_statement(self)]
        control = permissions.attach(self, "Control", self.function, own)
        self.ready = (policy, configuration, control)

    def trust(self, senders: Mapping[str, Any]) -> None:
        """Let a sweep deliver dead letters of trusted `senders` as they are."""
        self.function.add_environment("UNUM_SENDERS", self.function.stack.to_json_string(senders))

    def forward_failures(self, workflow_name: str, other: FailureDestination) -> None:
        """Forward failures of a workflow with shared functions to its own handler, `other`.

        Raises:
            ConstructError: the environment would be too large.
        """
        # Each shared function calls this; environment and policy change once.
        if workflow_name not in self._others:
            self._others[workflow_name] = other.version_arn
            self._check_environment()
            self.function.add_environment(OTHERS, self.function.stack.to_json_string(self._others))
            permissions.attach(self, workflow_name, self.function, permissions.invoke_statements([other]))

    def _check_environment(self) -> None:
        # ARNs are tokens at synth: assume the longest, so that the deployment cannot fail.
        longest = json.dumps(dict.fromkeys(self._others, "x" * environment.MAX_ARN_BYTES))
        size = environment.min_bytes({OTHERS: longest})
        if size > environment.MAX_BYTES:
            raise ConstructError(
                self,
                f"expected an environment of at most {environment.MAX_BYTES} bytes, got {size} for "
                f"{len(self._others)} workflows that share functions with this one; give some of them functions of "
                "their own",
            )

    def _alarm(self) -> cloudwatch.Alarm:
        metric = self._dead_letters.metric_approximate_number_of_messages_visible(
            period=Duration.minutes(1), statistic="Maximum"
        )
        what = "Events of a workflow that need somebody: executions may stand still"
        alarm = new_alarm(self, "Alarm", metric, 1, what)
        acknowledge(alarm, ALARM)
        return alarm
