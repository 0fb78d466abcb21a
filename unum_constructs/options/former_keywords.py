"""Keywords of `UnumWorkflow` that groups of options have replaced; each goes on working, with a warning."""

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from inspect import signature
from itertools import takewhile
from traceback import walk_stack
from typing import TYPE_CHECKING, Any, TypedDict

from aws_cdk import Duration
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from unum_compiler.definition import Definition
from unum_compiler.payload_storage import Payload
from unum_constructs.cdk.argument_checks import check_types
from unum_constructs.errors import ConstructError
from unum_constructs.layer.opentelemetry import OpenTelemetry
from unum_constructs.options.delivery import Delivery
from unum_constructs.options.execution_data import ExecutionData
from unum_constructs.options.limits import Limits
from unum_constructs.options.monitoring import Monitoring
from unum_constructs.options.state_machine_words import StateMachineWords
from unum_constructs.resources.own_functions import OwnFunctions
from unum_constructs.resources.upgrades import Keep, OnRemoved, Upgrades
from unum_runtime.model.ir import Collection
from unum_runtime.model.log_level import LogLevel
from unum_runtime.model.metrics import Metrics

if TYPE_CHECKING:
    from aws_cdk.aws_events import IEventBus


class FormerKeywords(TypedDict, total=False):
    """Deprecated keywords, each of which is now an attribute of a group; `tags` is now ``Tags.of(workflow).add``."""

    architecture: lambda_.Architecture | None
    attributes: Mapping[str, str] | None
    collection: Collection
    earlier: Sequence[Definition]
    environment_encryption: kms.IKey | None
    events: "IEventBus | None"
    fusion: bool | None
    history_retention: Duration | None
    hop_budget: int
    invocation_budget: int | None
    keep: Keep | None
    log_level: LogLevel
    log_retention: logs.RetentionDays
    max_event_age: Duration | None
    metrics: Metrics
    on_removed: OnRemoved | str | None
    opentelemetry: OpenTelemetry | None
    payload: Payload | str
    payload_bucket: s3.IBucket | None
    payload_limit: int | None
    retention: Duration | None
    retry_attempts: int | None
    security_groups: Sequence[ec2.ISecurityGroup] | None
    small_results: bool
    tags: Mapping[str, str] | None
    tracing: lambda_.Tracing | None
    vpc: ec2.IVpc | None
    vpc_subnets: ec2.SubnetSelection | None
    width_budget: int | None


class OtherKeywords(FormerKeywords, StateMachineWords, total=False):
    """Further keywords of `UnumWorkflow`: deprecated ones, and keywords of `StateMachine`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Groups of options.

    Attributes:
        delivery: delivery of events to functions.
        execution_data: lifetime and place of what is stored.
        limits: limits of one execution.
        monitoring: logs, metrics, events, spans and attributes.
        own_functions: functions that the workflow makes.
        upgrades: deployments while executions run.
        tags: tags of all resources, by the deprecated keyword; None without.
        of_state_machine: keywords of `StateMachine`, by name.
    """

    delivery: Delivery
    execution_data: ExecutionData
    limits: Limits
    monitoring: Monitoring
    own_functions: OwnFunctions
    upgrades: Upgrades
    tags: Mapping[str, str] | None
    of_state_machine: Mapping[str, Any]

    @classmethod
    def of(cls, workflow: Construct, others: Mapping[str, Any], **groups_by_name: Any) -> "Groups":
        """Return the groups `groups_by_name`, or those that the deprecated keywords among `others` mean.

        Raises:
            ConstructError: a group has another type, or both a group and one of its attributes are given.
            TypeError: a keyword is unknown.
        """
        _check_known(workflow, others)
        groups: dict[str, Any] = {}
        for group, kind in KINDS.items():
            check_types(workflow, kind, {group: groups_by_name[group]})
            former = {word: value for word, value in others.items() if PLACES.get(word) == group}
            for word in former:
                if groups_by_name[group] is not None:
                    problem = f"{word}, {group}: expected one of the two, got both"
                    raise ConstructError(workflow, f"{problem}; write {_in_group(word)}")
                _warn(f"UnumWorkflow({word}=...) is deprecated; write {_in_group(word)}")
            groups[group] = groups_by_name[group] or kind(**former)
        if TAGS in others:
            _warn(f"UnumWorkflow({TAGS}=...) is deprecated; write Tags.of(workflow).add(key, value)")
        of_state_machine = {word: value for word, value in others.items() if word in StateMachineWords.__annotations__}
        return cls(**groups, tags=others.get(TAGS), of_state_machine=of_state_machine)


KINDS: Mapping[str, type] = {
    "delivery": Delivery,
    "execution_data": ExecutionData,
    "limits": Limits,
    "monitoring": Monitoring,
    "own_functions": OwnFunctions,
    "upgrades": Upgrades,
}
"""Groups by the keyword of `UnumWorkflow`."""

PLACES: Mapping[str, str] = {
    field.name: group
    for group, kind in KINDS.items()
    for field in fields(kind)
    if field.name in FormerKeywords.__annotations__
}
"""Groups by deprecated keyword, which has the name of the attribute."""

TAGS = "tags"
"""The deprecated keyword that no group replaces."""

_OURS = frozenset({"jsii", "unum_constructs"})
"""Packages between a user's call and a warning: jsii's metaclass calls ``__init__``."""


def _check_known(workflow: Construct, words: Iterable[str]) -> None:
    """Raise TypeError for an unknown keyword, as Python does, with the keyword that is probably meant."""
    known = OtherKeywords.__annotations__
    for word in words:
        if word not in known:
            in_groups = {field.name: _in_group(field.name) for kind in KINDS.values() for field in fields(kind)}
            direct = {name: f"{name}=..." for name in (*_parameters(workflow), *StateMachineWords.__annotations__)}
            meant = get_close_matches(word, choices := {**in_groups, **direct}, n=1)
            hint = f"; did you mean `{choices[meant[0]]}`?" if meant else ""
            raise TypeError(f"UnumWorkflow() got an unexpected keyword argument {word!r}{hint}")


def _parameters(workflow: Construct) -> Iterable[str]:
    """Return the keywords in the signatures of the workflow's class and its bases."""
    makers = (vars(each)["__init__"] for each in type(workflow).__mro__ if "__init__" in vars(each))
    return [
        each.name for made in makers for each in signature(made).parameters.values() if each.kind is each.KEYWORD_ONLY
    ]


def _in_group(word: str) -> str:
    group = next(group for group, kind in KINDS.items() if word in {field.name for field in fields(kind)})
    return f"{group}={KINDS[group].__name__}({word}=...)"


def _warn(text: str) -> None:
    """Warn at the line of the user's code that makes the workflow."""
    frames = (frame for frame, _ in walk_stack(sys._getframe()))  # noqa: SLF001 - as `logging` finds callers
    ours = takewhile(lambda frame: frame.f_globals.get("__name__", "").partition(".")[0] in _OURS, frames)
    # Not an annotation of the CDK: `cdk synth --strict` would fail an app that worked before.
    warnings.warn(text, DeprecationWarning, stacklevel=1 + sum(1 for _ in ours))
