"""Keywords that groups of options have replaced: each works as before, and says what replaces it."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from aws_cdk import Duration, Stack, Tags
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_events as events
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3

from tests.synth.deployment import Deployment, function
from tests.synth.machines import a_map, chain, machine
from unum_constructs import (
    Collection,
    ConstructError,
    Definition,
    Delivery,
    ExecutionData,
    Keep,
    Limits,
    LogLevel,
    Metrics,
    Monitoring,
    OpenTelemetry,
    OwnFunctions,
    UnumWorkflow,
    Upgrades,
)
from unum_constructs.options.former_keywords import FormerKeywords

Values = Callable[[Stack], Mapping[str, Any]]

BEFORE = frozenset(
    """
    definition definition_body definition_substitutions functions function_options workflow_name exported store
    retention history_retention collection guard timeout max_event_age retry_attempts hop_budget width_budget
    invocation_budget payload payload_bucket payload_limit attributes compatibility sweep on_removed keep earlier
    small_results log_level metrics opentelemetry fusion events architecture log_retention tracing
    environment_encryption vpc vpc_subnets security_groups encryption_key tags
    """.split()  # noqa: SIM905 - a list of words reads better without quotes
)
"""All keywords of `UnumWorkflow` before there were groups."""

GROUPS: Mapping[str, tuple[type, tuple[str, ...]]] = {
    "delivery": (Delivery, ("max_event_age", "retry_attempts", "fusion")),
    "execution_data": (
        ExecutionData,
        ("retention", "history_retention", "collection", "payload", "payload_bucket", "small_results"),
    ),
    "limits": (Limits, ("hop_budget", "width_budget", "invocation_budget", "payload_limit")),
    "monitoring": (Monitoring, ("log_level", "metrics", "events", "opentelemetry", "attributes")),
    "own_functions": (
        OwnFunctions,
        (
            "architecture",
            "log_retention",
            "tracing",
            "environment_encryption",
            "vpc",
            "vpc_subnets",
            "security_groups",
        ),
    ),
    "upgrades": (Upgrades, ("on_removed", "keep", "earlier")),
}

FORMER = {word: group for group, (_, words) in GROUPS.items() for word in words}


def placed(stack: Stack) -> Mapping[str, Any]:
    return {"vpc": ec2.Vpc(stack, "Vpc", max_azs=1)}


def in_one_zone(stack: Stack) -> Mapping[str, Any]:
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    return {"vpc": vpc, "vpc_subnets": ec2.SubnetSelection(availability_zones=vpc.availability_zones[:1])}


def grouped(stack: Stack) -> Mapping[str, Any]:
    vpc = ec2.Vpc(stack, "Vpc", max_azs=1)
    return {"vpc": vpc, "security_groups": [ec2.SecurityGroup(stack, "Group", vpc=vpc)]}


VALUES: Mapping[str, Values] = {
    "architecture": lambda _: {"architecture": lambda_.Architecture.X86_64},
    "attributes": lambda _: {"attributes": {"order": "$.order"}},
    "collection": lambda _: {"collection": Collection.EAGER},
    "earlier": lambda _: {"earlier": [Definition.from_asl(chain("A", "B"))]},
    "environment_encryption": lambda stack: {"environment_encryption": kms.Key(stack, "Key")},
    "events": lambda stack: {"events": events.EventBus(stack, "Bus")},
    "fusion": lambda _: {"fusion": False},
    "history_retention": lambda _: {"history_retention": Duration.days(1)},
    "hop_budget": lambda _: {"hop_budget": 7},
    "invocation_budget": lambda _: {"invocation_budget": 70},
    "keep": lambda _: {"keep": Keep(timer=True)},
    "log_level": lambda _: {"log_level": LogLevel.WARN},
    "log_retention": lambda _: {"log_retention": logs.RetentionDays.ONE_WEEK},
    "max_event_age": lambda _: {"max_event_age": Duration.hours(1)},
    "metrics": lambda _: {"metrics": Metrics.NODES},
    "on_removed": lambda _: {"on_removed": "fail-executions"},
    "opentelemetry": lambda _: {"opentelemetry": OpenTelemetry(layers=[])},
    "payload": lambda _: {"payload": "s3"},
    "payload_bucket": lambda stack: {"payload_bucket": s3.Bucket(stack, "Own")},
    "payload_limit": lambda _: {"payload_limit": 1_000},
    "retention": lambda _: {"retention": Duration.days(30)},
    "retry_attempts": lambda _: {"retry_attempts": 0},
    "security_groups": grouped,
    "small_results": lambda _: {"small_results": True},
    "tags": lambda _: {"tags": {"team": "orders"}},
    "tracing": lambda _: {"tracing": lambda_.Tracing.ACTIVE},
    "vpc": placed,
    "vpc_subnets": in_one_zone,
    "width_budget": lambda _: {"width_budget": 7},
}


def made(values: Values, write: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> tuple[Any, ...]:
    """Return template and annotations of a stack whose workflow has the `values`, as `write` writes them."""
    deployment = Deployment.new()
    given = write(values(deployment.stack))
    tags = given.get("to_add", {})
    options = {word: value for word, value in given.items() if word != "to_add"}
    flow = deployment.flow(machine(Each=a_map(chain("A"))), {"A": function(deployment.stack, "A")}, **options)
    for key, value in tags.items():
        Tags.of(flow).add(key, value)
    return deployment.template, *(deployment._messages(f"aws:cdk:{kind}") for kind in ("error", "warning", "info"))


def as_before(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return values


def without(_: Mapping[str, Any]) -> Mapping[str, Any]:
    return {}


def in_groups(values: Mapping[str, Any]) -> Mapping[str, Any]:
    if "tags" in values:
        return {"to_add": values["tags"]}
    (group,) = {FORMER[word] for word in values}
    return {group: GROUPS[group][0](**values)}


def test_every_former_keyword_is_taken() -> None:
    parameters = inspect.signature(UnumWorkflow.__init__).parameters
    assert {*FORMER, "tags"} == FormerKeywords.__annotations__.keys() == BEFORE - parameters.keys() == VALUES.keys()


@pytest.mark.parametrize("word", VALUES)
def test_former_keyword_has_the_effect_of_its_replacement(word: str) -> None:
    with pytest.warns(DeprecationWarning, match="is deprecated") as caught:
        before = made(VALUES[word], as_before)
    assert any(str(each.message).startswith(f"UnumWorkflow({word}=...) is deprecated; write ") for each in caught)
    assert before == made(VALUES[word], in_groups)
    assert before != made(VALUES[word], without), "the option has an effect"


def test_warning_names_the_replacement_and_the_callers_line() -> None:
    deployment = Deployment.new()
    functions = {"A": function(deployment.stack, "A")}
    definition = Definition.from_asl(chain("A"))
    with pytest.warns(DeprecationWarning, match="is deprecated") as caught:
        UnumWorkflow(deployment.stack, "Flow", definition=definition, functions=functions, hop_budget=7, tags={})
    line = inspect.getsourcelines(test_warning_names_the_replacement_and_the_callers_line)[1] + 5
    assert [(each.filename, each.lineno, str(each.message)) for each in caught] == [
        (__file__, line, "UnumWorkflow(hop_budget=...) is deprecated; write limits=Limits(hop_budget=...)"),
        (__file__, line, "UnumWorkflow(tags=...) is deprecated; write Tags.of(workflow).add(key, value)"),
    ]


@pytest.mark.parametrize("word", FORMER)
def test_keyword_beside_its_group_is_refused(word: str) -> None:
    group, (kind, _) = FORMER[word], GROUPS[FORMER[word]]
    with pytest.raises(
        ConstructError, match=rf"Stack/Flow: {word}, {group}: expected one of the two, got both; write "
    ):
        Deployment.of(chain("A"), "A", **{group: kind(), word: None})


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        (["team"], r"tags: expected a Mapping, got \['team'\]"),
        ({"team": 5}, r"tags\['team'\]: expected text, got 5"),
        ({"": "x"}, "tags: expected texts as keys, got ''"),
    ],
)
def test_wrong_tags_are_refused(tags: Any, message: str) -> None:
    with pytest.warns(DeprecationWarning, match="Tags.of"), pytest.raises(ConstructError, match=message):
        Deployment.of(chain("A"), "A", tags=tags)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("workflow_nam", "`workflow_name=...`"),
        ("hop_buget", "`limits=Limits(hop_budget=...)`"),
        ("limit", "`limits=...`"),
        ("tracing_enable", "`tracing_enabled=...`"),
    ],
)
def test_typo_is_an_error_with_the_keyword_that_is_meant(word: str, meant: str) -> None:
    with pytest.raises(TypeError) as caught:
        Deployment.of(chain("A"), "A", **{word: 1})
    assert str(caught.value) == f"UnumWorkflow() got an unexpected keyword argument {word!r}; did you mean {meant}?"


def test_aliases_keep_their_former_names() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")})
    with pytest.warns(DeprecationWarning, match=r"UnumWorkflow\.doors is deprecated; write `aliases`"):
        assert flow.doors is flow.aliases
    with pytest.warns(DeprecationWarning, match=r"ControlFunction\.doors is deprecated; write `aliases`"):
        assert flow.control.doors is flow.control.aliases


def test_group_of_another_type_is_refused() -> None:
    with pytest.raises(ConstructError, match=r"Stack/Flow: limits: expected a Limits, got {'hop_budget': 7}"):
        Deployment.of(chain("A"), "A", limits={"hop_budget": 7})
