"""boto3's client for executions of a real workflow, in a table of moto; boto3's own client has errors and all else."""

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from moto import mock_aws

from tests.contract.conftest import REGION, _dynamo_store
from tests.unit.client.run_alias import Answering
from unum_client import Client
from unum_client.stepfunctions import UNSUPPORTED
from unum_compiler import compile_workflow
from unum_constructs.layer.step_functions import STEP_FUNCTIONS
from unum_runtime.clock import SkippingClock
from unum_runtime.model import list_index, naming
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.envelope import MARK, WIRE_VERSION
from unum_runtime.protocol.control import describe, operator_requests
from unum_runtime.protocol.requests.answers import MAX_BYTES, answered
from unum_simulator.local import LocalWorkflow
from unum_stepfunctions import addresses, boto3, client, counterparts, listing
from unum_stepfunctions.addresses import Addresses
from unum_stepfunctions.client import StepFunctions

HOME = f"arn:aws:lambda:{REGION}:000000000000:function"
START, DESCRIBE, STOP, OPERATE = (
    f"{HOME}:{function}:{kind}-w"
    for function, kind in [("entry", "start"), ("control", "describe"), ("control", "stop"), ("control", "operate")]
)
EXECUTION = f"arn:aws:states:{REGION}:000000000000:execution:w:"
MACHINE = f"arn:aws:states:{REGION}:000000000000:stateMachine:real"


class Aws:
    """Lambda and DynamoDB as boto3 has them, with the aliases of a workflow; and Step Functions itself."""

    def __init__(self, machines: Any) -> None:
        self.clock = SkippingClock()
        self.table = _dynamo_store(self.clock, {"region_name": REGION})  # type: ignore[arg-type]
        functions = {"F": lambda event, _: event["n"]}
        compiled = compile_workflow(
            {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "F", "End": True}}},
            name="w",
            functions=functions,
        )
        self.local = LocalWorkflow(compiled, functions, store=self.table, clock=self.clock)
        self.real, self.exceptions, self.meta = machines, machines.exceptions, machines.meta
        self.asked: list[tuple[str, Any]] = []
        self.sent: list[str] = []
        self.failures: list[str] = []
        self.denied: set[str] = set()
        self.is_running = True

    def client(self, words: str | None = None) -> StepFunctions:
        words = ",".join([START, DESCRIBE, STOP, f"w={self.table.table}"]) if words is None else words
        return StepFunctions(
            self, lambda service, _: self if service == "lambda" else self.table.client, Addresses(words)
        )

    def invoke(self, FunctionName: str, Payload: bytes) -> Any:  # noqa: N803
        self.sent.append(FunctionName)
        if FunctionName.rpartition(":")[2] in self.denied:
            error = {"Error": {"Code": "AccessDeniedException", "Message": "not authorized"}}
            raise ClientError(error, "Invoke")  # type: ignore[arg-type]
        failure = self.failures.pop(0) if self.failures else None
        if failure == "before":
            raise EndpointConnectionError(endpoint_url="https://lambda")
        answer = self._answer(FunctionName.rpartition(":")[2], json.loads(Payload))
        if failure == "after":
            return {"Payload": io.BytesIO(b'{"errorMessage": "died"}'), "FunctionError": "Unhandled"}
        return {"Payload": io.BytesIO(json.dumps(answer).encode())}

    def _answer(self, alias: str, event: Any) -> Any:
        rt = Answering(self.local.workflow, self.table, Ignored(), self.clock).runtime()
        if alias == "run-w":
            found = Answering(self.local.workflow, self.table, Ignored(), self.clock).call(
                f"{HOME}:entry:run-w", json.dumps(event).encode()
            )
            if not self.is_running and "IsNew" in found:
                self.local.deliver(event["start"], event["input"])
            return found
        if alias == "describe-w":
            return describe.answer(rt, event)
        assert alias in ("stop-w", "operate-w"), alias
        return answered(event, lambda: operator_requests.answer(rt, operator_requests.parse(event), None))

    def __getattr__(self, operation: str) -> Any:
        """Keep a request to Step Functions itself."""
        if operation not in self.meta.method_to_api_mapping and operation != "get_paginator":
            raise AttributeError(operation)

        def asked(*arguments: Any, **more: Any) -> Any:
            self.asked.append((operation, arguments or more))
            return self.real.get_paginator(*arguments) if operation == "get_paginator" else {"of": "Step Functions"}

        return asked


class Ignored:
    """Invoker of start requests, which a test delivers itself."""

    def invoke(self, _events: Any) -> None:
        """Ignore the request."""


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    monkeypatch.setattr("unum_stepfunctions.client.FIRST_PAUSE_S", 0)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws():
        yield Aws(boto3.session.Session().client("stepfunctions", region_name=REGION))


