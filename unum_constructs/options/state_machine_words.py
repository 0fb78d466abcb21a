"""Arguments of `aws_stepfunctions.StateMachine` that `UnumWorkflow` also takes, or refuses by the name of its own."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs.cdk.argument_checks import check_types
from unum_constructs.errors import ConstructError

if TYPE_CHECKING:
    from aws_cdk import RemovalPolicy
    from aws_cdk import aws_iam as iam
    from aws_cdk import aws_stepfunctions as sfn

REFUSED: Mapping[str, str] = {
    "encryption_configuration": "give the key as `encryption_key`, for table, queues, log groups and environments",
    "logs": "the runtime logs to the log groups of the functions, without inputs and results: choose `log_level` of "
    "`monitoring` and `log_retention` of `own_functions`, and read executions with `unum history`",
    "removal_policy": "it belongs to the table: give `store=Store.dynamodb(removal_policy=...)`",
    "role": "each function has a role of its own: give `role` to functions, and permissions for service calls to "
    "`add_to_role_policy`",
}
"""Arguments that could have no effect here, and what to do instead."""

OF_CHAINS = ("comment", "query_language")
"""Arguments that become part of a chain, as in `StateMachine`."""


class StateMachineWords(TypedDict, total=False):
    """Arguments of `StateMachine` that are no arguments of `UnumWorkflow` under the same name.

    `state_machine_name` means `workflow_name`, and ``tracing_enabled=True`` active `tracing`. `comment` and
    `query_language` belong to chains. ``state_machine_type=STANDARD`` changes nothing. All others are refused.
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
    """Options of `UnumWorkflow` for arguments of `StateMachine`.

    Attributes:
        workflow_name: name of the workflow; None for the default.
        tracing: X-Ray tracing of the functions that the workflow makes.
        of_chain: arguments of `Definition.from_chainable`.
    """

    workflow_name: str | None
    tracing: lambda_.Tracing | None
    of_chain: Mapping[str, Any]


def translate(
    workflow: Construct, words: Mapping[str, Any], *, workflow_name: str | None, tracing: lambda_.Tracing | None
) -> Translated:
    """Return the options for the arguments `words`, and for `workflow_name` and `tracing`.

    Raises:
        ConstructError: an argument has no effect here, is invalid, or contradicts an option.
    """
    given = {word: value for word, value in words.items() if value is not None}
    for word in given.keys() & REFUSED.keys():
        raise ConstructError(
            workflow, f"{word}: StateMachine has this argument, UnumWorkflow does not; {REFUSED[word]}"
        )
    check_types(workflow, str, {"comment": given.get("comment")})
    _check_type(workflow, given.get("state_machine_type"))
    _check_language(workflow, given.get("query_language"))
    return Translated(
        _one_of(workflow, "workflow_name", workflow_name, "state_machine_name", given),
        _one_of(workflow, "own_functions.tracing", tracing, "tracing_enabled", {**given, **_traced(workflow, given)}),
        {word: given[word] for word in OF_CHAINS if word in given},
    )


def _one_of(workflow: Construct, option: str, value: Any, word: str, given: Mapping[str, Any]) -> Any:
    """Return the option's `value`, or that of the argument `word` of `StateMachine`; None for neither."""
    if value is not None and word in given:
        raise ConstructError(workflow, f"{option}, {word}: expected one of the two, got both")
    return given.get(word, value)


def _traced(workflow: Construct, given: Mapping[str, Any]) -> Mapping[str, lambda_.Tracing]:
    check_types(workflow, bool, {"tracing_enabled": given.get("tracing_enabled")})
    tracing = {True: lambda_.Tracing.ACTIVE, False: lambda_.Tracing.DISABLED}
    return {word: tracing[value] for word, value in given.items() if word == "tracing_enabled"}


def _check_language(workflow: Construct, language: "sfn.QueryLanguage | None") -> None:
    # By name: few apps use aws_stepfunctions, and loading it takes time.
    if language is not None and type(language).__name__ != "QueryLanguage":
        raise ConstructError(
            workflow, f"query_language: expected an aws_cdk.aws_stepfunctions.QueryLanguage, got {language!r}"
        )


def _check_type(workflow: Construct, kind: "sfn.StateMachineType | None") -> None:
    name = getattr(kind, "name", kind)
    if name not in (None, "STANDARD"):
        raise ConstructError(
            workflow,
            f"state_machine_type: expected STANDARD, got {name}: a workflow keeps its executions for `retention`; "
            "callers of short ones may wait for the result (`grant_start_sync`); remove the argument",
        )
