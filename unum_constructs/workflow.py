"""Workflow construct: table, layer, wrapped functions, permissions, and start alias of one workflow."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, Unpack

from aws_cdk import Duration, Tags
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_compiler.analysis.edges import ENTRY, uses_timer
from unum_compiler.analysis.event_bounds import waits_long
from unum_compiler.compatibility import Compatibility
from unum_compiler.options import FunctionOptions
from unum_constructs.assembly import cross_stack
from unum_constructs.assembly.binding import Program, compile_program
from unum_constructs.assembly.comparison import Comparison
from unum_constructs.assembly.function_permissions import State, WiredProgram
from unum_constructs.assembly.function_settings import Assembly
from unum_constructs.assembly.options import RuntimeOptions, WorkflowOptions
from unum_constructs.assembly.other_workflows import OtherWorkflow
from unum_constructs.assembly.template_size import check_size
from unum_constructs.assembly.user_code_traces import trace_user_code
from unum_constructs.assembly.wiring import wire
from unum_constructs.assembly.workflow_outputs import WorkflowOutputs
from unum_constructs.cdk.lookup import function_behind, path_of, resource_of, stack_of
from unum_constructs.cdk.queues import new_dead_letter_queue
from unum_constructs.function import UnumFunction
from unum_constructs.grants import IUnumWorkflow
from unum_constructs.hosting.host import Failures
from unum_constructs.imported import Importable
from unum_constructs.layer.workflow_layer import WorkflowLayers
from unum_constructs.monitoring.workflow_monitoring import MonitoredWorkflow
from unum_constructs.options.delivery import Delivery
from unum_constructs.options.execution_data import ExecutionData
from unum_constructs.options.former_keywords import Groups, OtherKeywords
from unum_constructs.options.limits import Limits
from unum_constructs.options.monitoring import Monitoring
from unum_constructs.resources import activities
from unum_constructs.resources.control_function import DIRECTORY, ControlFunction
from unum_constructs.resources.deployment_guard import DeploymentGuard, is_guarded, policies_of
from unum_constructs.resources.doors import new_doors
from unum_constructs.resources.event_rules import checked_events
from unum_constructs.resources.failure_handler import FailureHandler
from unum_constructs.resources.own_functions import OwnFunctions, Provision
from unum_constructs.resources.payload_bucket import payload_bucket_for
from unum_constructs.resources.service_calls import CallingWorkflow
from unum_constructs.resources.timer import WorkflowTimer
from unum_constructs.resources.upgrades import Keep, Upgrades
from unum_constructs.store import Store
from unum_constructs.sweep import HOURLY, Sweep, WorkflowSweep
from unum_runtime.model.naming import door_alias
from unum_runtime.model.states import Guard

if TYPE_CHECKING:
    from aws_cdk import aws_stepfunctions as sfn

    from unum_compiler.definition import Definition


class UnumWorkflow(MonitoredWorkflow, CallingWorkflow, activities.AnsweredWorkflow, Importable, IUnumWorkflow):
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
        store: storage of execution state. Default: a table of the workflow's own, `Store.dynamodb()`.
        guard: protection against running user code again for a duplicate event, for functions without a guard of their
            own. Default: ``READ``.
        timeout: longest duration of an execution, 1 to 99,999,999 s; not beside ``TimeoutSeconds``. Default: no limit.
        compatibility: ``STRICT`` refuses what Step Functions refuses or does otherwise, and applies its quotas; see
            "Behave as Step Functions" in ``docs/asl.md``. Default: ``GENEROUS``.
        sweep: periodic search for stalled executions, whose events were all lost; made by `Sweep.every`. It also tries
            letters of `failure_queue` again, and requires a table that lists executions (`Store.dynamodb`). None: no
            search. Default: every hour, if the table is known to list executions.
        encryption_key: customer managed KMS key for the workflow's table (unless `store` names another key), bucket,
            queues, log groups and environments. Roles may use it through these services alone; CloudWatch Logs may too.
        execution_data: lifetime and place of what is stored of executions, large values included.
        delivery: delivery of events to functions: Lambda's retries, and fusion of Tasks.
        limits: limits of one execution: steps, branches, invocations, size of outputs.
        monitoring: log level, metrics, status events, spans of user code, and attributes to find executions.
        own_functions: functions that the workflow makes: VPC, architecture, tracing, logs.
        upgrades: deployments while executions run.
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
        doors: aliases that start executions by name, describe them, and take answers with task tokens; also as
            `run_alias`, `describe_alias` and `response_alias`.
        control: function that stops, redrives, nudges, forks and deletes executions, with an alias for each, `doors`.
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
        **others: Unpack[OtherKeywords],
    ) -> None:
        super().__init__(scope, construct_id)
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
            store=store,
            guard=guard,
            timeout=timeout,
            compatibility=compatibility,
            sweep=sweep,
            encryption_key=encryption_key,
        )
        self.workflow_name = options.name
        runtime, kept = options.runtime, options.kept

        # 2. The definition, compiled, and bound to its functions.
        program = self._compile(options).with_kept(self, kept)
        provision = options.provision.with_python_of(host.function for host in program.hosts.values())
        program = program.with_services(self, options.apply_to(self, program.workflow), provision)
        wired = self._wire(program, provision)
        self._workflow, self._hosts, self._called = wired.program.parts
        self.metrics, self.nodes = runtime.metrics, tuple(task.name for task in self._workflow.tasks)

        # 3. Resources that hold state, code and events.
        self.storage = options.store.storage_for(
            self, self.workflow_name, name=self._fixed_name(options.store.purpose), encryption_key=encryption_key
        )
        sweep, self.events = checked_events(
            self,
            runtime.events,
            sweep and sweep.checked(self, self.storage, self._hosts.values()),
            self._hosts.values(),
        )
        traces = trace_user_code(self, groups.monitoring.opentelemetry, self._hosts.values())
        guarded = is_guarded(self, self.storage, options.decision, is_in_vpc=groups.own_functions.vpc is not None)
        layers = WorkflowLayers(
            self,
            workflow=self._workflow,
            python=provision.python,
            in_bucket=self.storage.in_bucket,
            traces=traces,
            events=runtime.events,
        )
        self.layer, self.failure_queue = layers.first, new_dead_letter_queue(self, "Failures", encryption_key)
        self.activities = activities.new_activities(
            self, "Activities", self._workflow, encryption_key, kept=kept.activities
        )
        self.timer = self._new_timer(wired, layers, provision, kept)
        state = self._new_state(groups.execution_data)
        self.payload_bucket = state.payload_bucket

        # 4. Permissions and environments of all functions, and then the aliases, which make the workflow reachable.
        assembly = self._assemble(wired, layers, state, runtime)
        self.control, self.failure_handler = self._new_planning_functions(assembly, provision)
        if guarded:
            self._new_guard(assembly, lists=sweep is None)
        self.failure_alarm = self.failure_handler.alarm
        failures = Failures(handler=self.failure_handler, limits=options.limits)
        self.start_alias = self._new_start_alias(assembly, failures)
        self._add_other_aliases(failures, sweeps=sweep is not None)
        self.sweep = None if sweep is None else self._new_sweep(sweep)

        # 5. Acknowledgments, messages, outputs and tags.
        assembly.acknowledge(self, self.failure_handler, self.control)
        assembly.report_slow_functions()
        comparison = Comparison(construct=self, new=self._workflow, parts=assembly.parts, is_guarded=guarded)
        comparison.with_given(groups.upgrades.earlier, options.options_by_key(self))
        comparison.with_deployed()
        WorkflowOutputs(
            start_alias=self.start_alias,
            control_function=self.control.function,
            doors=self.doors,
            storage=self.storage,
            failure_queue=self.failure_queue,
            payload_bucket=self.payload_bucket,
            activities=self.activities,
            retention_s=state.result_retention_s,
        ).add_to(self, self.workflow_name, exported=exported)
        for key, value in (groups.tags or {}).items():
            Tags.of(self).add(key, value)

    def _others(self) -> Iterator[OtherWorkflow]:
        """Yield the other workflows of the app, lazily: few workflows need this search through all constructs."""
        for each in self.node.root.node.find_all():
            if isinstance(each, UnumWorkflow) and each is not self:
                start, run, describe = each.start_alias, each.doors.run, each.doors.describe
                hosts = {*each._hosts.values()}  # noqa: SLF001 - the same class
                yield OtherWorkflow(start.function_arn, run.function_arn, describe.function_arn, hosts)

    def _door(self, door: str) -> lambda_.Alias:
        return self.control.door(self, door)

    def _functions(self) -> Iterator[lambda_.Function]:
        called = map(function_behind, self._called.values())
        return chain(
            (host.function for host in self._hosts.values()),
            (each for each in called if isinstance(each, lambda_.Function)),
        )

    def _compile(self, options: WorkflowOptions) -> Program:
        functions, by_key = options.every_function(), options.options_by_key(self)
        return compile_program(
            self, options.definition, functions, name=self.workflow_name, options=by_key, others=self._others()
        )

    def _wire(self, program: Program, provision: Provision) -> WiredProgram:
        """Plan references between functions; add an entry function if no Task's function can start executions."""
        program.check_use(self)
        here = path_of(stack_of(self))
        wiring = wire(program.workflow, program.hosts, stack=here)
        if wiring.start == ENTRY:
            program = program.with_entry(provision.new_entry(self, "Entry"))
        hosts = program.hosts
        check_size(self, sum(host.stack == here for host in {*hosts.values()}))
        cross_stack.deploy_after(self, hosts.values())
        return WiredProgram(
            program=program, wiring=wiring.with_kept(program.kept), known=cross_stack.functions_known_to(self, hosts)
        )

    def _new_timer(
        self, wired: WiredProgram, layers: WorkflowLayers, provision: Provision, kept: Keep
    ) -> WorkflowTimer | None:
        if not (uses_timer(self._workflow) or kept.timer or kept.schedules):
            return None
        return WorkflowTimer(
            self,
            "Timer",
            layers=layers,
            provision=provision,
            failure_queue=self.failure_queue,
            targets=dict.fromkeys(wired.known.values()),
            queue_name=self._fixed_name("timer"),
            waits_long=waits_long(self._workflow) or kept.schedules,
        )

    def _new_state(self, data: ExecutionData) -> State:
        result_retention_s = data.result_retention_s(self)
        bucket = payload_bucket_for(
            self,
            compiled=self._workflow,
            payload=data.payload,
            bucket=data.payload_bucket or self.storage.payload_bucket(data.payload),
            key=self.storage.encryption_key,
            retention_s=result_retention_s,
            name=self._fixed_name(cross_stack.BUCKET),
        )
        self.storage.expire(self, self.workflow_name, result_retention_s)
        return State(
            storage=self.storage,
            payload_bucket=bucket,
            retention_s=data.history_retention_s(self, result_retention_s),
            result_retention_s=result_retention_s,
        )

    def _assemble(self, wired: WiredProgram, layers: WorkflowLayers, state: State, runtime: RuntimeOptions) -> Assembly:
        return Assembly(
            wired=wired,
            layers=layers,
            distant_layers=cross_stack.distant_layers_of(self, layers, self._workflow, self._hosts.values()),
            state=state,
            runtime=runtime,
            timer=self.timer,
            activities=self.activities,
        )

    def _fixed_name(self, purpose: str) -> str | None:
        return cross_stack.fixed_name(self, purpose, self._hosts.values())

    def _new_planning_functions(
        self, assembly: Assembly, provision: Provision
    ) -> tuple[ControlFunction, FailureHandler]:
        common: Any = {
            "workflow_name": self.workflow_name,
            "service": assembly.service_of_handler(),
            "layers": assembly.layers,
            "provision": provision,
            "dead_letters": self.failure_queue,
        }
        directory = {"UNUM_DIRECTORY": door_alias(DIRECTORY, self.workflow_name)}
        control = ControlFunction(self, "ControlFunction", environment=directory, **common)
        handler = FailureHandler(self, "OnFailure", control=control, **common)
        assembly.allow_handler(handler, control)
        return control, handler

    def _new_guard(self, assembly: Assembly, *, lists: bool) -> DeploymentGuard:
        # The sweep has the same permission.
        listing = self.storage.list_statements(self.own_partitions) if lists else ()
        guard = DeploymentGuard(self, "Guard", control=self.control, parts=assembly.parts, listing=listing)
        guard.precede(policies_of(self.control, self.failure_handler))
        return guard

    def _new_start_alias(self, assembly: Assembly, failures: Failures) -> lambda_.Alias:
        """Connect every function to the workflow, then make the start alias.

        The alias depends on all policies: an execution that started earlier could meet a function without permissions.
        """
        wiring, name = assembly.wiring, assembly.start_alias
        policies = assembly.connect_all(self, failures, self.control)
        if self.timer:
            self.timer.report_failures(dict.fromkeys((self.failure_handler, *assembly.first_handlers)))
        alias = lambda_.Alias(self, "Start", alias_name=name, version=self._hosts[wiring.start].version)
        ready = (*self.failure_handler.ready, self.control.policy, self.control.failures)
        timer = [self.timer] if self.timer else ()
        resource_of(alias, lambda_.CfnAlias).node.add_dependency(*policies, *ready, *timer)
        return alias

    def _add_other_aliases(self, failures: Failures, *, sweeps: bool) -> None:
        """Make all aliases that refer to the start alias."""
        start_intake = self.failure_handler.open(self.start_alias, self)
        self.control.open(self.start_alias, self._workflow, sweeps=sweeps)
        self.doors = new_doors(self, self.control.version, failures, start_intake)
        self.run_alias, self.describe_alias, self.response_alias = self.doors

    def _new_sweep(self, options: Sweep) -> WorkflowSweep:
        listing, letters = self.storage.list_statements(self.own_partitions), self.failure_queue
        return WorkflowSweep(
            self, "Sweep", options=options, listing=listing, control=self.control, dead_letters=letters
        )