def test_start_answers_in_the_shape_of_boto3(aws: Aws) -> None:
    found = aws.client().start_execution(stateMachineArn=START, name="order-17", input='{"n": 1}')
    assert found["executionArn"] == f"{EXECUTION}order-17"
    assert isinstance(found["startDate"], datetime)
    assert found["startDate"].tzinfo is UTC
    assert found.keys() == {"executionArn", "startDate", "ResponseMetadata"}
    assert (aws.sent, aws.asked) == ([f"{HOME}:entry:run-w"], [])


def test_address_alone_says_where_executions_start(aws: Aws) -> None:
    assert aws.client("").start_execution(stateMachineArn=START, name="e")["executionArn"] == f"{EXECUTION}e"


def test_machine_arn_of_executions_names_a_known_workflow(aws: Aws) -> None:
    arn = f"arn:aws:states:{REGION}:000000000000:stateMachine:w"
    assert aws.client().start_execution(stateMachineArn=arn, name="e")["executionArn"] == f"{EXECUTION}e"
    aws.client("").start_execution(stateMachineArn=arn, name="e")
    assert aws.asked == [("start_execution", {"stateMachineArn": arn, "input": "{}", "name": "e"})]


def test_start_without_a_name_gets_one_that_repetitions_share(aws: Aws) -> None:
    aws.failures = ["before", "after"]
    found = aws.client().start_execution(stateMachineArn=START, input="[1]")
    assert len(aws.client().list_executions(stateMachineArn=START)["executions"]) == 1
    assert len(found["executionArn"].rpartition(":")[2]) == 36


def test_repeated_start_finds_the_running_execution(aws: Aws) -> None:
    client = aws.client()
    first = client.start_execution(stateMachineArn=START, name="e", input='{"n": 1}')
    assert client.start_execution(stateMachineArn=START, name="e", input='{ "n":1 }') == first


def test_start_with_the_name_of_an_ended_execution_is_refused(aws: Aws) -> None:
    client, aws.is_running = aws.client(), False
    client.start_execution(stateMachineArn=START, name="e", input='{"n": 1}')
    with pytest.raises(client.exceptions.ExecutionAlreadyExists, match="ended as SUCCEEDED"):
        client.start_execution(stateMachineArn=START, name="e", input='{"n": 1}')


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"name": "e", "input": '{"n": 2}'}, "ExecutionAlreadyExists"),
        ({"name": "no name"}, "InvalidName"),
        ({"name": "x" * 81}, "InvalidName"),
        ({"input": "no JSON"}, "InvalidExecutionInput"),
        ({"input": "[NaN]"}, "InvalidExecutionInput"),
        ({"input": '"\ud800"'}, "InvalidExecutionInput"),
        ({"input": '{} , "force": true'}, "InvalidExecutionInput"),
        ({"input": f'"{"x" * 400_000}"'}, "InvalidExecutionInput"),
        ({"input": f'"{"x" * MAX_BYTES}"'}, "InvalidExecutionInput"),
        ({"input": 7}, "InvalidExecutionInput"),
    ],
)
def test_refused_start_raises_the_error_of_boto3(aws: Aws, given: Any, code: str) -> None:
    client = aws.client()
    client.start_execution(stateMachineArn=START, name="e", input='{"n": 1}')
    with pytest.raises(ClientError) as refused:
        client.start_execution(stateMachineArn=START, **given)
    assert refused.value.response["Error"]["Code"] == code
    assert isinstance(refused.value, getattr(client.exceptions, code))
    assert refused.value.operation_name == "StartExecution"


def test_lost_answers_are_reported_as_unknown(aws: Aws) -> None:
    aws.failures = ["after"] * 3
    with pytest.raises(ClientError, match="call again") as unknown:
        aws.client().start_execution(stateMachineArn=START, name="e", input="1")
    assert unknown.value.response["Error"]["Code"] == "ServiceUnavailable"
    assert aws.client().start_execution(stateMachineArn=START, name="e", input="1")["executionArn"].endswith(":e")


def test_description_has_the_fields_of_boto3(aws: Aws) -> None:
    client, aws.is_running = aws.client(), False
    started = client.start_execution(stateMachineArn=START, name="e", input='{"n": 1}')
    found = client.describe_execution(executionArn=started["executionArn"])
    assert found.pop("ResponseMetadata")
    assert found.pop("stopDate") >= found["startDate"]
    assert found == {
        "executionArn": f"{EXECUTION}e",
        "stateMachineArn": START,
        "name": "e",
        "status": "SUCCEEDED",
        "startDate": started["startDate"],
        "input": '{"n":1}',
        "inputDetails": {"included": True},
        "output": "1",
        "outputDetails": {"included": True},
    }
    brief = client.describe_execution(executionArn=f"{EXECUTION}e", includedData="METADATA_ONLY")
    assert (brief["inputDetails"], brief.keys() & {"input", "output"}) == ({"included": False}, set())


