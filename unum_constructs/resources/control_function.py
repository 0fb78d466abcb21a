"""Control function of a workflow: stops, redrives, forks, nudges and deletes executions, and looks for stalled ones.

It is a function apart from the failure handler, because functions of Tasks may invoke that one, and nobody but the
callers of its aliases may invoke this one.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, cast

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_constructs.cdk.lookup import resource_of
from unum_constructs.cdk.queues import KEPT_DAYS
from unum_constructs.cdk.storage import Storage
from unum_constructs.errors import ConstructError
from unum_constructs.function import UnumFunction
from unum_constructs.hosting.host import Failures, async_configuration
from unum_constructs.resources import permissions
from unum_constructs.resources.planning_function import PlanningFunction
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import control_alias_name
from unum_runtime.model.states import SIGNAL
from unum_runtime.model.variants import callable_tasks
from unum_runtime.protocol.control.control_aliases import SIGNAL_EVENTS, SYNC, ControlAlias, call_alias

DIRECTORY = ControlAlias.NUDGE
"""Kind of the alias that tells the start alias, in its description."""


class AliasesOnDemand(Mapping[str, lambda_.Alias]):
    """Aliases by kind, each of which is made when it is asked for first.

    Args:
        kinds: kinds that may be asked for.
        make: makes the alias of a kind.
    """

    def __init__(self, kinds: Iterable[str], make: Callable[[str], lambda_.Alias]) -> None:
        self._kinds, self._make, self._made = tuple(kinds), make, dict[str, lambda_.Alias]()

    def __getitem__(self, kind: str) -> lambda_.Alias:
        if kind not in self._kinds:
            raise KeyError(kind)
        if kind not in self._made:
            self._made[kind] = self._make(kind)
        return self._made[kind]

    def __contains__(self, kind: object) -> bool:
        return kind in self._kinds

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)


class PermanentAliases(NamedTuple):
    """Aliases of the control function that send on what arrives to those in which executions start.

    Attributes:
        start: takes events of event sources.
        run: takes starts by name.
    """

    start: lambda_.Alias
    run: lambda_.Alias


class ControlAliases:
    """Aliases of a control function for one workflow, of a construct below which they are made.

    Attributes:
        workflow_name: name of the workflow.
        function: the control function.
        version: its version of this deployment.
        policy: what the function may do for the workflow.
        aliases: aliases by kind of requests: ``operate`` for all, ``stop``, ``redrive``, ``fork``, ``nudge``,
            ``delete``, ``pause``, ``memo``, one for each Task that can be called, ``signal`` if a Task waits for one,
            and ``sweep`` if the workflow has a sweep of its own. Most are made when somebody asks for them.
    """

    ALWAYS: ClassVar[frozenset[str]] = frozenset()
    """Kinds of aliases that exist without a grant."""

    workflow_name: str
    function: UnumFunction
    version: lambda_.Version
    policy: iam.Policy | iam.ManagedPolicy
    aliases: Mapping[str, lambda_.Alias]
    _dead_letters: sqs.Queue
    _signal_events: lambda_.Alias | None = None

    def open(self, start_alias: lambda_.Alias, workflow: Workflow, *, sweeps: bool, exported: bool) -> None:
        """Make the aliases that every workflow has; for an exported one all, because importers may ask for any."""
        waits = any((task.resource or "").startswith(SIGNAL) for task in workflow.tasks)
        self._start_alias = start_alias
        closed = {*(() if sweeps else (ControlAlias.SWEEP,)), *(() if waits else (ControlAlias.SIGNAL,))}
        kinds: list[str] = [each for each in ControlAlias if each not in closed]
        kinds += map(call_alias, callable_tasks(workflow))
        # The function reads the start alias in the description of `DIRECTORY` (GetAlias): as a variable, it would be a
        # circular reference. By this reference the aliases depend on all that the start alias depends on.
        self.aliases = AliasesOnDemand(kinds, partial(self._new_alias, start_alias=start_alias))
        for each in kinds if exported else [each for each in kinds if each in self.ALWAYS]:
            self.aliases[each]

    def open_for_events(self, workflow: Construct) -> lambda_.Alias:
        """Return the alias that takes signals of event sources; make it for the first one.

        What it refuses goes to the failure queue after Lambda's retries.

        Raises:
            ConstructError: no Task of the workflow waits for a signal.
        """
        self.alias(workflow, ControlAlias.SIGNAL)
        if self._signal_events is None:
            alias = self._new_alias(SIGNAL_EVENTS, self._start_alias)
            failures = async_configuration(
                alias,
                function_name=self.function.function_name,
                qualifier=alias.alias_name,
                destination=self._dead_letters.queue_arn,
            )
            # The configuration names the alias by text, which CloudFormation takes for no dependency.
            failures.node.add_dependency(resource_of(alias, lambda_.CfnAlias), self.policy)
            self._signal_events = alias
        return self._signal_events

    def open_for_starts(self, failures: Failures, destination: lambda_.Alias) -> PermanentAliases:
        """Make the aliases that send on starts, and send those that they give up to `destination`."""
        start, run = (self._new_alias(kind, self._start_alias) for kind in ("start", "run"))
        for alias in (start, run):
            configuration = failures.configure(
                alias,
                function_name=self.function.function_name,
                qualifier=alias.alias_name,
                destination=destination.function_arn,
            )
            # The configuration names the alias by text, which CloudFormation takes for no dependency.
            configuration.node.add_dependency(resource_of(alias, lambda_.CfnAlias), self.policy)
        return PermanentAliases(start, run)

    @cached_property
    def sync_alias(self) -> lambda_.Alias:
        """Alias that starts an execution and answers with its result, made when it is asked for."""
        return self._new_alias(SYNC, self._start_alias)

    def _new_alias(self, kind: str, start_alias: lambda_.Alias) -> lambda_.Alias:
        return lambda_.Alias(
            cast("Construct", self),
            kind.capitalize(),
            alias_name=control_alias_name(kind, self.workflow_name),
            version=self.version,
            description=start_alias.function_arn,
        )

    def alias(self, workflow: Construct, kind: str) -> lambda_.Alias:
        """Return the alias for requests of `kind`, for grants on `workflow`.

        Raises:
            ConstructError: no Task of the workflow waits for a signal, so it takes none.
        """
        if kind == ControlAlias.SIGNAL and kind not in self.aliases:
            raise ConstructError(workflow, "signal: expected a definition with a Task that waits for one, got none")
        return self.aliases[kind]


class ControlFunction(ControlAliases, PlanningFunction):
    """Function that carries out what operators ask of executions.

    Attributes:
        handler: failure handler, at which sweeps try records of failures again; set before `allow`.
    """

    HANDLER = "unum_runtime.control.handle"
    ID = "Function"
    DESCRIPTION = "Stops, redrives, forks, nudges and deletes executions of a workflow"
    ALWAYS = frozenset({DIRECTORY, ControlAlias.OPERATE, ControlAlias.SWEEP})
    """For the failure handler, which nudges, administrators, and sweeps."""

    handler: permissions.HasFunction

    @property
    def doors(self) -> Mapping[str, lambda_.Alias]:
        """Former name of `aliases`."""
        warnings.warn("ControlFunction.doors is deprecated; write `aliases`", DeprecationWarning, stacklevel=2)
        return self.aliases

    def trust(self, senders: Mapping[str, Any]) -> None:
        """Let a sweep deliver dead letters of trusted `senders` as they are."""
        self.function.add_environment("UNUM_SENDERS", self.function.stack.to_json_string(senders))

    def tell_kept(self, storage: Storage) -> None:
        """Tell the function how many days logs, backups of `storage` and queues keep data of deleted executions."""
        kept = {"queues": KEPT_DAYS, "logs": days_of_logs(self.function), **storage.backup_days}
        self.function.add_environment("UNUM_KEPT", self.function.stack.to_json_string({self.workflow_name: kept}))

    def retry_letters_of(self, remote_intake: str) -> None:
        """Let sweeps resend failed events of the function with ARN `remote_intake`."""
        self.policy.add_statements(permissions.invoke_exactly_statement([remote_intake]))
        intakes = {self.workflow_name: remote_intake}
        self.function.add_environment("UNUM_REMOTE_INTAKE", self.function.stack.to_json_string(intakes))

    def _own_statements(self) -> Iterator[iam.PolicyStatement]:
        # The rest of long work goes to this version, and that of a long sweep to its alias. Dead letters go to the
        # failure handler.
        yield permissions.invoke_any_statement([self, self.handler])
        yield permissions.read_aliases_statement(self)


def days_of_logs(function: lambda_.Function) -> float | None:
    """Return the retention of a function's logs, in days; None for no end."""
    group = function.log_group.node.default_child
    return group.retention_in_days if isinstance(group, logs.CfnLogGroup) else None


def alias_arns(function_arn: str, workflow_name: str) -> Mapping[ControlAlias, str]:
    """Return the ARNs of the aliases of the control function `function_arn`."""
    return {kind: f"{function_arn}:{control_alias_name(kind, workflow_name)}" for kind in ControlAlias}
