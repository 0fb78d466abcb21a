"""Parts of a control plane that several workflows of a stack share.

The function of a control plane is control function and failure handler of all its workflows. IAM tells them apart by
aliases: functions and operators of a workflow may invoke its own aliases alone, and the runtime takes the workflow from
the alias. Each workflow has a policy of its own for the function's role, and nothing that it depends on refers to
another workflow, so workflows may start each other.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct, IDependable

from unum_compiler.lambda_settings import FAILURE_HANDLER_TIMEOUT_S
from unum_constructs.cdk.lookup import path_of, resource_of, role_of, session_of, stack_of
from unum_constructs.cdk.nag import ALARM, acknowledge
from unum_constructs.cdk.queues import KEPT_DAYS, new_dead_letter_queue
from unum_constructs.cdk.storage import Storage
from unum_constructs.cdk.threshold_alarm import new_alarm
from unum_constructs.errors import ConstructError
from unum_constructs.hosting import environment
from unum_constructs.hosting.host import FailureDestination, async_configuration
from unum_constructs.hosting.version_ids import retain_with
from unum_constructs.layer.workflow_layer import OwnCode, WorkflowLayers
from unum_constructs.resources import permissions
from unum_constructs.resources.control_function import ControlAliases, days_of_logs
from unum_constructs.resources.own_functions import Provision
from unum_runtime.json_text import to_ascii
from unum_runtime.model.naming import INTAKE, intake_alias, start_alias, start_intake_alias
from unum_runtime.protocol.control.control_aliases import has_ambiguous_aliases

HANDLER = "unum_runtime.shared_control.handle"

INLINE_BYTES, MANAGED_BYTES, MOST_MANAGED = 9_000, 6_144, 9
"""Bytes of a role's inline policies and of a managed policy, and managed policies of a role. IAM allows 10,240, of
which the function's own need a part, 6,144 and 10. Source: IAM User Guide, "IAM and AWS STS quotas"."""

LATER_BYTES = 600
"""Bytes of what a workflow's policy gets later: the list of executions, and the state of the stack."""

_ARN = "x" * 110
"""Stands for a token in a policy."""

_NAMES = defaultdict(lambda: environment.TOKEN, UNUM_SENDERS="x" * 24)
"""Text as long as a token can become, by environment variable: an id of a role, or an ARN."""

_TOKEN = re.compile(r"\$\{Token\[[^]]*\]\}")


