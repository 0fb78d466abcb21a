"""Functions that act in place of any other, and the aliases that make a workflow reachable."""

from typing import Any, NamedTuple

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs.assembly.function_settings import Assembly
from unum_constructs.assembly.shared_resources import SharedResources
from unum_constructs.cdk.lookup import arn_of, resource_of
from unum_constructs.control_plane import UnumControlPlane
from unum_constructs.hosting.host import Failures
from unum_constructs.resources.control_function import DIRECTORY, ControlFunction
from unum_constructs.resources.deployment_guard import DeploymentGuard, policies_of
from unum_constructs.resources.failure_handling import FailureHandler
from unum_constructs.resources.plane_members import WorkflowControl, WorkflowIntake
from unum_constructs.sweep import WorkflowSweep
from unum_runtime.protocol.control.control_aliases import ControlAlias
from unum_runtime.protocol.control.deletions.removal import PARTS, WORKFLOWS


class PlanningFunctions(NamedTuple):
    """Control function and failure handler of a workflow, or its parts of those that workflows share."""

    control: ControlFunction | WorkflowControl
    failure_handler: FailureHandler | WorkflowIntake


def new_planning_functions(
    workflow: Construct, assembly: Assembly, shared: SharedResources, plane: UnumControlPlane | None
) -> PlanningFunctions:
    """Make control function and failure handler, which may act in place of any function of `assembly`."""
    name = assembly.workflow.name
    if plane is not None:
        return _join(workflow, assembly, plane)
    common: Any = {
        "workflow_name": name,
        "service": assembly.service_of_handler(),
        "layers": assembly.layers,
        "provision": assembly.wired.provision,
        "dead_letters": shared.failure_queue,
    }
    directory = {"UNUM_DIRECTORY": DIRECTORY}
    control = ControlFunction(workflow, "ControlFunction", environment=directory, **common)
    handler = FailureHandler(workflow, "OnFailure", control=control, **common)
    assembly.allow_handler(handler, control)
    return PlanningFunctions(control, handler)


def _join(workflow: Construct, assembly: Assembly, plane: UnumControlPlane) -> PlanningFunctions:
    """Let the function of `plane` act in place of any function of `assembly`."""
    name, has_one_role = assembly.workflow.name, assembly.has_one_role
    service = assembly.service_of_handler() | ({"takes_starts": True} if has_one_role else {})
    plane.shared.join(workflow, name, service, assembly.layers)
    common: Any = {"shared": plane.shared, "workflow_name": name}
    control = WorkflowControl(workflow, "Control", **common)
    starts_in = arn_of(assembly.hosts[assembly.wiring.start].function)
    handler = WorkflowIntake(workflow, "Intake", starts_in=starts_in, takes_starts=has_one_role, **common)
    assembly.allow_handler(handler, control)
    return PlanningFunctions(control, handler)


def add_guard(
    workflow: Construct, assembly: Assembly, shared: SharedResources, planning: PlanningFunctions, partitions: str
) -> None:
    """Let CloudFormation ask the control function about deployments, if they are checked.

    Args:
        workflow: the workflow.
        assembly: its functions.
        shared: its shared resources.
        planning: control function and failure handler.
        partitions: partition key prefix of executions.
    """
    if not shared.is_guarded:
        return
    # The sweep has the same permission.
    listing = shared.state.storage.list_statements(partitions) if shared.sweep is None else ()
    control, name = planning.control, assembly.workflow.name
    # CloudFormation allows no other function for a custom resource later, so one of each function has its own id.
    construct_id = "Guard"
    properties: dict[str, Any] = {PARTS: assembly.parts}
    if isinstance(control, WorkflowControl):
        construct_id, properties = f"Guard{control.function.node.addr[-8:]}", {WORKFLOWS: {name: assembly.parts}}
    guard = DeploymentGuard(workflow, construct_id, control=control, properties=properties, listing=listing)
    guard.precede(policies_of(planning.control, planning.failure_handler))


def new_start_alias(
    workflow: Construct, assembly: Assembly, failures: Failures, planning: PlanningFunctions
) -> lambda_.Alias:
    """Connect every function to the workflow, then make the start alias.

    The alias depends on all policies: an execution that started earlier could meet a function without permissions.
    """
    control, handler, timer = planning.control, planning.failure_handler, assembly.timer
    policies = assembly.connect_all(workflow, failures, control)
    if isinstance(handler, WorkflowIntake):
        for policy in policies:
            # The destination of failed events, which functions name by text, must exist before their configurations.
            policy.node.add_dependency(handler)
    if timer:
        timer.report_failures(dict.fromkeys((handler, *assembly.first_handlers)))
    version = assembly.hosts[assembly.wiring.start].version
    alias = lambda_.Alias(workflow, "Start", alias_name=assembly.start_alias, version=version)
    ready = (*handler.ready, control.policy, control.failures)
    resource_of(alias, lambda_.CfnAlias).node.add_dependency(*policies, *ready, *([timer] if timer else ()))
    return alias


def new_sweep(
    workflow: Construct,
    shared: SharedResources,
    control: ControlFunction | WorkflowControl,
    partitions: str,
    plane: UnumControlPlane | None,
) -> WorkflowSweep | None:
    """Make the schedule of the search for stalled executions, or return that of `plane`; None if there is none.

    Args:
        workflow: the workflow.
        shared: its shared resources.
        control: control function, which searches.
        partitions: partition key prefix of executions.
        plane: control plane that other workflows share; None for one of the workflow's own.
    """
    if shared.sweep is None:
        return None
    control.policy.add_statements(*shared.state.storage.list_statements(partitions))
    if plane is not None:
        return plane.sweep
    return WorkflowSweep(
        workflow,
        "Sweep",
        options=shared.sweep,
        alias=control.aliases[ControlAlias.SWEEP],
        policy=control.policy,
        dead_letters=shared.failure_queue,
    )