def test_execution_that_does_not_exist_raises_the_error_of_boto3(aws: Aws) -> None:
    client = aws.client()
    for ask in (client.describe_execution, client.stop_execution):
        with pytest.raises(client.exceptions.ExecutionDoesNotExist):
            ask(executionArn=f"{EXECUTION}nobody")


def test_synchronous_start_answers_with_the_result(aws: Aws) -> None:
    client, aws.is_running = aws.client(), False
    found = client.start_sync_execution(stateMachineArn=START, name="e", input='{"n": 1}')
    assert (found["status"], found["output"]) == ("SUCCEEDED", "1")
    again = client.start_sync_execution(stateMachineArn=START, name="e", input='{"n": 1}')
    assert again["startDate"] == found["startDate"]


def test_stopped_execution_has_error_and_cause(aws: Aws) -> None:
    client = aws.client()
    arn = client.start_execution(stateMachineArn=START, name="e")["executionArn"]
    stopped = client.stop_execution(executionArn=arn, error="Enough", cause="of it")
    found = client.describe_execution(executionArn=arn)
    assert (found["status"], found["error"], found["cause"]) == ("ABORTED", "Enough", "of it")
    assert stopped["stopDate"] == found["stopDate"]


def test_administrators_stop_by_their_own_alias(aws: Aws) -> None:
    client = aws.client(f"{START},{OPERATE}")
    arn = client.start_execution(stateMachineArn=START, name="e")["executionArn"]
    client.stop_execution(executionArn=arn)
    assert aws.sent[-1] == OPERATE


@pytest.mark.parametrize(
    ("words", "call", "grant"),
    [
        (START, lambda client: client.describe_execution(executionArn=f"{EXECUTION}e"), "grant_describe"),
        (START, lambda client: client.stop_execution(executionArn=f"{EXECUTION}e"), "grant_stop"),
        (START, lambda client: client.redrive_execution(executionArn=f"{EXECUTION}e"), "grant_redrive"),
        (START, lambda client: client.list_executions(stateMachineArn=START), "grant_read"),
        ("", lambda client: client.start_execution(stateMachineArn=START), "grant_start"),
    ],
)
def test_missing_grant_is_named(aws: Aws, words: str, call: Any, grant: str) -> None:
    aws.denied = {"run-w"}
    with pytest.raises(ClientError, match=grant) as refused:
        call(aws.client(words))
    assert refused.value.response["Error"]["Code"] == "AccessDeniedException"


def test_list_is_that_of_the_client_in_pages_of_each_size_and_status(aws: Aws) -> None:
    client = aws.client()
    for number in range(23):
        aws.is_running = number % 3 == 0
        arn = client.start_execution(stateMachineArn=START, name=f"e{number}", input='{"n": 1}')["executionArn"]
        if number % 6 == 0:
            client.stop_execution(executionArn=arn)
    reader = Client(store=aws.table, workflow="w", index=aws.table)
    for status in (None, *map(str, Status)):
        for size in (1, 2, 7, 100):
            pages = client.get_paginator("list_executions").paginate(
                stateMachineArn=START,
                PaginationConfig={"PageSize": size},
                **({"statusFilter": status} if status else {}),
            )
            found = [each for page in pages for each in page["executions"]]
            expected = reader.list(status, limit=1_000).executions
            assert [(each["name"], each["status"], each["startDate"], each.get("stopDate")) for each in found] == [
                (each.name, each.status, each.started_at, each.stopped_at) for each in expected
            ]
    assert {each["executionArn"] for each in found} <= {f"{EXECUTION}e{number}" for number in range(23)}


def test_page_has_the_asked_size_and_a_token_of_its_list_alone(aws: Aws) -> None:
    client = aws.client()
    for number in range(5):
        client.start_execution(stateMachineArn=START, name=f"e{number}")
    page = client.list_executions(stateMachineArn=START, maxResults=2)
    assert len(page["executions"]) == 2
    for wrong in ({"statusFilter": "RUNNING", "nextToken": page["nextToken"]}, {"nextToken": "no token"}):
        with pytest.raises(client.exceptions.InvalidToken):
            client.list_executions(stateMachineArn=START, **wrong)
    with pytest.raises(ClientError, match="maxResults"):
        client.list_executions(stateMachineArn=START, maxResults=1_001)
    capped = client.get_paginator("list_executions").paginate(stateMachineArn=START, PaginationConfig={"MaxItems": 3})
    assert sum(len(each["executions"]) for each in capped) == 3


