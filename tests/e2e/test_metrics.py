"""Figures of what is late, silent, dead or old: functions write them as the alarms and the dashboard ask for them."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.conftest import Deployment, until
from tests.e2e.lost_starts import start_lost
from tests.patience import PATIENCE_S
from unum_client import Client
from unum_emulator.process import Emulator
from unum_runtime.model.envelope import start_request, with_alias
from unum_runtime.model.naming import run_alias

pytestmark = pytest.mark.e2e

Metric = tuple[str, str, tuple[tuple[str, str], ...]]
"""Namespace, name and dimensions: what CloudWatch tells metrics apart by."""

AGE_H = 3


class Earlier:
    """A clock that shows how late it was some hours ago."""

    def now_ms(self) -> int:
        return int((time.time() - AGE_H * 3600) * 1000)


@pytest.fixture(scope="module")
def client(deployment: Deployment) -> Client:
    return deployment.client("Shown", "ShopOrders")


@pytest.fixture(scope="module")
def lines(deployment: Deployment, client: Client, emulator: Emulator) -> dict[Metric, list[float]]:
    """Values of the metrics in the logs, after a lost start, a late event and an unreadable dead letter."""
    outputs, functions = deployment.outputs["Shown"], deployment.session.client("lambda")
    client.run({"case": "fails"}, timeout_s=PATIENCE_S)
    start_lost(client, {"case": "lost"}, "lost-of-metrics", Earlier())
    run = with_alias(str(client.start_alias), run_alias(client.workflow))
    functions.invoke(FunctionName=run, Payload=json.dumps(start_request("nobody")))
    url = outputs["ShopOrdersFailureQueue"]
    deployment.session.client("sqs").send_message(QueueUrl=url, MessageBody="no letter")
    sweep = f"{outputs['ShopOrdersControlFunction']}:sweep-{client.workflow}"
    deployment.invoke(sweep, schedule(deployment, sweep))
    until(lambda: any(name == "DeadLetters" for _, name, _ in written(emulator)))
    client.wait("lost-of-metrics", timeout_s=PATIENCE_S)
    return written(emulator)


def schedule(deployment: Deployment, target: str) -> Any:
    """The input of the schedule that invokes `target`."""
    scheduler = deployment.session.client("scheduler")
    found = [each for page in scheduler.get_paginator("list_schedules").paginate() for each in page["Schedules"]]
    inputs = (scheduler.get_schedule(Name=each["Name"], GroupName=each["GroupName"])["Target"] for each in found)
    return next(json.loads(each["Input"]) for each in inputs if each["Arn"] == target)


def written(emulator: Emulator) -> dict[Metric, list[float]]:
    """Values by metric in the logs of the stack's functions, as CloudWatch reads them."""
    found: dict[Metric, list[float]] = {}
    for log in emulator.logs.glob("Shown-*.log"):
        for line in log.read_text().splitlines():
            if '"CloudWatchMetrics"' in line:
                for metric, value in values(json.loads(line[line.index("{") :])):
                    found.setdefault(metric, []).append(value)
    return found


def values(line: Any) -> Iterator[tuple[Metric, float]]:
    for directive in line["_aws"]["CloudWatchMetrics"]:
        for dimensions in directive["Dimensions"]:
            of = tuple((each, line[each]) for each in dimensions)
            yield from (
                ((directive["Namespace"], each["Name"], of), line[each["Name"]]) for each in directive["Metrics"]
            )


def alarmed(deployment: Deployment) -> dict[str, Metric]:
    """The metrics of the deployed alarms of the stack, by name."""
    alarms = deployment.session.client("cloudwatch").get_paginator("describe_alarms").paginate()
    own = [each for page in alarms for each in page["MetricAlarms"] if each["AlarmName"].startswith("Shown-")]
    of = {each["MetricName"]: tuple((one["Name"], one["Value"]) for one in each["Dimensions"]) for each in own}
    return {each["MetricName"]: (each["Namespace"], each["MetricName"], of[each["MetricName"]]) for each in own}


@pytest.mark.parametrize("name", ["LateEvents", "ExecutionsSilent", "OldestRunningTime", "ExecutionsFailed"])
def test_functions_write_what_alarms_ask_for(
    deployment: Deployment, client: Client, lines: dict[Metric, list[float]], name: str
) -> None:
    metric = alarmed(deployment)[name]
    assert metric == ("Unum", name, (("Workflow", client.workflow),))
    assert lines[metric]


def test_the_age_of_the_oldest_is_in_milliseconds(client: Client, lines: dict[Metric, list[float]]) -> None:
    age_ms = max(lines["Unum", "OldestRunningTime", (("Workflow", client.workflow),)])
    assert AGE_H * 3_600_000 <= age_ms < (AGE_H + 1) * 3_600_000


def test_dead_letters_are_counted_and_the_alarm_watches_their_queue(
    deployment: Deployment, client: Client, lines: dict[Metric, list[float]]
) -> None:
    assert lines["Unum", "DeadLetters", (("Workflow", client.workflow),)]
    queue = deployment.outputs["Shown"]["ShopOrdersFailureQueue"].rpartition("/")[2]
    assert alarmed(deployment)["ApproximateNumberOfMessagesVisible"][2] == (("QueueName", queue),)


def test_the_dashboard_shows_all_that_was_written(deployment: Deployment, lines: dict[Metric, list[float]]) -> None:
    body = json.loads(deployment.session.client("cloudwatch").get_dashboard(DashboardName="Orders")["DashboardBody"])
    shown = set()
    for widget in body["widgets"]:
        for namespace, *rest in widget["properties"]["metrics"]:
            if isinstance(namespace, str):  # and no expression
                name, *texts = (part for part in rest if isinstance(part, str))
                shown.add((namespace, name, tuple(zip(texts[::2], texts[1::2], strict=True))))
    assert {*lines} <= shown
