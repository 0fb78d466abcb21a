"""Entry point of Lambda, with the table in moto, in workflows that end in their first function."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import boto3
import pytest
from moto import mock_aws

from unum_client import Client, Description
from unum_compiler import compile_workflow
from unum_compiler.parsing.task_resources import SERVICES
from unum_runtime.errors import ExecutionDoesNotExist, NoRoute, NotOurEvent, StartsPaused, StoreError
from unum_runtime.features.services import service_function
from unum_runtime.functions import configuration, definitions, runtime_factory, task_function
from unum_runtime.model.checkpoint import start_record
from unum_runtime.model.envelope import start_event, start_request
from unum_runtime.model.naming import WORKFLOWS_FOLDER, Execution
from unum_runtime.model.requests import INPUT, run_request
from unum_runtime.protocol.control import pausing
from unum_runtime.protocol.history.start_records import record_start
from unum_runtime.protocol.requests.definition_records import read_definition
from unum_runtime.store.dynamodb import DynamoStore

TABLE = "state"
FUNCTION = "arn:aws:lambda:us-east-1:123456789012:function:f"
CACHES = [
    each
    for module in (configuration, definitions, runtime_factory, task_function)
    for each in vars(module).values()
    if hasattr(each, "cache_clear")
]


@dataclass
class Context:
    """Of Lambda's context, what the handler looks at."""

    qualifier: str
    aws_request_id: str = "request"
    function_version: str = "7"

    @property
    def invoked_function_arn(self) -> str:
        return f"{FUNCTION}:{self.qualifier}"

    def get_remaining_time_in_millis(self) -> int:
        return 30_000


@dataclass
class Deployed:
    """A workflow in one function."""

    client: Client

    def run(self, value: Any, alias: str = "start-Flow") -> Description:
        started = task_function.handle(value, Context(alias))
        return self.client.describe(started["execution"])


Deploy = Callable[..., Deployed]


@pytest.fixture
def sqs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("UNUM_CLIENT", "botocore")  # moto stands in its way
    with mock_aws():
        yield boto3.client("sqs")


@pytest.fixture
def deploy(sqs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deploy]:  # noqa: ARG001 - for moto
    """Deploys a Task, or a chain of such: (its fields, user code, what the environment says beside)."""

    def deployed(
        task: dict[str, Any],
        code: Callable[..., Any] | None = None,
        *,
        chain: str = "T",
        handlers: Mapping[str, str] = MappingProxyType({}),
        memoize: bool = False,
        **service: Any,
    ) -> Deployed:
        states = {name: {"Type": "Task", **task} for name in chain}
        for name, following in zip(chain, [*chain[1:], None], strict=True):
            states[name] |= {"Next": following} if following else {"End": True}
        machine = {"StartAt": chain[0], "States": states}
        workflow = compile_workflow(machine, name="Flow", functions=None)
        with_handlers = {
            each.name: replace(each, handler=handlers.get(each.name), memoize=memoize) for each in workflow.tasks
        }
        workflow = replace(workflow, states={**workflow.states, **with_handlers})
        folder = tmp_path / WORKFLOWS_FOLDER
        folder.mkdir()
        (folder / "Flow.json").write_text(workflow.to_json())
        monkeypatch.syspath_prepend(tmp_path)
        host = next(workflow.tasks).function
        about = {"table": TABLE, "hosts": [host], "routes": {}, "retention_s": 604_800, "start_alias": "start-Flow"}
        monkeypatch.setenv("UNUM_WORKFLOWS", json.dumps({"Flow": about | service}))
        if code is not None:
            monkeypatch.setenv("UNUM_HANDLER", "code_of_user.handle")
            module = ModuleType("code_of_user")
            module.handle = code  # type: ignore[attr-defined]
            monkeypatch.setitem(sys.modules, "code_of_user", module)
        task_function._initialize()
        make_table()
        return Deployed(Client.connect(table=TABLE, workflow="Flow"))

    _forget()
    yield deployed
    _forget()


def _forget() -> None:
    definitions._due_ms.clear()
    definitions._stored.clear()
    definitions._kept.clear()
    for cache in (*CACHES, service_function._clients):
        cache.cache_clear()


def make_table() -> None:
    boto3.client("dynamodb").create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    )


