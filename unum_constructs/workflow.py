"""Workflow construct: table, layer, wrapped functions, permissions, and start alias of one workflow."""

import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Unpack

from aws_cdk import Duration, Tags
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_compiler.compatibility import Compatibility
from unum_compiler.options import FunctionOptions
from unum_constructs.assembly.checked_options import WorkflowOptions
from unum_constructs.assembly.comparison import compare
from unum_constructs.assembly.control_and_failures import (
    add_guard,
    new_planning_functions,
    new_start_alias,
    new_sweep,
)
from unum_constructs.assembly.function_settings import Assembly
from unum_constructs.assembly.other_workflows import OtherWorkflow
from unum_constructs.assembly.shared_resources import new_shared_resources
from unum_constructs.assembly.wired_program import wire_program
from unum_constructs.assembly.workflow_outputs import WorkflowOutputs
from unum_constructs.cdk.lookup import forget_given_properties, function_behind
from unum_constructs.control_plane import UnumControlPlane
from unum_constructs.function import UnumFunction
from unum_constructs.grants import IUnumWorkflow
from unum_constructs.hosting.host import Failures
from unum_constructs.imported import Importable
from unum_constructs.monitoring.workflow_monitoring import MonitoredWorkflow
from unum_constructs.options.delivery import Delivery
from unum_constructs.options.execution_data import ExecutionData
from unum_constructs.options.former_keywords import Groups, OtherKeywords
from unum_constructs.options.limits import Limits
from unum_constructs.options.monitoring import Monitoring
from unum_constructs.options.stack_outputs import Outputs
from unum_constructs.options.state_machine_words import DeployedStateMachine
from unum_constructs.resources.aliases import WorkflowAliases, new_aliases
from unum_constructs.resources.control_function import PermanentAliases
from unum_constructs.resources.own_functions import OwnFunctions
from unum_constructs.resources.response_resources import AnsweredWorkflow
from unum_constructs.resources.service_calls import CallingWorkflow
from unum_constructs.resources.upgrades import Upgrades
from unum_constructs.store import Store
from unum_constructs.sweep import HOURLY, Sweep
from unum_runtime.model.states import Guard

if TYPE_CHECKING:
    from aws_cdk import aws_stepfunctions as sfn

    from unum_compiler.definition import Definition


