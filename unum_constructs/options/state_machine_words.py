"""Arguments of `aws_stepfunctions.StateMachine` that `UnumWorkflow` also takes, and what its members say of them."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from aws_cdk import Annotations
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from unum_compiler.parsing.task_resources import SERVICES
from unum_constructs.cdk.argument_checks import check_types
from unum_constructs.errors import ConstructError
from unum_constructs.hosting.host import Host
from unum_constructs.state_machine.interface import RefusedDefaultChild
from unum_constructs.state_machine.members import GUIDE, StateMachineMembers
from unum_constructs.store import Store
from unum_runtime.model.log_level import LogLevel

if TYPE_CHECKING:
    from aws_cdk import RemovalPolicy
    from aws_cdk import aws_stepfunctions as sfn

    from unum_constructs.resources.own_functions import Provision

OF_CHAINS = ("comment", "query_language")
"""Arguments that become part of a chain, as in `StateMachine`."""

NO_DATA = (
    "logs: the log group has the lines of functions that the workflow makes; functions of Tasks log to their own "
    "groups. Lines contain no inputs and results: read those with `unum history`; see {guide}"
)

KEPT = (
    "state_machine_type: EXPRESS changes nothing: the workflow commits each step and keeps its executions, as STANDARD "
    "does; callers of short ones may wait for the result (`grant_start_sync`), and so may HTTP requests "
    "(`sync_start_alias`); see {guide}"
)


NO_SERVICES = (
    "role: nothing uses this role, because no Task requests a service. Code in functions has the roles of functions: "
    f"grant to those what the code needs; see {GUIDE}"
)


class StateMachineWords(TypedDict, total=False):
    """Arguments of `StateMachine` that are no arguments of `UnumWorkflow` under the same name.

    `state_machine_name` means `workflow_name`, ``tracing_enabled=True`` active `tracing`, `removal_policy` that of the
    table, and `encryption_configuration` its key as `encryption_key`. `role` is the role of the function that calls
    services. `logs` gives log level, and the log group of functions that the workflow makes. `comment` and
    `query_language` belong to chains. `state_machine_type` changes nothing.
    """

    comment: str | None
    encryption_configuration: "sfn.EncryptionConfiguration | None"
    logs: "sfn.LogOptions | None"
    query_language: "sfn.QueryLanguage | None"
    removal_policy: "RemovalPolicy | None"
    role: "iam.IRole | None"
    state_machine_name: str | None
    state_machine_type: "sfn.StateMachineType | None"
    tracing_enabled: bool | None


class Translated(NamedTuple):
    """Options of `UnumWorkflow` for arguments of `StateMachine`, or as given under their own names.

    Attributes:
        workflow_name: name of the workflow; None for the default.
        tracing: X-Ray tracing of the functions that the workflow makes.
        store: storage of execution state; None for the default.
        encryption_key: customer managed key; None for keys of AWS.
        role: role of the service function; None for a new one.
        log_group: log group of the functions that the workflow makes; None for one each.
        log_level: lowest level of log lines; None for that of `Monitoring`.
        of_chain: arguments of `Definition.from_chainable`.
    """

    workflow_name: str | None
    tracing: lambda_.Tracing | None
    store: Store | None
    encryption_key: kms.IKey | None
    role: iam.IRole | None
    log_group: logs.ILogGroup | None
    log_level: LogLevel | None
    of_chain: Mapping[str, Any]

    def provision(self, provision: "Provision") -> "Provision":
        """Return `provision` with log group and role."""
        return replace(provision, log_group=self.log_group, service_role=self.role)


class DeployedStateMachine(StateMachineMembers):
    """Members of state machines that workflows of this app have, and imported ones have not."""

    _hosts: dict[str, Host]
    _words: Mapping[str, Any]

    def _take_words(self, words: Mapping[str, Any]) -> None:
        """Remember the arguments of `StateMachine` among those given, and say at synth which one has no effect.

        Express workflows get a default child, because some constructs read the type from it.
        """
        self._words = words
        if getattr(words.get("state_machine_type"), "name", None) == "EXPRESS":
            RefusedDefaultChild(self, "Resource")
        if words.get("role") is not None and SERVICES not in self._hosts:
            Annotations.of(self).add_info_v2("unum:UnusedRole", NO_SERVICES)

    @property
    def state_machine_type(self) -> "sfn.StateMachineType":
        """Type as given; ``STANDARD`` by default."""
        from aws_cdk import aws_stepfunctions as sfn  # noqa: PLC0415 - loading it takes time

        return self._words.get("state_machine_type") or sfn.StateMachineType.STANDARD

    @property
    def role(self) -> iam.IRole:
        """Role of the service function. If no Task requests a service, the argument `role`, or a role of its own.

        Nothing uses these, as nothing but states uses the role of a state machine: code in functions has their roles.
        """
        host = self._hosts.get(SERVICES)
        role = self._words.get("role") if host is None else host.function.role
        return role or self._unused_role

    @cached_property
    def _unused_role(self) -> iam.Role:
        Annotations.of(self).add_warning_v2("unum:UnusedRole", NO_SERVICES)
        return iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))

    def add_to_role_policy(self, statement: iam.PolicyStatement) -> None:
        """Add `statement` to the permissions of `role`."""
        self.role.add_to_principal_policy(statement)


def translate(
    workflow: Construct,
    words: Mapping[str, Any],
    *,
    workflow_name: str | None,
    tracing: lambda_.Tracing | None,
    store: Store | None,
    encryption_key: kms.IKey | None,
) -> Translated:
    """Return the options for the arguments `words`, and for those given under their own names.

    Raises:
        ConstructError: an argument is invalid, or contradicts an option.
    """
    used = {word: value for word, value in words.items() if value is not None}
    check_types(workflow, str, {"comment": used.get("comment")})
    _check_type(workflow, used.get("state_machine_type"))
    _check_language(workflow, used.get("query_language"))
    log_group, log_level = _logging(workflow, used.get("logs"))
    name, traced = used.get("state_machine_name"), _traced(workflow, used.get("tracing_enabled"))
    key = _key(workflow, used.get("encryption_configuration"))
    return Translated(
        _one_of(workflow, "workflow_name", workflow_name, "state_machine_name", name),
        _one_of(workflow, "own_functions.tracing", tracing, "tracing_enabled", traced),
        _one_of(workflow, "store", store, "removal_policy", _removed(used.get("removal_policy"))),
        _one_of(workflow, "encryption_key", encryption_key, "encryption_configuration", key),
        _role(workflow, used.get("role")),
        log_group,
        log_level,
        {word: used[word] for word in OF_CHAINS if word in used},
    )


def _one_of(workflow: Construct, option: str, value: Any, word: str, meant: Any) -> Any:
    """Return the option's `value`, or what the argument `word` of `StateMachine` means; None for neither."""
    if value is not None and meant is not None:
        raise ConstructError(workflow, f"{option}, {word}: expected one of the two, got both")
    return value if meant is None else meant