def test_tasks_of_one_delivery_do_not_share_what_they_set_in_the_context(deploy: Deploy) -> None:
    seen = []

    def code(event: Any, context: Any) -> Any:
        seen.append(getattr(context, "tenant", None))
        context.tenant = context.unum.state
        return [*event, context.unum.state]

    assert deploy({"Resource": "F"}, code, chain="ABC", fusion=True).run([]).output == ["A", "B", "C"]
    assert seen == [None, None, None]


def test_user_code_gets_its_input_and_its_invocation(deploy: Deploy) -> None:
    deployed = deploy({"Resource": "F"}, lambda event, context: {**event, "state": context.unum.state})
    assert deployed.run({"n": 1}).output == {"n": 1, "state": "T"}


def of_orders(monkeypatch: pytest.MonkeyPatch, **handlers: Callable[[Any, Any], Any]) -> None:
    """Let the function have a handler for each key, in the module `orders`."""
    monkeypatch.setenv("UNUM_HANDLERS", json.dumps({key: f"orders.{key.lower()}" for key in handlers}))
    module = ModuleType("orders")
    for key, handler in handlers.items():
        setattr(module, key.lower(), handler)
    monkeypatch.setitem(sys.modules, "orders", module)


def test_each_task_runs_the_handler_that_it_names(deploy: Deploy, monkeypatch: pytest.MonkeyPatch) -> None:
    of_orders(monkeypatch, Split=lambda event, _: [*event, "split"], Price=lambda event, _: [*event, "price"])
    deployed = deploy({"Resource": "Split"}, chain="AB", handlers={"A": "Split", "B": "Price"})
    assert deployed.run([]).output == ["split", "price"]


