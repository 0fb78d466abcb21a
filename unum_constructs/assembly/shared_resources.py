"""Resources that all functions of a workflow share: they hold state, code and events."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct
from jsii.errors import JSIIError

from unum_compiler.analysis.event_bounds import waits_long
from unum_constructs.assembly import cross_stack
from unum_constructs.assembly.checked_options import WorkflowOptions
from unum_constructs.assembly.wired_program import WiredProgram
from unum_constructs.cdk.argument_checks import check_types
from unum_constructs.cdk.queues import new_dead_letter_queue
from unum_constructs.cdk.storage import Storage
from unum_constructs.errors import ConstructError
from unum_constructs.hosting.host import Host
from unum_constructs.layer.features import LayerFacts, has_timer
from unum_constructs.layer.opentelemetry import OpenTelemetry, SdkMissingError, add_sdk
from unum_constructs.layer.workflow_layer import WorkflowLayers
from unum_constructs.resources.deployment_guard import is_guarded
from unum_constructs.resources.event_rules import checked_events
from unum_constructs.resources.payload_bucket import payload_bucket_for
from unum_constructs.resources.response_resources import new_activities
from unum_constructs.resources.timer_queue import WorkflowTimer
from unum_constructs.sweep import Sweep
from unum_runtime.functions.configuration import OPENTELEMETRY, XRAY

# User code traces: kinds per function, with variables and layers.


def trace_user_code(workflow: Construct, option: OpenTelemetry | None, hosts: Iterable[Host]) -> tuple[str, ...]:
    """Let the functions among `hosts` with user code trace it; return the kinds of traces.

    Args:
        workflow: the workflow.
        option: spans of OpenTelemetry; None for none.
        hosts: functions of the workflow. Those with active tracing send segments to X-Ray.

    Raises:
        ConstructError: the option has another type, the SDK is not installed, or a function has too many layers.
    """
    check_types(workflow, OpenTelemetry, {"monitoring.opentelemetry": option})
    found: dict[str, None] = {}
    for host in dict.fromkeys(hosts):
        if not host.has_user_code:
            continue
        kinds = [*([OPENTELEMETRY] if option is not None else []), *([XRAY] if host.is_traced else [])]
        # A function of another workflow may have the layers already, and Lambda refuses one layer twice.
        if option is not None and host.takes_layers and OPENTELEMETRY not in host.traces:
            _add_layers(workflow, host, option)
        host.trace(kinds, _variables(option))
        found |= dict.fromkeys(kinds)
    return (*found,)


def _variables(option: OpenTelemetry | None) -> Mapping[str, str]:
    if option is None or option.endpoint is None:
        return {}
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": option.endpoint}


def _add_layers(workflow: Construct, host: Host, option: OpenTelemetry) -> None:
    try:
        if option.layers is None:
            add_sdk(host.function)
        elif option.layers:
            host.function.add_layers(*option.layers)
    except SdkMissingError as missing:
        raise ConstructError(workflow, f"monitoring.opentelemetry: {missing}") from missing
    except (JSIIError, RuntimeError) as error:
        raise ConstructError(
            host.function,
            f"monitoring.opentelemetry: Lambda allows 5 layers, and the workflow needs one or two: {error}",
        ) from error


@dataclass(frozen=True, kw_only=True)
class State:
    """Storage of execution state.

    Attributes:
        storage: place of the state.
        payload_bucket: bucket for values that exceed an item; None without one.
        retention_s: lifetime of the history, in seconds.
        result_retention_s: lifetime of start records and results, in seconds.
    """

    storage: Storage
    payload_bucket: s3.IBucket | None
    retention_s: int
    result_retention_s: int


@dataclass(frozen=True, kw_only=True)
class SharedResources:
    """Resources that all functions of a workflow share.

    Attributes:
        state: storage of execution state.
        layers: runtime and definition, for each Python, in the workflow's stack.
        failure_queue: dead-letter queue.
        activities: queues by activity name.
        timer: timer queue; None if no event waits.
        sweep: search for stalled executions; None for none.
        is_guarded: True if deployments are checked for running executions.
    """

    state: State
    layers: WorkflowLayers
    failure_queue: sqs.Queue
    activities: Mapping[str, sqs.Queue]
    timer: WorkflowTimer | None
    sweep: Sweep | None
    is_guarded: bool


def new_shared_resources(workflow: Construct, options: WorkflowOptions, wired: WiredProgram) -> SharedResources:
    """Make the resources that the functions of `wired` share, in `workflow`.

    Raises:
        ConstructError: an option contradicts another, or a resource that the user has given.
    """
    compiled, hosts, key = wired.program.workflow, wired.program.hosts.values(), options.encryption_key
    storage = options.store.storage_for(
        workflow,
        options.name,
        name=cross_stack.fixed_name(workflow, options.store.purpose, hosts),
        encryption_key=key,
    )
    plane, swept = options.control_plane, _checked_sweep(workflow, options, storage, hosts)
    sweep, events = checked_events(workflow, options.runtime.events, swept, hosts)
    traces = trace_user_code(workflow, options.groups.monitoring.opentelemetry, hosts)
    in_vpc = options.groups.own_functions.vpc is not None
    guarded = is_guarded(workflow, storage, options.decision, is_in_vpc=in_vpc)
    facts = LayerFacts(
        compiled,
        in_bucket=storage.in_bucket,
        traces=traces,
        events=events is not None,
        keeps_timer=options.kept.timer or options.kept.schedules,
    )
    layers = WorkflowLayers(workflow, facts=facts, python=wired.provision.python)
    failure_queue = new_dead_letter_queue(workflow, "Failures", key) if plane is None else plane.failure_queue
    return SharedResources(
        layers=layers,
        failure_queue=failure_queue,
        activities=new_activities(workflow, "Activities", compiled, key, kept=options.kept.activities),
        timer=_new_timer(workflow, options, wired, layers, failure_queue),
        state=_new_state(workflow, options, wired, storage),
        sweep=sweep,
        is_guarded=guarded,
    )


def _checked_sweep(
    workflow: Construct, options: WorkflowOptions, storage: Storage, hosts: Iterable[Host]
) -> Sweep | None:
    """Return the search for stalled executions, of the workflow's own or of its control plane."""
    if options.control_plane is None:
        return options.sweep and options.sweep.checked(workflow, storage, hosts)
    swept = options.control_plane.swept
    if swept is not None:
        swept.check_workflow(workflow, storage, hosts)
    return swept