def test_expired_executions_are_in_no_list(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    aws.client().start_execution(stateMachineArn=START, name="e")
    monkeypatch.setattr("unum_stepfunctions.listing.time.time", lambda: 10**11)
    assert aws.client().list_executions(stateMachineArn=START)["executions"] == []


def test_list_of_state_in_a_bucket_names_the_client(aws: Aws) -> None:
    with pytest.raises(NotImplementedError, match=r"Client\.list"):
        aws.client(f"{START},w=s3://bucket").list_executions(stateMachineArn=START)


def test_requests_about_state_machines_go_to_step_functions(aws: Aws) -> None:
    client, real = aws.client(), f"arn:aws:states:{REGION}:000000000000:execution:real:e"
    elsewhere = EXECUTION.replace(REGION, "eu-west-3") + "e"
    requests: list[tuple[str, dict[str, Any]]] = [
        ("start_execution", {"stateMachineArn": MACHINE, "input": "{}", "name": "n", "traceHeader": "t"}),
        ("start_sync_execution", {"stateMachineArn": MACHINE, "input": "{}"}),
        ("describe_execution", {"executionArn": real}),
        ("describe_execution", {"executionArn": elsewhere, "includedData": "METADATA_ONLY"}),
        ("stop_execution", {"executionArn": real, "error": "e"}),
        ("redrive_execution", {"executionArn": real, "clientToken": "t"}),
        ("list_executions", {"stateMachineArn": MACHINE, "maxResults": 3}),
        ("get_execution_history", {"executionArn": real}),
        ("list_state_machines", {}),
        ("send_task_heartbeat", {"taskToken": "AAAA"}),
    ]
    for operation, given in requests:
        assert getattr(client, operation)(**given) == {"of": "Step Functions"}
    assert aws.asked == [(operation, given) for operation, given in requests]
    assert aws.sent == []
    assert client.meta.service_model.service_name == "stepfunctions"


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.get_execution_history(executionArn=f"{EXECUTION}e"),
        lambda client: client.describe_state_machine(stateMachineArn=START),
        lambda client: client.update_state_machine(stateMachineArn=START, definition="{}"),
        lambda client: client.list_map_runs(executionArn=f"{EXECUTION}e"),
        lambda client: client.list_executions(mapRunArn=f"{EXECUTION.replace('execution', 'mapRun')}M:e:1"),
        lambda client: client.start_execution(stateMachineArn=START, traceHeader="Root=1"),
        lambda client: client.list_executions(stateMachineArn=START, redriveFilter="REDRIVEN"),
        lambda client: client.get_paginator("get_execution_history").paginate(executionArn=f"{EXECUTION}e"),
        lambda client: client.tag_resource(resourceArn=START, tags=[]),
    ],
)
def test_what_workflows_lack_is_refused_with_a_counterpart(aws: Aws, call: Any) -> None:
    with pytest.raises(NotImplementedError, match=r"use |deploy|omit|Tagging"):
        call(aws.client())
    assert [name for name, _ in aws.asked if name != "get_paginator"] == []


def test_counterparts_name_operations_of_boto3() -> None:
    assert counterparts.COUNTERPARTS.keys() - {""} <= UNSUPPORTED.keys() | {
        "get_execution_history",
        "list_executions",
        "list_map_runs",
        "describe_map_run",
    }


def test_package_repeats_the_words_of_the_runtime() -> None:
    assert client._REQUEST == {MARK: WIRE_VERSION}
    assert client.MAX_INPUT_BYTES == MAX_BYTES
    assert STEP_FUNCTIONS.variable == addresses.ADDRESSES
    assert (listing.INDEX, listing.SHARDS, listing.LAST) == (list_index.INDEX, list_index.SHARDS, list_index.LAST)
    assert set(listing.STATUSES) == {*map(str, Status)}
    assert naming.start_alias("w") == "start-w"
    assert naming.run_alias("w") == "run-w"


def test_module_is_boto3_except_for_step_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNUM_ADDRESSES", START)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-3")
    found = boto3.client("stepfunctions", aws_access_key_id="id", aws_secret_access_key="key")
    assert isinstance(found, StepFunctions)
    functions = found._client("lambda", REGION)
    assert (functions.meta.region_name, functions.meta.config.read_timeout) == (
        REGION,
        client.LONGEST_CALL_S,
    )
    assert functions._get_credentials().access_key == "id"
    assert boto3.client("sqs").meta.service_model.service_name == "sqs"
    assert boto3.Session.__name__ == "Session"