def test_who_calls_a_function_with_several_handlers_is_told_its_keys(
    deploy: Deploy, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_orders(monkeypatch, Split=lambda event, _: event)
    deploy({"Resource": "Split"}, handlers={"T": "Split"})
    with pytest.raises(NotOurEvent, match=r"handlers for the Tasks of its workflows alone: \['Split'\]"):
        task_function.handle({}, Context("$LATEST"))
    with pytest.raises(NotOurEvent, match=r"handler: expected one of \['Split'\], got 'Pack'"):
        runtime_factory.user_handler("Pack")


def test_a_handler_that_is_not_in_the_code_fails_the_sandbox(deploy: Deploy, monkeypatch: pytest.MonkeyPatch) -> None:
    of_orders(monkeypatch, Split=lambda event, _: event)
    monkeypatch.setenv("UNUM_HANDLERS", '{"Split": "orders.split", "Price": "orders.price"}')
    with pytest.raises(AttributeError, match="price"):
        deploy({"Resource": "Split"}, handlers={"T": "Split"})


def test_a_start_stores_the_definition_as_this_function_has_it(deploy: Deploy) -> None:
    deployed = deploy({"Resource": "F", "Comment": "${Value1}"}, lambda event, _: event, values={"Value1": 'a "b"'})
    deployed.run({})
    (step,) = deployed.client.steps("request")
    found = read_definition(deployed.client.store, "Flow", step.checkpoint.digest)
    assert found.to_json() == definitions.load_workflow("Flow").to_json()


def test_a_start_record_of_a_client_stores_the_definition_too(deploy: Deploy) -> None:
    deployed = deploy({"Resource": "F"}, lambda event, _: event)
    draft = start_record(Execution("e", int(time.time() * 1000)), {})
    record_start(deployed.client.store, "Flow", draft, expires_at_s=draft.committed_ms)
    task_function.handle(start_request("e"), Context("run-Flow"))
    digest = definitions.load_workflow("Flow").digest
    assert read_definition(deployed.client.store, "Flow", digest).digest == digest


def test_a_start_goes_on_without_permission_for_definitions(
    deploy: Deploy, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    deployed = deploy({"Resource": "F"}, lambda event, _: event)
    read = DynamoStore.read

    def denied(store: DynamoStore, keys: Any) -> Any:
        wanted = [*keys]
        if any(key.partition.startswith("definition:") for key in wanted):
            raise StoreError("get_item: AccessDeniedException")
        return read(store, wanted)

    monkeypatch.setattr(DynamoStore, "read", denied)
    assert deployed.run({"n": 1}).output == {"n": 1}
    assert "definition not stored" in capsys.readouterr().out


def test_a_paused_workflow_starts_nothing_at_any_alias(deploy: Deploy) -> None:
    flow = deploy({"Resource": "F"}, lambda event, _: event)
    rt = runtime_factory.runtime_here("Flow", Context("7"))
    pausing.answer(rt, pausing.request("pause", reason="why not"))
    for alias, event in (("start-Flow", {"n": 1}), ("run-Flow", start_event("named", 1))):
        with pytest.raises(StartsPaused, match="why not; nothing was started"):
            task_function.handle(event, Context(alias))
    answer = task_function.handle(run_request("named", {INPUT: 1}), Context("run-Flow"))
    assert answer["error"] == "StartsPaused"
    pause = flow.client.describe_pause()
    assert pause is not None
    assert pause.reason == "why not"
    for name in ("request", "named"):
        with pytest.raises(ExecutionDoesNotExist):
            flow.client.describe(name)


@dataclass
class Sent:
    """An invoker that keeps what was sent."""

    events: list[tuple[str, Any]] = field(default_factory=list)

    def invoke(self, events: Any) -> None:
        self.events += [(address, json.loads(payload)) for address, payload in events]


def test_a_forced_execution_runs_on_a_definition_of_its_own(deploy: Deploy, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []
    flow = deploy({"Resource": "F"}, lambda event, _: runs.append(event) or len(runs), memoize=True)
    sent = Sent()
    monkeypatch.setattr(runtime_factory, "invoker", lambda: sent)
    assert [flow.run(5).output, flow.run(start_event("again", 5), "run-Flow").output] == [1, 1]
    request = run_request("forced", {INPUT: 5}, force=True)
    assert [task_function.handle(request, Context("run-Flow"))["IsNew"] for _ in range(2)] == [True, False]
    assert sent.events == [(f"{FUNCTION}:run-Flow", start_request("forced"))] * 2
    for _ in range(2):
        task_function.handle(start_request("forced"), Context("run-Flow"))
    assert flow.client.describe("forced").output == 2
    assert flow.run(start_event("later", 5), "run-Flow").output == 2
    assert (runs, flow.client.describe("again").output) == ([5, 5], 1)
    own = flow.client.definition("forced")
    assert (own.variant, own.digest != definitions.load_workflow("Flow").digest) == ("forced", True)
    for name, force in (("forced", False), ("again", True)):
        answer = task_function.handle(run_request(name, {INPUT: 5}, force=force), Context("run-Flow"))
        assert answer["error"] == "ExecutionAlreadyExists", answer


def test_a_start_record_leads_to_no_definition_but_a_variant(deploy: Deploy, monkeypatch: pytest.MonkeyPatch) -> None:
    flow = deploy({"Resource": "F"}, lambda event, _: event, memoize=True)
    flow.run(1)
    monkeypatch.setattr(runtime_factory, "invoker", Sent)
    draft = start_record(Execution("e", int(time.time() * 1000)), {}).saying(
        digest=definitions.load_workflow("Flow").digest
    )
    record_start(flow.client.store, "Flow", draft, expires_at_s=draft.committed_ms)
    with pytest.raises(ExecutionDoesNotExist, match="expected a variant"):
        task_function.handle(start_request("e"), Context("run-Flow"))
    assert [*flow.client.steps("e")] == []


def test_a_workflow_that_shares_no_results_forces_nothing(deploy: Deploy) -> None:
    deploy({"Resource": "F"}, lambda event, _: event)
    answer = task_function.handle(run_request("e", {INPUT: 5}, force=True), Context("run-Flow"))
    assert "expected a Task with memoize in workflow 'Flow'" in answer["message"]


def test_a_forced_start_waits_until_its_definition_is_stored(deploy: Deploy, monkeypatch: pytest.MonkeyPatch) -> None:
    flow = deploy({"Resource": "F"}, lambda event, _: event, memoize=True)
    monkeypatch.setattr(definitions, "_write", lambda _rt: None)
    with pytest.raises(StoreError, match="is not stored yet"):
        task_function.handle(run_request("e", {INPUT: 5}, force=True), Context("run-Flow"))
    with pytest.raises(ExecutionDoesNotExist):
        flow.client.describe("e")


def test_an_event_that_names_its_execution_starts_it_once(deploy: Deploy) -> None:
    deployed = deploy({"Resource": "F"}, lambda event, _context: event)
    assert deployed.run(start_event("order-17", {"n": 1}), "run-Flow").output == {"n": 1}
    again = task_function.handle(start_event("order-17", {"n": 1}), Context("run-Flow", aws_request_id="another"))
    assert again == {"workflow": "Flow", "execution": "order-17"}
    assert deployed.client.describe("order-17").output == {"n": 1}


@pytest.mark.parametrize(
    ("level", "metrics", "logged"),
    [
        ("info", "none", ["started", "committed", "finished"]),
        ("warn", "none", []),
        ("warn", "workflow", ["started", "committed"]),  # which are counted
    ],
)
def test_routine_is_logged_where_it_is_wanted(
    level: str, metrics: str, logged: list[str], deploy: Deploy, capsys: pytest.CaptureFixture[str]
) -> None:
    deployed = deploy({"Resource": "F"}, lambda event, _context: event, log_level=level, metrics=metrics)
    deployed.run({})
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["message"] for line in lines if line["source"] == "unum"] == logged


def test_refused_events_are_logged_at_every_level(deploy: Deploy, capsys: pytest.CaptureFixture[str]) -> None:
    deploy({"Resource": "F"}, lambda event, _context: event, log_level="warn")
    with pytest.raises(ExecutionDoesNotExist, match="no start record"):
        task_function.handle(start_request("nobody-wrote-it"), Context("run-Flow"))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["message"] for line in lines] == ["late", "refused"]
    assert lines[0]["LateEvents"] == 1


def test_user_code_is_interrupted_when_the_task_s_time_is_over(deploy: Deploy) -> None:
    deployed = deploy({"Resource": "F", "TimeoutSeconds": 1}, lambda _event, _context: time.sleep(600))
    begun = time.monotonic()
    ended = deployed.run({})
    assert time.monotonic() - begun < 300
    assert ended.error == "States.Timeout"


def test_values_take_the_place_of_their_names(deploy: Deploy) -> None:
    task = {"Resource": "F", "Parameters": {"queue": "${Value1}", "text": "a ${Value2}"}}
    values = {"Value1": "https://sqs/1/q", "Value2": 'quote " and \\'}
    deployed = deploy(task, lambda event, _context: event, values=values)
    assert deployed.run({}).output == {"queue": "https://sqs/1/q", "text": 'a quote " and \\'}


def test_a_definition_that_no_layer_brings(deploy: Deploy) -> None:
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket="assets")
    machine = {"StartAt": "T", "States": {"T": {"Type": "Task", "Resource": "F", "End": True, "ResultPath": "$.r"}}}
    s3.put_object(
        Bucket="assets",
        Key="of/Flow.json",
        Body=compile_workflow(machine, name="Flow", functions=None).to_json().encode(),
    )
    deployed = deploy({"Resource": "F"}, lambda _event, _context: 1, definition="s3://assets/of/Flow.json")
    assert deployed.run({}).output == {"r": 1}


