"""Commands for deployed workflows, against DynamoDB in this process."""

import json
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from tests.unit.cli.states_table import ADDRESS, keys, states_table
from tests.unit.client.run_alias import RUN, Answering
from unum_cli.commands.command_errors import CommandFailed, UsageError
from unum_cli.commands.executions import in_stack
from unum_cli.commands.stack import Deployed, all_deployed, deployed
from unum_client import Client
from unum_client.starting import Starts
from unum_compiler import compile_workflow
from unum_runtime.functions.operations.caller import LambdaCaller
from unum_runtime.model.envelope import with_alias
from unum_runtime.store.dynamodb import DynamoStore
from unum_simulator.local import LocalWorkflow

DEFINITION = {"StartAt": "Half", "States": {"Half": {"Type": "Task", "Resource": "half", "End": True}}}


START = with_alias(RUN, "start-w")


class Dropping:
    """An invoker after which nothing happens."""

    def invoke(self, _events: Any) -> None:
        """Accept everything."""


@pytest.fixture(autouse=True)
def executions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A table with an execution that succeeded, one that failed, and one that runs."""
    with states_table(monkeypatch) as store:
        workflow = compile_workflow(DEFINITION, name="w", functions=None)
        local = LocalWorkflow(workflow, {"half": lambda event, _: event["n"] / event["of"]}, store)
        local.run("good", {"n": 1, "of": 2})
        local.run("bad", {"n": 1, "of": 0})
        starts = Starts(caller=Answering(workflow, store, Dropping()), invoker=Dropping(), run_alias=RUN)
        Client(store=store, workflow="w", starts=starts).start({"n": 1}, name="slow")
        yield


@pytest.fixture
def run_alias(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lambda, as far as the run alias of the workflow goes."""
    workflow = compile_workflow(DEFINITION, name="w", functions=None)

    def call(_caller: LambdaCaller, address: str, payload: bytes) -> Any:
        items: Any = boto3.client("dynamodb", region_name="us-east-1")
        store = DynamoStore(items, "states")
        return Answering(workflow, store, Dropping()).call(address, payload)

    monkeypatch.setattr(LambdaCaller, "call", call)


def test_describe_tells_what_is_known(unum: Any) -> None:
    ran = unum("describe", "good", *ADDRESS)
    lines = dict(line.split(maxsplit=1) for line in ran.out.splitlines())
    assert ran.code == 0
    assert lines["status"] == "SUCCEEDED"
    assert (json.loads(lines["input"]), lines["output"]) == ({"n": 1, "of": 2}, "0.5")
    failed = unum("describe", "bad", *ADDRESS)
    assert failed.code == 0
    assert "error    ZeroDivisionError: division by zero" in failed.out
    running = unum("describe", "slow", *ADDRESS)
    assert "status   RUNNING" in running.out
    assert "stopped" not in running.out


def test_describe_as_json(unum: Any) -> None:
    shown = json.loads(unum("describe", "good", *ADDRESS, "--json").out)
    assert (shown["name"], shown["status"], shown["output"], shown["error"]) == ("good", "SUCCEEDED", 0.5, None)
    assert shown["started_at"] <= shown["stopped_at"]


def test_describe_shows_a_receipt_on_demand(unum: Any) -> None:
    assert "receipt" not in unum("describe", "good", *ADDRESS).out
    printed = unum("describe", "good", *ADDRESS, "--receipt").out
    assert "receipt  1 Tasks in 1 invocations, 2 writes of 2 units" in printed
    receipt = json.loads(unum("describe", "good", *ADDRESS, "--receipt", "--json").out)["receipt"]
    assert receipt["usd"] == pytest.approx((0.2 + 2 * 0.625) / 1e6, rel=0.01)


def test_wait_prints_the_output(unum: Any) -> None:
    ran = unum("wait", "good", *ADDRESS, "--steps")
    assert (ran.code, ran.out) == (0, "0.5\n")
    assert "Half" in ran.err


def test_wait_for_a_failed_execution_fails(unum: Any) -> None:
    ran = unum("wait", "bad", *ADDRESS)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("execution bad failed: ZeroDivisionError: division by zero\n")


def test_wait_gives_up(unum: Any) -> None:
    ran = unum("wait", "slow", *ADDRESS, "--timeout", "0")
    assert (ran.code, ran.out) == (1, "")
    assert "'slow' was still running after 0.0 s" in ran.err