def _traced(workflow: Construct, enabled: object) -> lambda_.Tracing | None:
    check_types(workflow, bool, {"tracing_enabled": enabled})
    return None if enabled is None else lambda_.Tracing.ACTIVE if enabled else lambda_.Tracing.DISABLED


def _removed(policy: "RemovalPolicy | None") -> Store | None:
    """Return the store whose table has `policy`: a state machine takes its executions with it."""
    return None if policy is None else Store.dynamodb(removal_policy=policy)


def _key(workflow: Construct, configuration: Any) -> kms.IKey | None:
    """Return the key of an `EncryptionConfiguration`; None for keys of AWS."""
    if configuration is not None and not hasattr(configuration, "type"):
        raise ConstructError(
            workflow, f"encryption_configuration: expected an EncryptionConfiguration, got {configuration!r}"
        )
    return getattr(configuration, "kms_key", None)


def _role(workflow: Construct, role: iam.IRole | None) -> iam.IRole | None:
    """Return `role`.

    Raises:
        ConstructError: it is no role of this app, so its trust policy cannot let Lambda assume it.
    """
    if role is not None and getattr(role, "assume_role_policy", None) is None:
        raise ConstructError(
            workflow,
            f"role: expected an aws_iam.Role of this app, which Lambda then may assume, got {role!r}; leave it out, "
            f"and give permissions to `add_to_role_policy`; see {GUIDE}",
        )
    return role


def _logging(workflow: Construct, options: Any) -> tuple[logs.ILogGroup | None, LogLevel | None]:
    """Return log group and level of `LogOptions`; say at synth what they do not log."""
    if options is None:
        return None, None
    level = getattr(options.get("level") if isinstance(options, dict) else options.level, "name", "ERROR")
    group = options.get("destination") if isinstance(options, dict) else options.destination
    Annotations.of(workflow).add_info_v2("unum:StateMachineLogs", NO_DATA.format(guide=GUIDE))
    return group, LogLevel.INFO if level == "ALL" else LogLevel.WARN


def _check_type(workflow: Construct, kind: "sfn.StateMachineType | None") -> None:
    name = getattr(kind, "name", kind)
    if name not in (None, "STANDARD", "EXPRESS"):
        raise ConstructError(workflow, f"state_machine_type: expected STANDARD or EXPRESS, got {name}")
    if name == "EXPRESS":
        Annotations.of(workflow).add_info_v2("unum:Express", KEPT.format(guide=GUIDE))


def _check_language(workflow: Construct, language: "sfn.QueryLanguage | None") -> None:
    # By name: few apps use aws_stepfunctions, and loading it takes time.
    if language is not None and type(language).__name__ != "QueryLanguage":
        raise ConstructError(
            workflow, f"query_language: expected an aws_cdk.aws_stepfunctions.QueryLanguage, got {language!r}"
        )