def test_the_context_object_says_where_the_workflow_runs(deploy: Deploy) -> None:
    task = {"Resource": "F", "Parameters": {"id.$": "$$.Execution.Id"}}
    deployed = deploy(task, lambda event, _context: event)
    assert deployed.run({}).output == {"id": "arn:aws:states:us-east-1:123456789012:execution:Flow:request"}


def test_services_are_called(deploy: Deploy, sqs: Any) -> None:
    url = sqs.create_queue(QueueName="letters")["QueueUrl"]
    task = {
        "Resource": "arn:aws:states:::sqs:sendMessage",
        "Parameters": {"QueueUrl": "${Letters}", "MessageBody.$": "$"},
        "ResultPath": "$.sent",
    }
    deployed = deploy(task, hosts=[SERVICES], values={"Letters": url})
    assert deployed.run({"n": 1}).output["sent"]["MessageId"]
    (letter,) = sqs.receive_message(QueueUrl=url)["Messages"]
    assert json.loads(letter["Body"]) == {"n": 1}


def test_another_try_waits_in_the_queue(deploy: Deploy, sqs: Any) -> None:
    url = sqs.create_queue(QueueName="timer")["QueueUrl"]
    tries: list[int] = []

    def flaky(_event: Any, _context: Any) -> int:
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("not yet")
        return len(tries)

    task = {"Resource": "F", "Retry": [{"ErrorEquals": ["ValueError"], "IntervalSeconds": 1}]}
    deployed = deploy(task, flaky, timer=url)
    assert deployed.run({}).output is None
    (message,) = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=5)["Messages"]
    waiting = json.loads(message["Body"])
    assert waiting["address"] == f"{FUNCTION}:7"
    assert task_function.handle(waiting["event"], Context("7")) is None
    assert deployed.client.describe("request").output == 2


