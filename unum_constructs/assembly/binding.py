"""What a workflow runs: its definition, compiled for its functions.

All that can be wrong with these two together is found here, before there is any resource but the function that calls
services.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from aws_cdk import Annotations
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_compiler.definition import Definition
from unum_compiler.options import FunctionOptions
from unum_compiler.parsing.task_resources import SERVICES
from unum_compiler.services.started_workflows import started_machine
from unum_constructs.assembly.wiring import one_key_each
from unum_constructs.assembly.wrapping import hosts_of
from unum_constructs.cdk.lookup import arn_of
from unum_constructs.errors import ConstructError
from unum_constructs.hosting.host import Host
from unum_constructs.resources.own_functions import Provision
from unum_runtime.errors import DefinitionError
from unum_runtime.model.ir import Workflow


class Other(NamedTuple):
    """Another workflow of the app: a token of the ARN of its start alias, and its functions."""

    start_alias: str
    hosts: Collection[Host]


@dataclass(frozen=True, kw_only=True)
class Program:
    """A definition and its functions.

    Attributes:
        workflow: the definition, compiled.
        bound: the definition, for what only the deployment knows of it.
        hosts: the functions by key.
        started: the workflows that Tasks start, by the placeholder that stands for their start alias.
    """

    workflow: Workflow
    bound: Definition
    hosts: dict[str, Host]
    started: Mapping[str, Other]

    def with_services(self, construct: Construct, workflow: Workflow, provision: Provision) -> "Program":
        """`workflow` in place of the own one, with one key for each function.

        The function that calls services is made if Tasks need it.
        """
        hosts = self.hosts
        if any(task.function == SERVICES for task in workflow.tasks):
            from unum_constructs.assembly.service_grants import report_wide  # noqa: PLC0415 - loads the models of all services

            hosts = {**hosts, SERVICES: provision.services(construct, "Services")}
            for other in self.started.values():
                hosts[SERVICES].references.update(other.hosts)
            report_wide(construct, workflow, self.started)
        return replace(self, workflow=one_key_each(workflow, hosts), hosts=hosts)

    def check_use(self, construct: Construct) -> None:
        """Stop if a function has nothing to do, or would do it for two workflows of one name.

        Raises:
            ConstructError: that is so.
        """
        used, name = {self.hosts[task.function] for task in self.workflow.tasks}, self.workflow.name
        for key, host in self.hosts.items():
            if host not in used:
                raise ConstructError(
                    construct, f"functions[{key!r}]: no Task of the definition names it; remove it, or name it"
                )
            if host.serves(name):
                raise ConstructError(
                    construct,
                    f"functions[{key!r}]: takes part in another workflow called {name!r}; change `workflow_name`",
                )


def compiled(
    construct: Construct,
    definition: Definition,
    functions: Mapping[str, lambda_.Function],
    *,
    name: str,
    options: Mapping[str, FunctionOptions],
    others: Iterable[Other],
) -> Program:
    """The program of `definition` with `functions`.

    Args:
        construct: the workflow.
        definition: what it does.
        functions: by the keys that Tasks name them with.
        name: the workflow's.
        options: of functions by key, of all that the definition may name.
        others: the workflows that Tasks may start; asked for if there are any such Tasks.

    Raises:
        ConstructError: a function cannot be wrapped.
        DefinitionError: the definition cannot be compiled.
    """
    hosts = hosts_of(construct, functions)
    bound = definition.bind({arn_of(hosts[key].function): key for key in functions})
    try:
        workflow = bound.compile(name, functions.keys(), options)
    except DefinitionError as error:
        path = construct.node.path
        problems = tuple(replace(each, path=f"{path}: {each.path}") for each in error.problems)
        raise DefinitionError(problems) from error
    for warned in bound.warnings():
        Annotations.of(construct).add_warning_v2(f"unum:{warned.code}[{warned.path}]", str(warned))
    return Program(workflow=workflow, bound=bound, hosts=hosts, started=_started(workflow, bound, others))


def _started(workflow: Workflow, bound: Definition, others: Iterable[Other]) -> Mapping[str, Other]:
    named = {started_machine(task) for task in workflow.tasks}
    wanted = {value: text for text, value in ((f"${{{name}}}", value) for name, value in bound.values.items())}
    wanted = {value: text for value, text in wanted.items() if text in named}
    if not wanted:
        return {}
    return {wanted[other.start_alias]: other for other in others if other.start_alias in wanted}
