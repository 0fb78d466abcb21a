"""Functions that act in place of any other, and the aliases that make a workflow reachable."""

from typing import Any, NamedTuple

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs.assembly.function_settings import Assembly
from unum_constructs.assembly.shared_resources import SharedResources
from unum_constructs.cdk.lookup import resource_of
from unum_constructs.hosting.host import Failures
from unum_constructs.resources.control_function import DIRECTORY, ControlFunction
from unum_constructs.resources.deployment_guard import DeploymentGuard, policies_of
from unum_constructs.resources.failure_handling import FailureHandler
from unum_constructs.sweep import WorkflowSweep
from unum_runtime.model.naming import control_alias_name


class PlanningFunctions(NamedTuple):
    """Control function and failure handler of a workflow."""

    control: ControlFunction
    failure_handler: FailureHandler


def new_planning_functions(workflow: Construct, assembly: Assembly, shared: SharedResources) -> PlanningFunctions:
    """Make control function and failure handler, which may act in place of any function of `assembly`."""
    name = assembly.workflow.name
    common: Any = {
        "workflow_name": name,
        "service": assembly.service_of_handler(),
        "layers": assembly.layers,
        "provision": assembly.wired.provision,
        "dead_letters": shared.failure_queue,
    }
    directory = {"UNUM_DIRECTORY": control_alias_name(DIRECTORY, name)}
    control = ControlFunction(workflow, "ControlFunction", environment=directory, **common)
    handler = FailureHandler(workflow, "OnFailure", control=control, **common)
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
    guard = DeploymentGuard(workflow, "Guard", control=planning.control, parts=assembly.parts, listing=listing)
    guard.precede(policies_of(planning.control, planning.failure_handler))


def new_start_alias(
    workflow: Construct, assembly: Assembly, failures: Failures, planning: PlanningFunctions
) -> lambda_.Alias:
    """Connect every function to the workflow, then make the start alias.

    The alias depends on all policies: an execution that started earlier could meet a function without permissions.
    """
    control, handler, timer = planning.control, planning.failure_handler, assembly.timer
    policies = assembly.connect_all(workflow, failures, control)
    if timer:
        timer.report_failures(dict.fromkeys((handler, *assembly.first_handlers)))
    version = assembly.hosts[assembly.wiring.start].version
    alias = lambda_.Alias(workflow, "Start", alias_name=assembly.start_alias, version=version)
    ready = (*handler.ready, control.policy, control.failures)
    resource_of(alias, lambda_.CfnAlias).node.add_dependency(*policies, *ready, *([timer] if timer else ()))
    return alias


def new_sweep(
    workflow: Construct, shared: SharedResources, control: ControlFunction, partitions: str
) -> WorkflowSweep | None:
    """Make the schedule of the search for stalled executions; None if there is none.

    Args:
        workflow: the workflow.
        shared: its shared resources.
        control: control function, which searches.
        partitions: partition key prefix of executions.
    """
    if shared.sweep is None:
        return None
    listing, failure_queue = shared.state.storage.list_statements(partitions), shared.failure_queue
    return WorkflowSweep(
        workflow, "Sweep", options=shared.sweep, listing=listing, control=control, dead_letters=failure_queue
    )