class SharedFunction(Construct):
    """Control function and failure handler of several workflows.

    Args:
        scope: the control plane.
        construct_id: id below `scope`.
        provision: options of the function.

    Attributes:
        function: the function.
        version: its version of this deployment.
        queue: dead-letter queue of all workflows.
        policy: what the function may do for no workflow in particular.
        failures: configuration that sends failed events of the version to `queue`.
        alarm: alarm on dead letters, without actions of its own.
    """

    def __init__(self, scope: Construct, construct_id: str, *, provision: Provision) -> None:
        super().__init__(scope, construct_id)
        self.queue = new_dead_letter_queue(self, "Failures", provision.encryption_key)
        self._services: dict[str, Mapping[str, Any]] = {}
        self._by_workflow: dict[str, dict[str, Any]] = {}
        self._trusted: dict[str, None] = {}
        self._inline_left, self._managed = INLINE_BYTES, 0
        self._measured: dict[str, str] = {}
        # Every folder of the runtime: with one workflow more, the function stays the same.
        self.function = provision.new_function(
            self,
            "Function",
            handler=HANDLER,
            layers=OwnCode(self, (), provision.python),
            timeout=Duration.seconds(FAILURE_HANDLER_TIMEOUT_S),
            # An execution with a loop may fail, and continue here, in each of its rounds.
            recursive_loop=lambda_.RecursiveLoop.ALLOW,
            description="Operates workflows, and goes on from the events that Lambda has given up",
        )
        self.version = self.function.current_version
        self.policy = permissions.attach(self, "Permissions", self.function, self._statements())
        self.failures = self._failures()
        self.alarm = self._alarm()
        self._set("UNUM_DIRECTORY", INTAKE)
        self.trust([session_of(self.function)])

    def join(self, workflow: Construct, name: str, service: Mapping[str, Any], layers: WorkflowLayers) -> None:
        """Let the function serve the workflow `name`.

        Raises:
            ConstructError: another workflow has the name, or aliases of one name; or the environment is full.
        """
        if name in self._services:
            raise ConstructError(
                workflow, f"workflow_name: expected a name of its own in {path_of(self)}, got {name!r}"
            )
        if has_ambiguous_aliases(name, self._services):
            raise ConstructError(
                workflow,
                f"workflow_name: expected a name whose aliases differ from those of {[*self._services]}, got {name!r}: "
                "its end is one of them; choose another name",
            )
        self._services[name] = service
        if "definition" not in service:
            layers.definition.add_to(self.function)
        self._set(environment.WORKFLOWS, environment.json_of(stack_of(self), self._services))

    def trust(self, senders: Iterable[str]) -> None:
        """Let sweeps deliver dead letters of the roles `senders` as they are."""
        # The name of this function would be circular here: without it, its dead letters are planned again.
        self._trusted |= dict.fromkeys(each for each in senders if not each.startswith(":"))
        self._set_json("UNUM_SENDERS", {"workflow": "", "trusted": [*self._trusted]})

    def tell(self, variable: str, workflow: str, value: Any) -> None:
        """Set the value of one workflow in the environment variable `variable`."""
        values = self._by_workflow.setdefault(variable, {})
        values[workflow] = value
        self._set_json(variable, values)

    def allow(
        self, scope: Construct, construct_id: str, statements: Sequence[iam.PolicyStatement]
    ) -> iam.Policy | iam.ManagedPolicy:
        """Attach a policy with `statements` for one workflow, inline as long as the role has room.

        Raises:
            ConstructError: the role has no room for another policy.
        """
        size = _size(statements) + LATER_BYTES
        if size <= self._inline_left:
            self._inline_left -= size
            return permissions.attach(scope, construct_id, self.function, statements)
        if size > MANAGED_BYTES or self._managed == MOST_MANAGED:
            raise ConstructError(
                scope,
                f"control_plane: expected permissions that the role of {path_of(self)} has room for, got {size} bytes "
                f"beside {len(self._services) - 1} other workflows; make a second `UnumControlPlane`",
            )
        self._managed += 1
        return iam.ManagedPolicy(scope, construct_id, statements=[*statements], roles=[role_of(self.function)])

    def _set_json(self, variable: str, value: Any) -> None:
        self._set(variable, Stack.of(self).to_json_string(value), measured=to_ascii(value, is_compact=True))

    def _set(self, variable: str, text: str, *, measured: str | None = None) -> None:
        """Set an environment variable to `text`, or to tokens for the text `measured`.

        Raises:
            ConstructError: the environment could be too large.
        """
        self._measured[variable] = _TOKEN.sub(_NAMES[variable], text if measured is None else measured)
        size = environment.min_bytes(self._measured)
        if size > environment.MAX_BYTES:
            raise ConstructError(
                self,
                f"control_plane: expected an environment of at most {environment.MAX_BYTES} bytes, got {size} for "
                f"{len(self._services)} workflows; make a second `UnumControlPlane`",
            )
        self.function.add_environment(variable, text)

    def _statements(self) -> Iterable[iam.PolicyStatement]:
        # The rest of long work goes to this version, and dead letters to the aliases that they came from.
        yield permissions.invoke_any_statement([self])
        yield permissions.read_aliases_statement(self)
        yield from permissions.send_statements([self.queue])

    def _failures(self) -> lambda_.CfnEventInvokeConfig:
        found = async_configuration(
            self.version,
            function_name=self.function.function_name,
            qualifier=self.version.version,
            destination=self.queue.queue_arn,
        )
        # PutFunctionEventInvokeConfig fails unless the role may already send to the queue.
        found.node.add_dependency(self.policy)
        retain_with(self.version, found, suffix="OnFailure")
        return found

    def _alarm(self) -> cloudwatch.Alarm:
        metric = self.queue.metric_approximate_number_of_messages_visible(
            period=Duration.minutes(1), statistic="Maximum"
        )
        what = "Events of workflows that need somebody: executions may stand still"
        alarm = new_alarm(self, "Alarm", metric, 1, what)
        acknowledge(alarm, ALARM)
        return alarm

    def new_alias(self, scope: Construct, construct_id: str, name: str, **options: Any) -> lambda_.Alias:
        """Make an alias for asynchronous invocations, whose failed events go to the queue."""
        alias = lambda_.Alias(scope, construct_id, alias_name=name, version=self.version, **options)
        configuration = async_configuration(
            alias,
            function_name=self.function.function_name,
            qualifier=name,
            destination=self.queue.queue_arn,
        )
        # The configuration names the alias by text, which CloudFormation takes for no dependency.
        configuration.node.add_dependency(resource_of(alias, lambda_.CfnAlias), self.policy)
        return alias


def _size(statements: Iterable[iam.PolicyStatement]) -> int:
    """Return about how many bytes `statements` have when tokens are known."""
    return sum(len(_TOKEN.sub(_ARN, to_ascii(each.to_json(), is_compact=True))) for each in statements)


