"""Compilation of a definition for its functions.

Problems of the two are found here, before any resource exists except the service function.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from aws_cdk import Annotations
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_compiler.analysis.edges import ENTRY
from unum_compiler.definition import Definition
from unum_compiler.lambda_settings import service_memory_mb
from unum_compiler.lowering.lower import called_keys, with_calls
from unum_compiler.options import FunctionOptions
from unum_compiler.parsing.task_resources import SERVICES
from unum_compiler.services.started_workflows import started_machine
from unum_constructs.assembly.handler_keys import check_keys, keys_by_arn, with_handlers
from unum_constructs.assembly.invoked_functions import all_called, check_regions, reasons_for_calls, report_calls
from unum_constructs.assembly.other_workflows import OtherWorkflow
from unum_constructs.assembly.wiring import with_one_key_each
from unum_constructs.assembly.wrapping import hosts_of
from unum_constructs.cdk.lookup import arn_of, name_of, path_of
from unum_constructs.errors import ConstructError
from unum_constructs.hosting.host import Host
from unum_constructs.resources.own_functions import Provision
from unum_constructs.resources.upgrades import Keep
from unum_runtime.errors import DefinitionError
from unum_runtime.model.ir import Workflow


@dataclass(frozen=True, kw_only=True)
class Program:
    """Compiled definition with its functions.

    Attributes:
        workflow: compiled definition.
        bound: definition with names in place of CDK tokens, and the values of these names.
        hosts: functions with the runtime by key.
        called: functions that Tasks call instead, by key.
        started: workflows that Tasks start, by the placeholder of their start alias.
        kept: keys of functions without a Task, which stay for executions of earlier definitions.
    """

    workflow: Workflow
    bound: Definition
    hosts: dict[str, Host]
    called: Mapping[str, lambda_.IFunction]
    started: Mapping[str, OtherWorkflow]
    kept: frozenset[str] = frozenset()

    @property
    def parts(self) -> tuple[Workflow, dict[str, Host], Mapping[str, lambda_.IFunction]]:
        """Return the compiled definition, its hosts, and the functions that it calls."""
        return self.workflow, self.hosts, self.called

    def with_kept(self, construct: Construct, keep: Keep) -> "Program":
        """Add the functions of `keep`; activities need the service function, which sends Tasks to them.

        Raises:
            ConstructError: a function or key belongs to a Task, or a function cannot be wrapped.
        """
        added, used = hosts_of(construct, keep.functions, "upgrades.keep.functions"), {*self.hosts.values()}
        for key, host in added.items():
            if key in self.hosts or host in used:
                raise ConstructError(
                    construct,
                    f"upgrades.keep.functions[{key!r}]: expected a function without a Task, got one of `functions`",
                )
        services = {SERVICES} if keep.activities else set()
        return replace(self, hosts={**self.hosts, **added}, kept=frozenset(added.keys() | services))

    def with_services(self, construct: Construct, workflow: Workflow, provision: Provision) -> "Program":
        """Replace the compiled definition, and add the service function if a Task requests a service.

        Each function keeps one key; see `with_one_key_each`.
        """
        hosts = self.hosts
        if SERVICES in self.kept or any(task.function == SERVICES for task in workflow.tasks):
            from unum_constructs.assembly.service_grants import warn_of_wide_permissions  # noqa: PLC0415 - loads all service models

            memory_mb = service_memory_mb(workflow)
            hosts = {**hosts, SERVICES: provision.new_service_function(construct, "Services", memory_mb)}
            for other in self.started.values():
                # Through start aliases, the service function depends on all functions of the other workflows.
                hosts[SERVICES].references.update(other.hosts)
            warn_of_wide_permissions(construct, workflow, self.started, self.bound.declared)
        workflow = with_handlers(construct, workflow, hosts)
        return replace(self, workflow=with_one_key_each(workflow, hosts), hosts=hosts)

    def with_entry(self, entry: Host) -> "Program":
        """Add `entry` as the function that executions start in."""
        return replace(self, hosts={**self.hosts, ENTRY: entry})

    def check_use(self, construct: Construct) -> None:
        """Raise if a function lacks a Task, or serves another workflow of equal name.

        Raises:
            ConstructError: names the key.
        """
        hosts = {self.hosts[task.function] for task in self.workflow.tasks}
        unused = [key for key, host in self.hosts.items() if host not in hosts and key not in self.kept]
        # A chain gives its functions keys of its own, so a function may have another key without a Task.
        # By path: an imported function may be several objects in Python.
        named = {path_of(self.called[key]) for key in called_keys(self.workflow) & self.called.keys()}
        unused += [key for key, function in self.called.items() if path_of(function) not in named]
        for key in unused:
            raise ConstructError(
                construct,
                f"functions[{key!r}]: expected a Task that names it, found none; remove the key, name it, or give it "
                "in `upgrades.keep`",
            )
        name = self.workflow.name
        for key, host in self.hosts.items():
            if host.serves(name):
                raise ConstructError(
                    construct,
                    f"functions[{key!r}]: already belongs to another workflow named {name!r}; change `workflow_name`",
                )


def compile_program(
    construct: Construct,
    definition: Definition,
    functions: Mapping[str, lambda_.IFunction],
    *,
    name: str,
    options: Mapping[str, FunctionOptions],
    others: Iterable[OtherWorkflow],
) -> Program:
    """Compile `definition` with `functions`.

    Args:
        construct: the workflow.
        definition: states of the workflow.
        functions: functions by the key that Tasks name.
        name: workflow name.
        options: options of functions by key, for all keys that the definition may name.
        others: workflows that Tasks may start; read only if a Task starts one.

    Raises:
        ConstructError: a function cannot be wrapped.
        DefinitionError: the definition does not compile; paths begin with the construct's path.
    """
    reasons = reasons_for_calls(construct, functions)
    check_keys(construct, functions, reasons)
    keys = keys_by_arn(functions)
    # `lambda:invoke` allows names beside ARNs. Each name costs a request to the CDK's process, so only if one may be
    # used.
    if "FunctionName" in definition.text:
        keys |= {name_of(function): keys[arn_of(function)] for function in functions.values()}
    bound = definition.bind(keys)
    try:
        workflow = bound.compile(name, functions.keys(), options, reasons.keys())
    except DefinitionError as error:
        path = construct.node.path
        # Problems are relative to the definition; users need the construct's path to find it in a large app.
        problems = tuple(replace(each, path=f"{path}: {each.path}") for each in error.problems)
        raise DefinitionError(problems) from error
    for warned in bound.warnings():
        # The id contains the path, so that users acknowledge each warning by itself.
        Annotations.of(construct).add_warning_v2(f"unum:{warned.code}[{warned.path}]", str(warned))
    called = all_called(functions, called_keys(workflow) | reasons.keys())
    workflow = with_calls(workflow, called)
    hosted = {key: each for key, each in functions.items() if key not in called and isinstance(each, lambda_.Function)}
    check_regions(construct, workflow)
    report_calls(construct, workflow, reasons)
    return Program(
        workflow=workflow,
        bound=bound,
        hosts=hosts_of(construct, hosted),
        called=called,
        started=_started_workflows(workflow, bound, others),
    )


def _started_workflows(
    workflow: Workflow, bound: Definition, others: Iterable[OtherWorkflow]
) -> Mapping[str, OtherWorkflow]:
    named = {started_machine(task) for task in workflow.tasks}
    wanted = {value: text for text, value in ((f"${{{name}}}", value) for name, value in bound.values.items())}
    wanted = {value: text for value, text in wanted.items() if text in named}
    if not wanted:
        return {}
    return {wanted[other.start_alias]: other for other in others if other.start_alias in wanted}
