"""A workflow as a construct: the table, the layer, the wrapped functions, their permissions, and the start alias."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aws_cdk import CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_constructs import permissions
from unum_constructs.compiler.edges import ENTRY, recursive_functions
from unum_constructs.compiler.options import FunctionOptions
from unum_constructs.definition import Definition
from unum_constructs.entry import entry_host
from unum_constructs.errors import ConstructError
from unum_constructs.host import Failures, async_configuration
from unum_constructs.layer import WorkflowLayer
from unum_constructs.resource import resource_of
from unum_constructs.settings import (
    check_leases,
    checked_attempts,
    checked_event_age_s,
    checked_hop_budget,
    checked_name,
    checked_retention_s,
    options_of,
)
from unum_constructs.store import checked_table, new_table
from unum_constructs.wiring import one_key_each, operations, wire
from unum_constructs.wrapping import hosts_of
from unum_runtime.errors import DefinitionError
from unum_runtime.model.ir import DEFAULT_HOP_BUDGET, Collection, Workflow

FAILURES_KEPT_DAYS = 14
"""The most that SQS allows. Source: Amazon SQS API Reference, SetQueueAttributes, MessageRetentionPeriod."""


class UnumWorkflow(Construct):
    """A workflow of Lambda functions without an orchestrator.

    It puts a layer with runtime and definition on the functions, redirects their handlers to it, and lets each invoke
    exactly those that follow it. Executions start through the start alias, by `unum_runtime.client` or by any event
    source, whose event is then the input.

    Args:
        scope: the construct around it.
        construct_id: its id.
        definition: what the workflow does.
        functions: functions by the key that Tasks name them with. The same function may be there under several keys,
            and in several workflows of the stack.
        function_options: options of functions by key, for those that are no `UnumFunction`, or that are to have others
            in this workflow than they have by themselves.
        workflow_name: 1 to 80 characters from ``A-Z a-z 0-9 - _``; made from the construct's path where there is none.
        retention: how long the state of executions is kept, more than 8 hours; an execution must end within it.
            7 days where it is not given.
        table: your own table, with the keys ``pk`` and ``sk``, both strings, and expiry in ``ttl``. Names of workflows
            that share a table must differ.
        removal_policy: of the table that is made. By default it goes with the stack, as what it has is temporary.
        max_event_age: how long Lambda tries to deliver an event, 1 minute to 6 hours; 6 hours where it is not given.
        retry_attempts: how often Lambda delivers an event again when the delivery failed, 0 to 2; twice where it is
            not given.
        entry_architecture: of the entry function, which there is only where the workflow begins with no Task.
        collection: when outcomes go that nobody can need any more: with their expiry, which costs nothing, or at once.
        hop_budget: how many steps may lie between the start and any other, so that a loop which never ends fails.

    Raises:
        ConstructError: an argument cannot be used; says which and why.
        DefinitionError: the definition cannot be compiled; carries every problem with its JSON path.

    Attributes:
        workflow_name: its name, in events and in the table.
        table: the state of executions.
        layer: runtime and definition.
        failure_queue: events that Lambda could not deliver, for 14 days. A function of several workflows sends its
            events to the queue of the first.
        start_alias: the only way in.
    """

    def __init__(  # noqa: PLR0913 - one keyword for each option, as everywhere in the CDK
        self,
        scope: Construct,
        construct_id: str,
        *,
        definition: Definition,
        functions: Mapping[str, lambda_.Function],
        function_options: Mapping[str, FunctionOptions] | None = None,
        workflow_name: str | None = None,
        retention: Duration | None = None,
        table: dynamodb.ITable | None = None,
        removal_policy: RemovalPolicy = RemovalPolicy.DESTROY,
        max_event_age: Duration | None = None,
        retry_attempts: int | None = None,
        entry_architecture: lambda_.Architecture | None = None,
        collection: Collection = Collection.TTL,
        hop_budget: int = DEFAULT_HOP_BUDGET,
    ) -> None:
        super().__init__(scope, construct_id)
        self.workflow_name = checked_name(self, workflow_name)
        self._retention_s = checked_retention_s(self, retention)
        limits = {
            "max_event_age_s": checked_event_age_s(self, max_event_age),
            "retry_attempts": checked_attempts(self, retry_attempts),
        }
        self._hosts = hosts_of(self, functions)
        options = options_of(self, functions, function_options or {})
        compiled = replace(
            self._compiled(definition, functions, options),
            collection=collection,
            hop_budget=checked_hop_budget(self, hop_budget),
        )
        self._workflow = one_key_each(compiled, self._hosts)
        check_leases(self, self._workflow, **limits)
        self._check_use()
        self._wiring = wire(self._workflow, self._hosts)
        if self._wiring.start == ENTRY:
            self._hosts[ENTRY] = entry_host(self, "Entry", entry_architecture or lambda_.Architecture.ARM_64)

        self.table = checked_table(self, table) if table else new_table(self, "Table", removal_policy)
        self.layer = WorkflowLayer(self, "Layer", workflow=self._workflow)
        self.failure_queue = _failure_queue(self, "Failures")
        self.start_alias = self._start_alias(Failures(queue=self.failure_queue, **limits))
        self._add_outputs()

    def grant_start(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` start executions by `unum_runtime.client`: write a start record, invoke the start alias."""
        return permissions.grant_start(
            grantee, start_alias=self.start_alias, table=self.table, workflow=self.workflow_name
        )

    def grant_read(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` describe executions, wait for them, and list their steps, by `unum_runtime.client`."""
        return permissions.grant_read(grantee, table=self.table)

    def _compiled(
        self,
        definition: Definition,
        functions: Mapping[str, lambda_.Function],
        options: Mapping[str, FunctionOptions],
    ) -> Workflow:
        keys = {function.function_arn: key for key, function in functions.items()}
        try:
            return definition.bind(keys).compile(self.workflow_name, functions.keys(), options)
        except DefinitionError as error:
            path = self.node.path
            raise DefinitionError(
                tuple(replace(each, path=f"{path}: {each.path}") for each in error.problems)
            ) from error

    def _check_use(self) -> None:
        """Stop if a function has nothing to do, or would do it for two workflows of one name."""
        used = {self._hosts[task.function] for task in self._workflow.tasks}
        for key, host in self._hosts.items():
            if host not in used:
                raise ConstructError(
                    self, f"functions[{key!r}]: no Task of the definition names it; remove it, or name it"
                )
            if host.serves(self.workflow_name):
                name = self.workflow_name
                raise ConstructError(
                    self, f"functions[{key!r}]: takes part in another workflow called {name!r}; change `workflow_name`"
                )

    def _start_alias(self, failures: Failures) -> lambda_.Alias:
        """Make every function a part of the workflow; the alias comes last, when everything is allowed."""
        scope = Construct(self, "Permissions")
        policies = {key: self._join(scope, key, failures) for key in self._wiring.edges}
        host = self._hosts[self._wiring.start]
        alias = lambda_.Alias(self, "Start", alias_name=self._alias_name, version=host.version)
        alias.node.add_dependency(*policies.values())
        configuration = async_configuration(alias, failures, qualifier=self._alias_name)
        configuration.add_resource_dependency(resource_of(alias, lambda_.CfnAlias))  # which the name alone does not say
        return alias

    def _join(self, scope: Construct, key: str, failures: Failures) -> iam.Policy:
        """Make the function `key` a part of the workflow; what allows it to be one."""
        host = self._hosts[key]
        is_first = host.claim_failures(failures)
        policy = permissions.allow(
            scope,
            key,
            host,
            invoked=[self._hosts[target] for target in self._wiring.edges[key]],
            table=self.table,
            operations=operations(self._workflow, self._wiring, key),
            failure_queue=self.failure_queue if is_first or key == self._wiring.start else None,
        )
        if is_first:
            host.send_failures(failures, after=policy)
        if key in recursive_functions(self._workflow):
            host.allow_recursion()
        host.serve(self.workflow_name, self.layer, self._service(key))
        return policy

    def _service(self, key: str) -> Mapping[str, Any]:
        """What `unum_runtime.handler.Service` says for the function `key`."""
        service = {
            "table": self.table.table_name,
            "hosts": [] if key == ENTRY else [key],
            "routes": {target: self._hosts[target].version_arn for target in self._wiring.references[key]},
            "retention_s": self._retention_s,
        }
        if key != self._wiring.start:
            return service
        return service | {"carried": list(self._wiring.carried), "start_alias": self._alias_name}

    @property
    def _alias_name(self) -> str:
        return f"start-{self.workflow_name}"

    def _add_outputs(self) -> None:
        """Tell clients and the command line, by the stack's outputs, where the workflow is."""
        name = self.workflow_name
        self._add_output("StartAlias", self.start_alias.function_arn, f"Start alias of workflow {name}")
        self._add_output("Table", self.table.table_name, f"Table of workflow {name}")
        self._add_output("Workflow", name, "Name of the workflow")
        self._add_output("Retention", str(self._retention_s), f"Seconds that workflow {name} keeps its state")

    def _add_output(self, kind: str, value: str, description: str) -> None:
        output = CfnOutput(self, f"{kind}Output", value=value, description=description)
        path = self.node.path.removeprefix(Stack.of(self).node.path)
        output.override_logical_id(re.sub(r"[^A-Za-z0-9]", "", path) + kind)


def _failure_queue(scope: Construct, construct_id: str) -> sqs.Queue:
    return sqs.Queue(
        scope,
        construct_id,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        retention_period=Duration.days(FAILURES_KEPT_DAYS),
    )
