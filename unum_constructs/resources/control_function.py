"""Control function of a workflow: stops, redrives, forks, nudges and deletes executions, and looks for stalled ones.

It is a function apart from the failure handler, because functions of Tasks may invoke that one, and nobody but the
callers of its aliases may invoke this one.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from unum_constructs.cdk.lookup import resource_of
from unum_constructs.cdk.queues import KEPT_DAYS
from unum_constructs.cdk.storage import Storage
from unum_constructs.errors import ConstructError
from unum_constructs.hosting.host import async_configuration
from unum_constructs.resources import permissions
from unum_constructs.resources.planning_function import PlanningFunction
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import door_alias
from unum_runtime.model.states import SIGNAL
from unum_runtime.model.variants import callable_tasks
from unum_runtime.protocol.control.doors import SIGNAL_EVENTS, Door, call_door

DIRECTORY = Door.NUDGE
"""The door whose alias tells the start alias, in its description."""


class ControlFunction(PlanningFunction):
    """Function that carries out what operators ask of executions.

    Attributes:
        doors: its aliases, one for each kind of requests: ``stop``, ``redrive``, ``fork``, ``nudge``, ``delete``,
            ``pause``, ``memo``, one for each Task that can be called, ``signal`` if a Task waits for one, and ``sweep``
            if the workflow has a sweep.
        handler: failure handler, at which sweeps try records of failures again; set before `allow`.
    """

    HANDLER = "unum_runtime.control.handle"
    ID = "Function"
    DESCRIPTION = "Stops, redrives, forks, nudges and deletes executions of a workflow"

    doors: Mapping[str, lambda_.Alias]
    handler: permissions.HasFunction

    def trust(self, senders: Mapping[str, Any]) -> None:
        """Let a sweep deliver dead letters of trusted `senders` as they are."""
        self.function.add_environment("UNUM_SENDERS", self.function.stack.to_json_string(senders))

    def tell_kept(self, storage: Storage) -> None:
        """Tell the function how many days logs, backups of `storage` and queues keep data of deleted executions."""
        kept = {"queues": KEPT_DAYS, "logs": _days_of_logs(self.function), **storage.backup_days}
        self.function.add_environment("UNUM_KEPT", self.function.stack.to_json_string(kept))

    def retry_letters_of(self, remote_intake: str) -> None:
        """Let sweeps resend failed events of the function with ARN `remote_intake`."""
        self.policy.add_statements(permissions.invoke_exactly_statement([remote_intake]))
        self.function.add_environment("UNUM_REMOTE_INTAKE", remote_intake)

    def open(self, start_alias: lambda_.Alias, workflow: Workflow, *, sweeps: bool) -> None:
        """Make the doors that `workflow` needs."""
        waits = any((task.resource or "").startswith(SIGNAL) for task in workflow.tasks)
        self._start_alias = start_alias
        closed = {*(() if sweeps else (Door.SWEEP,)), *(() if waits else (Door.SIGNAL,))}
        kinds = [each for each in Door if each not in closed]
        doors: list[str] = [*kinds, *map(call_door, callable_tasks(workflow))]
        # The function reads the start alias in the description of `DIRECTORY` (GetAlias): as a variable, it would be a
        # circular reference. By this reference the doors depend on all that the start alias depends on.
        self.doors = {door: self._new_door(door, start_alias) for door in doors}

    def open_for_events(self, workflow: Construct) -> lambda_.Alias:
        """Return the alias that takes signals of event sources; make it for the first one.

        What it refuses goes to the failure queue after Lambda's retries.

        Raises:
            ConstructError: no Task of the workflow waits for a signal.
        """
        self.door(workflow, Door.SIGNAL)
        if SIGNAL_EVENTS not in self.doors:
            alias = self._new_door(SIGNAL_EVENTS, self._start_alias)
            failures = async_configuration(
                alias,
                function_name=self.function.function_name,
                qualifier=alias.alias_name,
                destination=self._dead_letters.queue_arn,
            )
            # The configuration names the alias by text, which CloudFormation takes for no dependency.
            failures.node.add_dependency(resource_of(alias, lambda_.CfnAlias), self.policy)
            self.doors = {**self.doors, SIGNAL_EVENTS: alias}
        return self.doors[SIGNAL_EVENTS]

    def _new_door(self, door: str, start_alias: lambda_.Alias) -> lambda_.Alias:
        return lambda_.Alias(
            self,
            door.capitalize(),
            alias_name=door_alias(door, self.workflow_name),
            version=self.version,
            description=start_alias.function_arn,
        )

    def door(self, workflow: Construct, door: str) -> lambda_.Alias:
        """Return the alias `door` for grants on `workflow`.

        Raises:
            ConstructError: no Task of the workflow waits for a signal, so it takes none.
        """
        if door == Door.SIGNAL and door not in self.doors:
            raise ConstructError(workflow, "signal: expected a definition with a Task that waits for one, got none")
        return self.doors[door]

    def _own_statements(self) -> Iterator[iam.PolicyStatement]:
        # The rest of long work goes to this version, and that of a long sweep to its alias. Dead letters go to the
        # failure handler.
        yield permissions.invoke_any_statement([self, self.handler])
        yield permissions.read_aliases_statement(self)


def _days_of_logs(function: lambda_.Function) -> float | None:
    """Return the retention of a function's logs, in days; None for no end."""
    group = function.log_group.node.default_child
    return group.retention_in_days if isinstance(group, logs.CfnLogGroup) else None


def door_arns(function_arn: str, workflow_name: str) -> Mapping[Door, str]:
    """Return the ARNs of the doors of the control function `function_arn`."""
    return {door: f"{function_arn}:{door_alias(door, workflow_name)}" for door in Door}