class UnumWorkflow(
    MonitoredWorkflow, CallingWorkflow, AnsweredWorkflow, DeployedStateMachine, Importable, IUnumWorkflow
):
    """Workflow of Lambda functions that orchestrate themselves, without an orchestrator service.

    The construct puts a layer with runtime and definition on each function, points the handler to the runtime, and lets
    each function invoke exactly its successors. Executions start through the start alias, by `unum_client` or
    by any event source that invokes Lambda functions; the event is then the execution's input.

    Args:
        scope: parent construct.
        construct_id: id below `scope`.
        definition: states of the workflow; see `Definition.from_asl`, `from_asl_file`, `from_chainable`, `from_graph`
            and `from_ir`. A chain or `DefinitionBody` of `aws_stepfunctions` may be given directly.
        definition_body: the definition as `StateMachine` takes it, in place of `definition`.
        definition_substitutions: text or CDK token for every ``${Name}`` in a `DefinitionBody`. Functions of the app
            whose ARNs or names are among them need not be in `functions`.
        functions: functions by the key that Tasks name, in addition to those that the definition contains. One function
            may have several keys, and may belong to several workflows of the stack. Functions that cannot have the
            runtime, such as aliases, imported functions and other runtimes, are called. A `UnumFunction` with
            `handlers` may be given alone, for all its keys.
        function_options: options of functions by key, for plain `aws_lambda.Function` constructs, or in place of a
            `UnumFunction`'s own options.
        workflow_name: 1 to 80 characters from ``A-Z a-z 0-9 - _``. Default: derived from the construct's path.
        exported: True exports the ARNs for `from_workflow_name` in other stacks; no two may export the same name.
        outputs: outputs of the stack: ``ONE`` with all addresses, by which ``unum --stack`` finds the workflow;
            ``ALL``, one for each address; or ``NONE``. Default: ``ONE``.
        store: storage of execution state. Default: a table of the workflow's own, `Store.dynamodb()`.
        guard: protection against running user code again for a duplicate event, for functions without a guard of their
            own. Default: ``READ``.
        timeout: longest duration of an execution, 1 to 99,999,999 s; not beside ``TimeoutSeconds``. Default: no limit.
        compatibility: ``STRICT`` refuses what Step Functions refuses or does otherwise, and applies its quotas; see
            "Behave as Step Functions" in ``docs/asl.md``. Default: ``GENEROUS``.
        sweep: periodic search for stalled executions, whose events were all lost; made by `Sweep.every`. It also tries
            dead letters of `failure_queue` again, and requires a table that lists executions (`Store.dynamodb`). None:
            no search. Default: every hour, if the table is known to list executions.
        encryption_key: customer managed KMS key for the workflow's table (unless `store` names another key), bucket,
            queues, log groups and environments. Roles may use it through these services alone; CloudWatch Logs may too.
        execution_data: lifetime and place of what is stored of executions, large values included.
        delivery: delivery of events to functions: Lambda's retries, and fusion of Tasks.
        limits: limits of one execution: steps, branches, invocations, size of outputs.
        monitoring: log level, metrics, status events, spans of user code, and attributes to find executions.
        own_functions: functions that the workflow makes: VPC, architecture, tracing, logs.
        upgrades: deployments while executions run.
        control_plane: control function, failure handler, queue and sweep that other workflows of the stack share.
            Default: of the workflow's own.
        others: other arguments of `StateMachine`: `state_machine_name`, `tracing_enabled`, and for chains `comment` and
            `query_language` work; what could have no effect is refused, with the name of ours. Attributes of the groups
            are also taken as keywords, as before; they are deprecated.

    Raises:
        ConstructError: an argument is invalid; the text names the argument, the expected and the actual value.
        DefinitionError: the definition does not compile; contains every problem with its JSON path.

    Attributes:
        workflow_name: name in events, keys and outputs.
        storage: table or bucket with the state of executions; see also `table`.
        layer: layer with the runtime, for the newest Python among the functions; all workflows of the stack share it.
        start_alias: alias for event sources: whatever arrives is the input of an execution.
        aliases: aliases that start executions by name, describe them, and take answers with task tokens; also as
            `run_alias`, `describe_alias` and `response_alias`.
        control: function that stops, redrives, nudges, forks and deletes executions, with an alias for each, `aliases`.
        failure_handler: function that takes over events that Lambda could not deliver.
        failure_queue: dead-letter queue of the failure handler and of `timer`; keeps messages for 14 days.
        failure_alarm: alarm on messages in `failure_queue`; add actions to it.
        activities: queues of the activities by activity name.
        timer: timer queue with its forwarder; None if no event has to wait.
        payload_bucket: bucket for large values; None without one.
        sweep: schedule of the search for stalled executions; None without one.
    """

    start_alias: lambda_.Alias
    activities: Mapping[str, sqs.Queue]

    def __init__(  # noqa: PLR0913 - one keyword for each option, as everywhere in the CDK
        self,
        scope: Construct,
        construct_id: str,
        *,
        definition: "Definition | sfn.DefinitionBody | sfn.IChainable | None" = None,
        definition_body: "sfn.DefinitionBody | None" = None,
        definition_substitutions: Mapping[str, str] | None = None,
        functions: Mapping[str, lambda_.IFunction | lambda_.FunctionBase] | UnumFunction | None = None,
        function_options: Mapping[str, FunctionOptions] | None = None,
        workflow_name: str | None = None,
        exported: bool = False,
        outputs: Outputs | str = Outputs.ONE,
        store: Store | None = None,
        guard: Guard | None = None,
        timeout: Duration | None = None,
        compatibility: Compatibility | str = Compatibility.GENEROUS,
        sweep: Sweep | None = HOURLY,
        encryption_key: kms.IKey | None = None,
        execution_data: ExecutionData | None = None,
        delivery: Delivery | None = None,
        limits: Limits | None = None,
        monitoring: Monitoring | None = None,
        own_functions: OwnFunctions | None = None,
        upgrades: Upgrades | None = None,
        control_plane: UnumControlPlane | None = None,
        **others: Unpack[OtherKeywords],
    ) -> None:
        super().__init__(scope, construct_id)
        forget_given_properties()
        # 1. Options, checked before any resource is made.
        groups = Groups.of(
            self,
            others,
            execution_data=execution_data,
            delivery=delivery,
            limits=limits,
            monitoring=monitoring,
            own_functions=own_functions,
            upgrades=upgrades,
        )
        options = WorkflowOptions.checked(
            self,
            groups,
            definition=definition,
            definition_body=definition_body,
            definition_substitutions=definition_substitutions,
            functions=functions,
            function_options=function_options,
            workflow_name=workflow_name,
            exported=exported,
            outputs=outputs,
            store=store,
            guard=guard,
            timeout=timeout,
            compatibility=compatibility,
            sweep=sweep,
            encryption_key=encryption_key,
            control_plane=control_plane,
        )
        self.workflow_name = options.name

        # 2. The definition, compiled, and bound to its functions.
        wired = wire_program(self, options, self._others())
        self._workflow, self._hosts, self._called = wired.program.parts
        self._take_words(groups.of_state_machine)
        self.metrics, self.nodes = options.runtime.metrics, tuple(task.name for task in self._workflow.tasks)

        # 3. Resources that hold state, code and events.
        shared = new_shared_resources(self, options, wired)
        self.storage, self.payload_bucket = shared.state.storage, shared.state.payload_bucket
        self.layer, self.events = shared.layers.first, options.runtime.events
        self.failure_queue, self.timer, self.activities = shared.failure_queue, shared.timer, shared.activities

        # 4. Permissions and environments of all functions, and then the aliases, which make the workflow reachable.
        assembly = Assembly.of(self, options, wired, shared)
        planning = new_planning_functions(self, assembly, shared, control_plane)
        self.control, self.failure_handler = planning
        self.failure_alarm = self.failure_handler.alarm
        add_guard(self, assembly, shared, planning, self.own_partitions)
        failures = Failures(handler=self.failure_handler, limits=options.limits)
        self.start_alias = new_start_alias(self, assembly, failures, planning)
        start_intake = self.failure_handler.open(self.start_alias, self)
        sweeps = shared.sweep is not None and control_plane is None
        self.control.open(self.start_alias, self._workflow, sweeps=sweeps, exported=exported)
        self._open_permanently = partial(self.control.open_for_starts, failures, start_intake)
        self.aliases = new_aliases(self, self.control.version, failures, start_intake)
        self.run_alias, self.describe_alias, self.response_alias = self.aliases
        self.sweep = new_sweep(self, shared, self.control, self.own_partitions, control_plane)

        # 5. Acknowledgments, messages, outputs and tags.
        assembly.acknowledge(self, self.failure_handler, self.control)
        assembly.report_slow_functions()
        compare(self, options, self._workflow, assembly.parts, is_guarded=shared.is_guarded)
        if exported:  # importers' apps cannot ask for it here
            self._permanent_aliases()
        WorkflowOutputs(
            start_alias=self.start_alias,
            control_function=self.control.function,
            aliases=self.aliases,
            storage=self.storage,
            failure_queue=self.failure_queue,
            payload_bucket=self.payload_bucket,
            activities=self.activities,
            retention_s=shared.state.result_retention_s,
        ).add_to(self, self.workflow_name, options.outputs, exported=exported)
        for key, value in (groups.tags or {}).items():
            Tags.of(self).add(key, value)

    def _others(self) -> Iterator[OtherWorkflow]:
        """Yield the other workflows of the app, lazily: few workflows need this search through all constructs."""
        for each in self.node.root.node.find_all():
            if isinstance(each, UnumWorkflow) and each is not self:
                start, run, describe = each.start_alias, each.aliases.run, each.aliases.describe
                hosts = {*each._hosts.values()}  # noqa: SLF001 - the same class
                yield OtherWorkflow(start.function_arn, run.function_arn, describe.function_arn, hosts)

    @property
    def doors(self) -> WorkflowAliases:
        """Former name of `aliases`."""
        warnings.warn("UnumWorkflow.doors is deprecated; write `aliases`", DeprecationWarning, stacklevel=2)
        return self.aliases

    @cached_property
    def _permanent(self) -> PermanentAliases:
        return self._open_permanently()

    @property
    def sync_start_alias(self) -> lambda_.Alias:
        """Alias that starts an execution, waits for its end, and answers with the result; made when it is asked for.

        It takes requests of API Gateway and of function URLs, whose JSON body is the input, and objects of `input` and
        `name`. It is an alias of the control function, which waits: at most 28 s for API Gateway, 5 minutes else.
        """
        return self.control.sync_alias

    def _permanent_aliases(self) -> tuple[lambda_.IFunction, lambda_.IFunction]:
        return self._permanent.start, self._permanent.run

    def _control_alias(self, kind: str) -> lambda_.Alias:
        return self.control.alias(self, kind)

    def _functions(self) -> Iterator[lambda_.Function]:
        called = map(function_behind, self._called.values())
        return chain(
            (host.function for host in self._hosts.values()),
            (each for each in called if isinstance(each, lambda_.Function)),
        )