class WorkflowControl(ControlAliases, Construct):
    """Part of a shared control function for one workflow.

    Args:
        workflow: the workflow.
        construct_id: id below `workflow`.
        shared: the function.
        workflow_name: workflow name.

    Attributes:
        function: the function, which other workflows share.
        policy: what it may do for this workflow.
    """

    handler: "WorkflowIntake"

    def __init__(self, workflow: Construct, construct_id: str, *, shared: SharedFunction, workflow_name: str) -> None:
        super().__init__(workflow, construct_id)
        self._shared, self.workflow_name = shared, workflow_name
        self.function, self.version, self._dead_letters = shared.function, shared.version, shared.queue
        self.failures = shared.failures

    def allow(self, hosts: Collection[permissions.HasEnvironment], statements: Iterable[iam.PolicyStatement]) -> None:
        """Let the function act in place of `hosts`, with `statements`."""
        acting = permissions.act_statements(permissions.PLAN_ACTIONS, hosts)
        own = [*acting, *permissions.environment_key_statements(hosts), *statements]
        self.policy = self._shared.allow(self, "Permissions", own)
        self.policy.node.add_dependency(self._shared.policy)

    def trust(self, senders: Mapping[str, Any]) -> None:
        """Let sweeps deliver dead letters of trusted `senders` as they are."""
        self._shared.trust(senders["trusted"])

    def tell_kept(self, storage: Storage) -> None:
        """Tell the function how many days logs, backups of `storage` and queues keep data of deleted executions."""
        kept = {"queues": KEPT_DAYS, "logs": days_of_logs(self.function), **storage.backup_days}
        self._shared.tell("UNUM_KEPT", self.workflow_name, kept)


class WorkflowIntake(Construct):
    """Part of a shared failure handler for one workflow: the aliases that take its failed events.

    Args:
        workflow: the workflow.
        construct_id: id below `workflow`.
        shared: the function.
        workflow_name: workflow name.
        starts_in: ARN of the function in which executions start.
        takes_starts: True for one alias for failed events and starts, which functions of one role need not tell apart.

    Attributes:
        function: the function, which other workflows share.
        version_arn: ARN of the alias for failed events, without a reference.
        alarm: alarm on dead letters of all workflows of the function.
    """

    def __init__(
        self,
        workflow: Construct,
        construct_id: str,
        *,
        shared: SharedFunction,
        workflow_name: str,
        starts_in: str,
        takes_starts: bool,
    ) -> None:
        super().__init__(workflow, construct_id)
        self._shared, self.workflow_name, self._takes_starts = shared, workflow_name, takes_starts
        self.function, self.alarm = shared.function, shared.alarm
        self.version_arn = self._arn(intake_alias(workflow_name))
        # The function reads the start alias in the description (GetAlias): as a variable, it would be a circular
        # reference. So would a reference to the alias be here, because it depends on this one.
        start = f"{starts_in}:{start_alias(workflow_name)}"
        self._alias = shared.new_alias(self, "Alias", intake_alias(workflow_name), description=start)
        self._others: dict[str, str] = {}

    def _arn(self, alias: str) -> str:
        return f"{self.function.function_arn}:{alias}"

    def allow(self, hosts: Collection[permissions.HasEnvironment], statements: Iterable[iam.PolicyStatement]) -> None:
        """Do nothing: what the workflow's part of the control function may do, this function may."""

    def allow_own(self) -> None:
        """Do nothing, for the same reason."""

    @property
    def ready(self) -> tuple[IDependable, ...]:
        """Constructs required before the first failed event."""
        return (self, self._shared.policy, self._shared.failures)

    def addresses(self, *, reports_starts: bool) -> Sequence[str]:
        """Return the ARN of the alias for failed events, and that for failed starts."""
        own = reports_starts and not self._takes_starts
        return [self.version_arn, *([self._arn(start_intake_alias(self.workflow_name))] if own else ())]

    def address_for(self, other: Construct) -> str:
        """Return the ARN at which the failure handler `other` reaches this one.

        Raises:
            ConstructError: the other one belongs to another stack.
        """
        if path_of(stack_of(self)) != path_of(stack_of(other)):
            raise ConstructError(
                self,
                f"control_plane: expected functions of no other stack's workflows, got one that "
                f"{path_of(other)} shares; leave `control_plane` out for one of both",
            )
        return self.version_arn

    def open(self, first: lambda_.Alias, scope: Construct) -> lambda_.Alias:
        """Return the alias that receives failed start events; make it in `scope` if it is another one."""
        if self._takes_starts:
            return self._alias
        alias = self._shared.new_alias(scope, "StartIntake", start_intake_alias(self.workflow_name))
        # By this dependency the alias depends on all that the start alias depends on.
        resource_of(alias, lambda_.CfnAlias).node.add_dependency(resource_of(first, lambda_.CfnAlias))
        return alias

    def forward_failures(self, workflow_name: str, other: FailureDestination) -> None:
        """Forward failures of a workflow with shared functions to its own handler, `other`."""
        if workflow_name in self._others:
            return
        is_here = path_of(other.function) == path_of(self.function)
        self._others[workflow_name] = "" if is_here else other.address_for(self)
        self._shared.tell("UNUM_OTHERS", self.workflow_name, self._others)
        if not is_here:
            self._shared.policy.add_statements(*permissions.invoke_statements((), [other]))