def test_steps(unum: Any) -> None:
    heading, row = unum("steps", "good", *ADDRESS).out.splitlines()
    assert heading.split()[:2] == ["STATE", "INDEX"]
    assert row.split()[:2] == ["Half", "-"]
    (line,) = unum("steps", "bad", *ADDRESS, "--json").out.splitlines()
    step = json.loads(line)
    assert (step["state"], step["index"], step["status"], step["error"]) == ("Half", [], "FAILED", "ZeroDivisionError")
    assert "checkpoint" not in step


@pytest.mark.parametrize("command", ["describe", "wait", "steps"])
def test_an_unknown_execution(unum: Any, command: str) -> None:
    ran = unum(command, "nobody", *ADDRESS)
    assert (ran.code, ran.out) == (1, "")
    assert "workflow 'w' has no execution 'nobody'" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("start", "--input", "{"), 2, "--input: line 1, column 2: expected JSON"),
        (("start", "--input", "1"), 2, "--start-alias: expected the ARN of the start alias"),
        (("start", "--input", "1", "--start-alias", "arn", "--name", "a b"), 2, "--name: expected 1 to 80 characters"),
        (("start", "--input", "1", "--start-alias", START, "--name", "good"), 1, "was started with another input"),
    ],
)
@pytest.mark.usefixtures("run_alias")
def test_starts_that_are_refused(unum: Any, arguments: tuple[str, ...], code: int, said: str) -> None:
    ran = unum(*arguments, *ADDRESS)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err


