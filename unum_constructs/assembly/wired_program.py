"""Compiled definition with functions that know each other."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import jsii
from aws_cdk import CfnResource, Stack
from constructs import Construct, IConstruct, IValidation

from unum_compiler.analysis.edges import ENTRY
from unum_constructs.assembly import cross_stack
from unum_constructs.assembly.binding import Program, compile_program
from unum_constructs.assembly.checked_options import WorkflowOptions
from unum_constructs.assembly.cross_stack import CrossStackFunction
from unum_constructs.assembly.other_workflows import OtherWorkflow
from unum_constructs.assembly.wiring import Wiring, wire
from unum_constructs.cdk.lookup import node_of, path_of, stack_of
from unum_constructs.hosting.host import Host
from unum_constructs.resources.own_functions import Provision

# Check of the stack's number of resources against CloudFormation's quota.
#
# The CDK checks the quota as well, but reports only counts by resource type, without a remedy.

MOST_RESOURCES = 500
"""Source: AWS CloudFormation User Guide, "Understand CloudFormation quotas"."""

MANY_FUNCTIONS = 55
"""Functions of one workflow from which the stack is counted; smaller ones skip the slow walk over all constructs."""


def check_size(workflow: IConstruct, functions: int) -> None:
    """Count the stack's resources at the end of synthesis, for workflows with many functions."""
    if functions > MANY_FUNCTIONS:
        node_of(workflow).add_validation(_Fits(stack_of(workflow), functions))


@jsii.implements(IValidation)
class _Fits:
    def __init__(self, stack: Stack, functions: int) -> None:
        self._stack = stack
        self._functions = functions

    def validate(self) -> list[str]:
        resources = _resources(self._stack)
        if resources <= MOST_RESOURCES:
            return []
        what = f"its stack {path_of(self._stack)!r} has {resources} resources, of {self._functions} functions of this"
        remedy = "make functions in nested stacks (`NestedStack`), or let one function host several Tasks"
        return [f"{what} workflow and of others; CloudFormation allows {MOST_RESOURCES}: {remedy}"]


def _resources(stack: Stack) -> int:
    """Return the number of resources in the template of `stack`, without nested stacks."""
    own = (each for each in node_of(stack).find_all() if isinstance(each, CfnResource))
    return sum(path_of(stack_of(each)) == path_of(stack) for each in own)


@dataclass(frozen=True, kw_only=True)
class WiredProgram:
    """Program with planned references between functions.

    Attributes:
        program: compiled definition, with functions by key, `ENTRY` and `SERVICES` included.
        wiring: invocations and references between the functions.
        known: the functions by key, as known in the workflow's stack.
        provision: arguments of functions that the workflow makes, with the newest Python among the others.
    """

    program: Program
    wiring: Wiring
    known: Mapping[str, Host | CrossStackFunction]
    provision: Provision


def wire_program(workflow: Construct, options: WorkflowOptions, others: Iterable[OtherWorkflow]) -> WiredProgram:
    """Compile the definition, bind it to its functions, and plan references between them.

    The service function and the entry function are made if needed.

    Args:
        workflow: the workflow.
        options: its options.
        others: workflows that Tasks may start; read only if a Task starts one.

    Raises:
        ConstructError: a function cannot be used, or an option contradicts the definition.
        DefinitionError: the definition does not compile.
    """
    functions, by_key = options.every_function(), options.options_by_key(workflow)
    program = compile_program(
        workflow, options.definition, functions, name=options.name, options=by_key, others=others
    ).with_kept(workflow, options.kept)
    provision = options.provision.with_python_of(host.function for host in program.hosts.values())
    program = program.with_services(workflow, options.apply_to(workflow, program.workflow), provision)
    program.check_use(workflow)
    here = path_of(stack_of(workflow))
    wiring = wire(program.workflow, program.hosts, stack=here)
    if wiring.start == ENTRY:
        program = program.with_entry(provision.new_entry(workflow, "Entry"))
    hosts = program.hosts
    check_size(workflow, sum(host.stack == here for host in {*hosts.values()}))
    cross_stack.deploy_after(workflow, hosts.values())
    return WiredProgram(
        program=program,
        wiring=wiring.with_kept(program.kept),
        known=cross_stack.functions_known_to(workflow, hosts),
        provision=provision,
    )
