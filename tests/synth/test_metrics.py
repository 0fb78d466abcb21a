"""Metrics, alarms and the dashboard of a workflow: that they ask for what exists and is counted."""

import ast
import json
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, Stack
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns

import unum_runtime
from tests.synth.deployment import Deployment, flat, function
from tests.synth.linting import complaints
from tests.synth.machines import chain, machine, task
from unum_compiler import compile_workflow
from unum_compiler.cost.prices import list_prices
from unum_constructs import ConstructError, Metrics, Monitoring, NodeMetric, Store, Sweep, UnumWorkflow, WorkflowMetric
from unum_runtime.aws.embedded_metrics import THROTTLED, EmbeddedMetrics
from unum_runtime.clock import SystemClock
from unum_runtime.features.timers import timer_function

WAITING = machine(
    A=task("A", "W"), W={"Type": "Wait", "Seconds": 60, "Next": "B"}, B={**task("B"), "Retry": [{"ErrorEquals": ["E"]}]}
)


def flow_of(deployment: Deployment) -> UnumWorkflow:
    flow = deployment.stack.node.find_child("Flow")
    assert isinstance(flow, UnumWorkflow)
    return flow


@pytest.fixture(scope="module")
def watched() -> Deployment:
    listed, sweep = Store.dynamodb(list_executions=True), Sweep.every(Duration.hours(1))
    deployment = Deployment.of(
        WAITING, "A", "B", monitoring=Monitoring(metrics=Metrics.NODES), store=listed, sweep=sweep
    )
    flow = flow_of(deployment)
    flow.dashboard()
    topic = sns.Topic(deployment.stack, "OnCall")
    flow.add_alarms(actions=[actions.SnsAction(topic)])
    return deployment


def test_metrics_have_the_names_that_the_runtime_writes() -> None:
    flow = flow_of(Deployment.of(chain("A"), "A"))
    metrics = {
        flow.metric_started(): "ExecutionsStarted",
        flow.metric_succeeded(): "ExecutionsSucceeded",
        flow.metric_failed(): "ExecutionsFailed",
        flow.metric_timed_out(): "ExecutionsTimedOut",
        flow.metric_aborted(): "ExecutionsAborted",
        flow.metric_throttled(): "Throttles",
        flow.metric_silent(): "ExecutionsSilent",
        flow.metric_late(): "LateEvents",
        flow.metric_abandoned(): "ExecutionsAbandoned",
        flow.metric_oldest_running(): "OldestRunningTime",
        flow.metric_dead_letters(): "DeadLetters",
        flow.metric_letters_retried(): "LettersRetried",
        flow.metric_malformed(): "MalformedEntries",
        flow.metric_refused_messages(): "RefusedMessages",
        flow.metric_time(): "ExecutionTime",
        flow.metric("Own"): "Own",
    }
    for metric, name in metrics.items():
        assert (metric.namespace, metric.metric_name, dict(metric.dimensions or {})) == (
            "Unum",
            name,
            {"Workflow": "Flow"},
        )
        assert metric.statistic == {"ExecutionTime": "Average", "OldestRunningTime": "Maximum"}.get(name, "Sum")


def test_metrics_are_shown_as_one_likes() -> None:
    flow = flow_of(Deployment.of(chain("A"), "A"))
    metric = flow.metric_time(statistic="p99", period=Duration.minutes(1), label="slowest", color="#ff0000")
    assert (metric.statistic, metric.period.to_seconds(), metric.label) == ("p99", 60, "slowest")


def test_imported_workflows_have_metrics() -> None:
    alias = "arn:aws:lambda:us-east-1:123456789012:function:f:start-Other"
    imported = UnumWorkflow.from_workflow_attributes(
        Stack(), "Imported", workflow_name="Other", table="Table", start_alias_arn=alias
    )
    metric = imported.metric_node("Prüfen", NodeMetric.ERRORS)
    assert dict(metric.dimensions or {}) == {"Workflow": "Other", "Node": r"Pr\xfcfen"}
    assert imported.metric_started().dimensions == {"Workflow": "Other"}