def test_where_the_workflow_is_must_be_said(unum: Any) -> None:
    for arguments in ((), ("--table", "t"), ("--workflow", "w")):
        ran = unum("describe", "good", *arguments)
        assert ran.code == 2
        assert "expected --stack STACK, or --table TABLE and --workflow NAME" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("describe", "good", "--table", "states"),
        ("start", "--input", "{}", "--start-alias", "arn"),
        ("nudge", "good", "--control-alias", "arn"),
        ("list", "--payload-bucket", "large"),
        ("send-task-heartbeat", "--token", "t", "--start-alias", "arn"),
        ("get-activity-task", "resize", "--queue-url", "https://sqs/resize"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_stack_and_an_address(unum: Any, arguments: tuple[str, ...]) -> None:
    ran = unum(*arguments, "--stack", "Shop")
    assert (ran.code, ran.out) == (2, "")
    assert f"--stack Shop: its outputs name the workflow's addresses, got {arguments[-2]} as well" in ran.err


@pytest.mark.parametrize(("code", "kind"), [("ValidationError", UsageError), ("AccessDenied", CommandFailed)])
def test_a_stack_that_is_not_shown(code: str, kind: type[Exception]) -> None:
    cloudformation: Any = boto3.client("cloudformation")
    session: Any = Namespace(create=lambda _name: cloudformation)
    with Stubber(cloudformation) as stub:
        stub.add_client_error("describe_stacks", code)
        with pytest.raises(kind, match=f"^--stack Nowhere: .*{code}"):
            in_stack(session, Namespace(stack="Nowhere", workflow=None))


def test_aws_answers_are_told(unum: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = unum("describe", "good", "--table", "nowhere", "--workflow", "w")
    assert ran.code == 1
    assert "ResourceNotFoundException" in ran.err
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    ran = unum("describe", "good", *ADDRESS)
    assert ran.code == 2
    assert "no AWS region: give --region REGION" in ran.err


OUTPUTS = {
    "OrdersWorkflow": "orders",
    "OrdersTable": "t1",
    "OrdersStartAlias": "a1",
    "OrdersRetention": "604800",
    "TableWorkflow": "bills",
    "TableTable": "t2",
    "TableStartAlias": "a2",
    "TableRetention": "86400",
    "UrlsTable": "another",
    "Site": "https://example.org",
}


def test_a_stack_says_where_its_workflows_are() -> None:
    assert deployed("S", OUTPUTS, "bills") == Deployed(
        workflow="bills", table="t2", start_alias="a2", retention_s=86400
    )
    one = {key: value for key, value in OUTPUTS.items() if not key.startswith("Table")}
    assert deployed("S", one, None) == Deployed(workflow="orders", table="t1", start_alias="a1")


def test_stack_may_say_it_in_one_output_for_each_workflow() -> None:
    addresses = {"Workflow": "orders", "Table": "t1", "StartAlias": "a1", "Retention": "60"}
    outputs = {
        "OrdersWorkflow": json.dumps({**addresses, "Activities": {"work": "url"}, "Later": ["unknown"]}),
        "BillsWorkflow": json.dumps({**addresses, "Workflow": "bills"}),
        "OtherWorkflow": "{not JSON",
        "ForeignWorkflow": '{"Workflow": "w"}',
        **{key: value for key, value in OUTPUTS.items() if key.startswith("Table")},
    }
    assert {each.workflow for each in all_deployed(outputs)} == {"bills", "orders"}
    assert deployed("S", outputs, "Orders") == Deployed(
        workflow="orders", table="t1", start_alias="a1", retention_s=60, activities={"work": "url"}
    )


@pytest.mark.parametrize(
    ("outputs", "workflow", "said"),
    [
        (OUTPUTS, None, "--stack S: expected one workflow, found bills, orders; choose one with --workflow NAME"),
        (OUTPUTS, "bill", "--workflow bill: stack S has no such workflow; it has bills, orders"),
        ({"UrlsTable": "t"}, None, "--stack S: expected one workflow, found none"),
    ],
)
def test_a_stack_without_the_workflow(outputs: dict[str, str], workflow: str | None, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        deployed("S", outputs, workflow)


@pytest.mark.usefixtures("run_alias")
def test_a_start_that_was_made_before_is_told(unum: Any) -> None:
    given = ("start", *ADDRESS, "--start-alias", START, "--name", "good", "--input", '{"of": 2, "n": 1}')
    assert unum(*given).out.startswith("good had been started at 20")
    reply = json.loads(unum(*given, "--json").out)
    assert (reply["name"], reply["is_new"]) == ("good", False)


def test_a_start_whose_alias_cannot_be_invoked_fails(unum: Any) -> None:
    where = ("--start-alias", "nobody:start-w", "--region", "us-east-1")
    ran = unum("start", *ADDRESS, *where, "--input", "1", "--name", "new")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("nobody:run-w: ")
    assert "has no execution 'new'" in unum("describe", "new", *ADDRESS).err


def test_list_shows_the_newest_first(unum: Any) -> None:
    ran = unum("list", *ADDRESS)
    heading, *rows = ran.out.splitlines()
    assert ran.code == 0
    assert heading.split() == ["STARTED", "STATUS", "AFTER", "NAME"]
    assert [row.split()[-1] for row in rows] == ["slow", "bad", "good"]
    assert [row.split()[3] for row in rows] == ["RUNNING", "FAILED", "SUCCEEDED"]


def test_list_shows_one_status_and_as_many_as_asked_for(unum: Any) -> None:
    def shown(*options: str) -> list[Any]:
        return [json.loads(line) for line in unum("list", *options, "--json", *ADDRESS).out.splitlines()]

    (good,) = shown("--status", "SUCCEEDED")
    assert good.keys() == {"name", "status", "started_at", "stopped_at", "attributes"}
    assert [each["name"] for each in shown("--limit", "2")] == ["slow", "bad"]
    assert [each["stopped_at"] for each in shown("--status", "RUNNING")] == [None]


def test_attributes_are_given_listed_and_described(unum: Any, run_alias: None) -> None:  # noqa: ARG001 - for Lambda
    alias = ("--start-alias", RUN.replace(":run-", ":start-"))
    given = ("--attribute", "customer=7", "--attribute", "note=a=b")
    assert unum("start", "--input", "{}", "--name", "labelled", *given, *ADDRESS, *alias).code == 0
    assert "about    customer=7, note=a=b" in unum("describe", "labelled", *ADDRESS).out
    assert json.loads(unum("describe", "labelled", *ADDRESS, "--json").out)["attributes"]["customer"] == "7"
    heading, row = unum("list", "--attribute", "customer=7", *ADDRESS).out.splitlines()
    assert row.endswith("labelled  customer=7, note=a=b")
    assert unum("list", "--attribute", "customer=8", *ADDRESS).out.splitlines() == [heading]
    assert len(unum("list", *ADDRESS).out.splitlines()) == 5


@pytest.mark.parametrize("bad", ["customer", "=7", "a b=7", "customer="])
def test_a_malformed_attribute_is_refused(unum: Any, bad: str) -> None:
    for ran in (unum("list", "--attribute", bad, *ADDRESS), unum("start", "--attribute", bad, *ADDRESS)):
        assert (ran.code, ran.out) == (2, "")
        assert "--attribute" in ran.err


def test_list_needs_an_index(unum: Any) -> None:
    boto3.client("dynamodb").create_table(
        TableName="plain",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        KeySchema=keys("pk", "sk"),
    )
    ran = unum("list", "--table", "plain", "--workflow", "w")
    assert (ran.code, ran.out) == (1, "")
    assert "list_executions=True" in ran.err