def test_a_function_without_a_timer_says_so(deploy: Deploy) -> None:
    task = {"Resource": "F", "Retry": [{"ErrorEquals": ["States.ALL"]}]}
    deployed = deploy(task, lambda _event, _context: 1 / 0)
    with pytest.raises(Exception, match="no timer: 1 events are delayed"):
        deployed.run({})


def test_a_function_of_the_workflow_s_own_answers_nobody_else(deploy: Deploy) -> None:
    task = {"Resource": "arn:aws:states:::sqs:sendMessage", "Parameters": {"QueueUrl": "u", "MessageBody": "m"}}
    deploy(task, hosts=[SERVICES])
    with pytest.raises(NotOurEvent, match="has no user code"):
        task_function.handle({}, Context("$LATEST"))


WAITING = {
    "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
    "Parameters": {"FunctionName": "F", "Payload": {"token.$": "$$.Task.Token", "input.$": "$"}},
}


def posted(**content: Any) -> dict[str, Any]:
    return {"version": "2.0", "requestContext": {"http": {"method": "POST"}}, "body": json.dumps(content)}


def test_http_requests_answer_tasks_at_their_own_alias_alone(deploy: Deploy) -> None:
    seen: list[Any] = []
    deployed = deploy(WAITING, lambda event, _context: seen.append(event))
    request = posted(taskToken="t", heartbeat=True)
    assert deployed.run(request).input == request
    assert seen[0]["input"] == request
    answer = task_function.handle(posted(taskToken=seen[0]["token"], heartbeat=True), Context("respond-Flow"))
    assert (answer["statusCode"], answer["body"]) == (200, "{}")
    answer = task_function.handle(request, Context("respond-Flow"))
    assert (answer["statusCode"], json.loads(answer["body"])["__type"]) == (400, "InvalidToken")
    assert len(seen) == 1


def test_nothing_starts_through_the_alias_for_http_requests(deploy: Deploy) -> None:
    seen: list[Any] = []
    deploy(WAITING, lambda event, _context: seen.append(event))
    assert task_function.handle({"n": 1}, Context("respond-Flow"))["statusCode"] == 400
    assert seen == []


def test_only_where_a_workflow_starts_its_tasks_are_answered(deploy: Deploy) -> None:
    deploy(WAITING, lambda event, _context: event, start_alias=None)
    request = posted(taskToken="t", heartbeat=True)
    assert task_function.handle(request, Context("respond-Flow")) == request


def test_what_is_counted_is_printed_as_lines_of_json_and_nothing_else(
    deploy: Deploy, capsys: pytest.CaptureFixture[str]
) -> None:
    deploy({"Resource": "F"}, lambda event, _context: event, metrics="nodes").run({})
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["message"] for line in lines if "_aws" in line] == ["started", "committed"]
    assert all(line["Workflow"] == "Flow" for line in lines if "_aws" in line)
    assert lines[1]["NodeTime"] == lines[1]["duration_ms"]


def test_a_delivery_that_is_put_off_is_counted(deploy: Deploy, capsys: pytest.CaptureFixture[str]) -> None:
    deploy({"Resource": "F"}, lambda event, _context: event)
    boto3.client("dynamodb").delete_table(TableName=TABLE)
    with pytest.raises(StoreError):
        task_function.handle({}, Context("start-Flow"))
    lines = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    (line,) = (line for line in lines if line["message"] == "put off")
    assert (line["message"], line["error"], line["Throttles"]) == ("put off", "StoreError", 1)


def test_a_function_that_knows_no_way_is_no_throttle(deploy: Deploy, capsys: pytest.CaptureFixture[str]) -> None:
    deployed = deploy({"Resource": "F", "Retry": [{"ErrorEquals": ["States.ALL"]}]}, lambda _event, _context: 1 / 0)
    with pytest.raises(NoRoute):
        deployed.run({})
    assert "put off" not in capsys.readouterr().out