def _new_timer(
    workflow: Construct,
    options: WorkflowOptions,
    wired: WiredProgram,
    layers: WorkflowLayers,
    failure_queue: sqs.Queue,
) -> WorkflowTimer | None:
    compiled, kept = wired.program.workflow, options.kept
    if not has_timer(layers.facts):
        return None
    return WorkflowTimer(
        workflow,
        "Timer",
        layers=layers,
        provision=wired.provision,
        failure_queue=failure_queue,
        targets=dict.fromkeys(wired.known.values()),
        queue_name=cross_stack.fixed_name(workflow, "timer", wired.program.hosts.values()),
        waits_long=waits_long(compiled) or kept.schedules,
    )


def _new_state(workflow: Construct, options: WorkflowOptions, wired: WiredProgram, storage: Storage) -> State:
    data = options.groups.execution_data
    result_retention_s = data.result_retention_s(workflow)
    bucket = payload_bucket_for(
        workflow,
        compiled=wired.program.workflow,
        payload=data.payload,
        bucket=data.payload_bucket or storage.payload_bucket(data.payload),
        key=storage.encryption_key,
        retention_s=result_retention_s,
        name=cross_stack.fixed_name(workflow, cross_stack.BUCKET, wired.program.hosts.values()),
    )
    storage.expire(workflow, options.name, result_retention_s)
    return State(
        storage=storage,
        payload_bucket=bucket,
        retention_s=data.history_retention_s(workflow, result_retention_s),
        result_retention_s=result_retention_s,
    )