@pytest.mark.parametrize(
    ("metrics", "node", "expected"),
    [
        (Metrics.NODES, "B", r"expected one of the Tasks \['A'\], got 'B'"),
        (Metrics.WORKFLOW, "A", "expected metrics=NODES, got WORKFLOW"),
        (Metrics.NONE, "A", "expected metrics=NODES, got NONE"),
    ],
)
def test_a_task_that_is_not_counted_has_no_metrics(metrics: Metrics, node: str, expected: str) -> None:
    flow = flow_of(Deployment.of(chain("A"), "A", monitoring=Monitoring(metrics=metrics)))
    with pytest.raises(ConstructError, match=expected):
        flow.metric_node(node, NodeMetric.TIME)


def test_actions_are_several() -> None:
    flow = flow_of(Deployment.of(chain("A"), "A"))
    with pytest.raises(ConstructError, match=r"^Stack/Flow: add_alarms: actions: expected a Sequence, got <"):
        flow.add_alarms(actions=actions.SnsAction(sns.Topic(flow, "Topic")))  # type: ignore[arg-type]


def test_a_metric_that_no_task_has() -> None:
    flow = flow_of(Deployment.of(chain("A"), "A", monitoring=Monitoring(metrics=Metrics.NODES)))
    with pytest.raises(ConstructError, match=r"metric of 'A': expected one of \['NodeTime', .*\], got 'Errors'"):
        flow.metric_node("A", "Errors")


def test_a_workflow_that_is_not_counted_has_no_metrics_alarms_or_dashboard() -> None:
    flow = flow_of(Deployment.of(chain("A"), "A", monitoring=Monitoring(metrics=Metrics.NONE)))
    for asked in (flow.metric_failed, flow.add_alarms, flow.dashboard):
        with pytest.raises(ConstructError, match="expected counted executions"):
            asked()


def test_functions_are_told_how_much_is_counted(watched: Deployment) -> None:
    for path in ("A", "B", "Flow/OnFailure/Handler"):
        assert watched.services(path)["Flow"]["metrics"] == "nodes"
    assert "metrics" not in Deployment.of(chain("A"), "A").services("A")["Flow"]


def test_alarms_go_off_at_failures_and_at_what_does_not_move(watched: Deployment) -> None:
    found = {
        alarm["MetricName"]: (alarm["Namespace"], alarm["Threshold"])
        for alarm in (resource["Properties"] for resource in watched.all("CloudWatch::Alarm").values())
        if "MetricName" in alarm
    }
    assert found == {
        "ExecutionsFailed": ("Unum", 1),
        "ExecutionsTimedOut": ("Unum", 1),
        "Throttles": ("Unum", 10),
        "ExecutionsSilent": ("Unum", 1),
        "ExecutionsAbandoned": ("Unum", 1),
        "LateEvents": ("Unum", 1),
        "ApproximateAgeOfOldestMessage": ("AWS/SQS", 1200),
        "ApproximateNumberOfMessagesVisible": ("AWS/SQS", 1),
    }
    for alarm in watched.all("CloudWatch::Alarm").values():
        assert alarm["Properties"]["AlarmActions"] == [{"Ref": watched.logical_id("OnCall")}]
        assert alarm["Properties"]["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"
        assert alarm["Properties"]["TreatMissingData"] == "notBreaching"


def test_alarms_are_set_as_one_likes() -> None:
    deployment = Deployment.of(chain("A"), "A", sweep=None)
    alarms = flow_of(deployment).add_alarms(period=Duration.hours(1), failed=5, timed_out=None)
    assert (alarms.timed_out, alarms.timer_age, alarms.silent, alarms.abandoned) == (None, None, None, None)
    failed = deployment.properties("Flow/Alarms/Failed")
    assert (failed["Threshold"], failed["Period"]) == (5, 3600)
    assert len(deployment.all("CloudWatch::Alarm")) == 6
    without = Deployment.of(chain("A"), "A", sweep=None)
    none = flow_of(without).add_alarms(late=None, dropped=None, undelivered=None)
    assert (none.late, none.dropped, none.undelivered) == (None, (), ())


@pytest.mark.parametrize(
    ("alarm", "metric"), [("Dropped", "AsyncEventsDropped"), ("Undelivered", "DestinationDeliveryFailures")]
)
def test_alarm_counts_lost_events_of_all_functions(watched: Deployment, alarm: str, metric: str) -> None:
    found = watched.properties(f"Flow/Alarms/{alarm}")
    (total,) = (each for each in found["Metrics"] if "Expression" in each)
    parts = [each["MetricStat"] for each in found["Metrics"] if "MetricStat" in each]
    names = [part["Metric"]["Dimensions"][0]["Value"]["Ref"] for part in parts]
    called = ("A", "B", "Flow/OnFailure/Handler", "Flow/ControlFunction/Function")
    assert sorted(names) == sorted(watched.logical_id(each) for each in called)
    assert {
        (each["Metric"]["Namespace"], each["Metric"]["MetricName"], each["Stat"], each["Period"]) for each in parts
    } == {("AWS/Lambda", metric, "Sum", 300)}
    assert total["Expression"] == "FILL(f0, 0) + FILL(f1, 0) + FILL(f2, 0) + FILL(f3, 0)"
    assert (found["Threshold"], total.get("ReturnData", True)) == (1, True)


def test_alarms_of_many_functions_stay_within_their_limit() -> None:
    names = [f"F{number}" for number in range(20)]
    deployment = Deployment.of(chain(*names), *names)
    alarms = flow_of(deployment).add_alarms()
    assert (len(alarms.dropped), len(alarms.undelivered)) == (3, 3)
    sizes = [
        len(alarm["Properties"]["Metrics"]) - 1
        for alarm in deployment.all("CloudWatch::Alarm").values()
        if "Metrics" in alarm["Properties"]
    ]
    assert (sum(sizes), max(sizes)) == (2 * 22, 10)


def test_lost_events_have_metrics_without_alarms() -> None:
    flow = flow_of(Deployment.of(chain("A"), "A"))
    dropped = flow.metric_dropped_events(period=Duration.hours(1), label="lost")
    assert (dropped.label, dropped.period.to_seconds()) == ("lost", 3600)
    assert flow.metric_undelivered_records().label == "DestinationDeliveryFailures"


def test_an_alarm_goes_off_when_an_execution_runs_for_too_long() -> None:
    deployment = Deployment.of(chain("A"), "A")
    flow_of(deployment).add_alarms(oldest_running=Duration.days(2))
    alarm = deployment.properties("Flow/Alarms/OldestRunning")
    assert (alarm["MetricName"], alarm["Statistic"], alarm["Threshold"]) == (
        "OldestRunningTime",
        "Maximum",
        2 * 86_400_000,
    )


def test_without_a_sweep_nobody_knows_how_long_executions_run() -> None:
    flow = flow_of(Deployment.of(chain("A"), "A", sweep=None))
    with pytest.raises(ConstructError, match=r"oldest_running: expected None, .* without a sweep"):
        flow.add_alarms(oldest_running=Duration.days(2))


def widgets(deployment: Deployment) -> list[dict[str, Any]]:
    body = json.loads(flat(deployment.only("CloudWatch::Dashboard")["DashboardBody"]))
    return [widget["properties"] for widget in body["widgets"]]


def shown(deployment: Deployment) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Namespace, name and dimensions of every metric in the dashboard."""
    for widget in widgets(deployment):
        for namespace, *rest in widget["metrics"]:
            if isinstance(namespace, str):  # and no expression
                name, *texts = (part for part in rest if isinstance(part, str))
                yield namespace, name, dict(zip(texts[::2], texts[1::2], strict=True))


def test_the_dashboard_shows_nothing_but_what_exists(watched: Deployment) -> None:
    kinds = {"FunctionName": "Lambda::Function", "TableName": "DynamoDB::Table", "QueueName": "SQS::Queue"}
    seen = set()
    for namespace, name, dimensions in shown(watched):
        if namespace == "Unum":
            assert dimensions.pop("Workflow") == "Flow"
            assert dimensions.pop("Node", "A") in ("A", "B")
            assert name in {*WorkflowMetric, *NodeMetric}
        for dimension, value in dimensions.items():
            assert value.removesuffix(".QueueName") in watched.all(kinds[dimension])
        seen.add(name)
    assert {*WorkflowMetric, *NodeMetric} <= seen
    assert {"LateEvents", "ExecutionsAbandoned", "DeadLetters", "LettersRetried"} <= seen
    assert {"Errors", "Throttles", "Duration", "ConcurrentExecutions", "ConsumedWriteCapacityUnits"} <= seen


def test_the_dashboard_shows_all_functions_and_fits_its_width(watched: Deployment) -> None:
    names = {dimensions["FunctionName"] for _, name, dimensions in shown(watched) if name == "Errors"}
    assert names == {*watched.all("Lambda::Function")}
    body = json.loads(flat(watched.only("CloudWatch::Dashboard")["DashboardBody"]))
    assert all(widget["x"] + widget["width"] <= 24 for widget in body["widgets"])


def test_a_dashboard_without_counted_tasks_and_waits() -> None:
    deployment = Deployment.of(chain("A"), "A")
    flow_of(deployment).dashboard(dashboard_name="Own")
    assert not any("Node" in dimensions for _, _, dimensions in shown(deployment))
    assert deployment.only("CloudWatch::Dashboard")["DashboardName"] == "Own"


def cost_of(deployment: Deployment) -> tuple[str, dict[str, tuple[str, dict[str, str]]]]:
    """The expression, and names and dimensions of the metrics in it by their ids."""
    (metrics,) = (each["metrics"] for each in widgets(deployment) if each["title"] == "Cost")
    (expression,) = (entry[0]["expression"] for entry in metrics if isinstance(entry[0], dict))
    ids = {}
    for entry in metrics:
        if isinstance(entry[0], str):
            _, name, *texts, options = entry
            ids[options["id"]] = name, dict(zip(texts[::2], texts[1::2], strict=True))
    return expression, ids


def test_the_cost_is_that_of_what_was_used() -> None:
    deployment = Deployment.new()
    large = function(deployment.stack, "A", memory_size=1024, architecture=lambda_.Architecture.X86_64)
    deployment.flow(chain("A"), {"A": large}).dashboard()
    expression, ids = cost_of(deployment)
    used = {
        "ExecutionsStarted": 500,
        "ConsumedWriteCapacityUnits": 1_000,
        "ConsumedReadCapacityUnits": 500,
        "Invocations": 500,
        "Duration": 50_000,
    }
    idle = {deployment.logical_id(f"Flow/{path}") for path in ("OnFailure/Handler", "ControlFunction/Function")}
    values = {id_: used[name] if idle.isdisjoint(of.values()) else 0 for id_, (name, of) in ids.items()}
    value = eval(expression, {"FILL": lambda metric, _else: metric, **values})  # noqa: S307 - arithmetic, in a test
    usd = list_prices().usd
    requests = 1_000 * usd["dynamodb_write_unit"] + 500 * usd["dynamodb_read_unit"] + 500 * usd["lambda_request"]
    assert value == pytest.approx(2 * (requests + 50 * 0.0000166667))


def test_prices_have_no_exponent_and_all_that_is_added_may_be_missing() -> None:
    deployment = Deployment.of(chain("A"), "A")
    flow_of(deployment).dashboard()
    expression, ids = cost_of(deployment)
    assert not re.search(r"\de-?\d", expression)
    assert {*re.findall(r"FILL\((\w+), 0\)", expression)} == {*ids} - {"started"}


def test_memory_that_only_the_deployment_knows_is_in_the_cost() -> None:
    deployment = Deployment.new()
    memory = CfnParameter(deployment.stack, "Memory", type="Number", default=512)
    own = function(deployment.stack, "A", memory_size=memory.value_as_number)
    deployment.flow(chain("A"), {"A": own}).dashboard()
    assert "Memory / 1024000" in cost_of(deployment)[0]


def test_alarms_and_dashboard_are_as_cloudformation_wants_them(watched: Deployment) -> None:
    assert complaints(watched.template) == []


Identity = tuple[str, str, tuple[tuple[str, str], ...]]
"""Namespace, name and dimensions: what CloudWatch tells metrics apart by."""

RUNTIME = Path(unum_runtime.__file__).parent


def test_alarms_and_dashboard_ask_for_the_metrics_that_functions_write(
    watched: Deployment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A metric that only one side renames would leave an alarm silent for ever."""
    written = {each for line in lines(watched) for each in identities(line)}
    monkeypatch.setenv("UNUM_METRICS", watched.services("A")["Flow"]["metrics"])
    timer_function._log_refused("Flow", "no event", "nobody")
    written |= {*identities(json.loads(capsys.readouterr().out))}
    dashboard = {(space, name, tuple(sorted(of.items()))) for space, name, of in shown(watched) if space == "Unum"}
    assert dashboard == written
    alarms = [each["Properties"] for each in watched.all("CloudWatch::Alarm").values()]
    asked = {
        (each["Namespace"], each["MetricName"], tuple((one["Name"], one["Value"]) for one in each["Dimensions"]))
        for each in alarms
        if each.get("Namespace") == "Unum"
    }
    assert {name for _, name, _ in asked} >= {"ExecutionsSilent", "LateEvents", "ExecutionsAbandoned"}
    assert asked <= written


def test_the_alarm_on_age_asks_for_the_metric_that_sweeps_write() -> None:
    deployment = Deployment.of(chain("A"), "A")
    flow_of(deployment).add_alarms(oldest_running=Duration.days(2))
    alarm = deployment.properties("Flow/Alarms/OldestRunning")
    line = EmbeddedMetrics(compiled("A"), Metrics.WORKFLOW, SystemClock()).members("oldest running", {"age_ms": 1})
    (dimension,) = alarm["Dimensions"]
    assert [*identities(line)] == [
        (alarm["Namespace"], alarm["MetricName"], ((dimension["Name"], dimension["Value"]),))
    ]
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert directive["Metrics"] == [{"Name": alarm["MetricName"], "Unit": "Milliseconds"}]


def test_the_alarm_on_dead_letters_asks_for_the_failure_queue(watched: Deployment) -> None:
    (alarm,) = (
        each["Properties"]
        for each in watched.all("CloudWatch::Alarm").values()
        if each["Properties"].get("MetricName") == "ApproximateNumberOfMessagesVisible"
    )
    (dimension,) = alarm["Dimensions"]
    queue = watched.logical_id("Flow/Failures")
    assert (alarm["Namespace"], dimension["Name"], flat(dimension["Value"])) == (
        "AWS/SQS",
        "QueueName",
        f"{queue}.QueueName",
    )


def compiled(*keys: str) -> Any:
    definition = WAITING if len(keys) > 1 else chain(*keys)
    return compile_workflow(definition, name="Flow", functions=dict.fromkeys(keys))


def lines(deployment: Deployment) -> Iterator[dict[str, Any]]:
    """Every line that the runtime logs, with the metrics that functions are told to write, for each kind of fields."""
    extent = deployment.services("A")["Flow"]["metrics"]
    metrics = EmbeddedMetrics(compiled("A", "B"), extent, SystemClock())
    numbers = {"duration_ms": 1, "took_ms": 1, "age_ms": 1}
    ends = [{}, {"ended": "SUCCEEDED"}, {"ended": "FAILED"}, {"ended": "TIMED_OUT"}]
    errors = [{}, {"error": THROTTLED}]
    for message, state, end, error in product(messages(), ("A", "B"), ends, errors):
        fields = {"error": "", "status": "ABORTED", "state": state, **numbers, **end, **error}
        if message == "committed" and not error:
            del fields["error"]
        yield metrics.members(message, fields)


def messages() -> set[Any]:
    """The messages of all log lines, from the source of the runtime."""
    found: set[Any] = set()
    for path in RUNTIME.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("log", "_log"):
                found |= {each.value for each in node.args if isinstance(each, ast.Constant)}
    return found


def identities(line: dict[str, Any]) -> Iterator[Identity]:
    """The metrics that CloudWatch finds in a line."""
    for directive in line.get("_aws", {}).get("CloudWatchMetrics", ()):
        for dimensions in directive["Dimensions"]:
            of = tuple(sorted((each, line[each]) for each in dimensions))
            yield from ((directive["Namespace"], each["Name"], of) for each in directive["Metrics"])
