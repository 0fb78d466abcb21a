"""Services, jobs, task tokens, nested workflows, activities and data sets in graphs, beside the same in ASL."""

from types import SimpleNamespace
from typing import Any

import pytest

from unum_compiler import graph as g
from unum_compiler.definition import Definition
from unum_simulator.local import LocalWorkflow
from unum_simulator.stand_ins.modelled_services import ModelledServices

untyped: Any = g

INVOKE = "arn:aws:states:::lambda:invoke.waitForTaskToken"
ACTIVITY = "arn:aws:states:us-east-1:123456789012:activity:approve"
CHILD = "arn:aws:lambda:us-east-1:123456789012:function:entry:start-Child"


class Construct:
    """Of a function of the CDK, what the compiler looks at."""

    def __init__(self, name: str) -> None:
        self.node = SimpleNamespace(path=name)


def compiled(definition: Definition) -> str:
    return definition.compile("w", None).to_json()


def of(graph: g.Piece) -> str:
    return compiled(Definition.from_graph(graph))


def asl(**state: Any) -> str:
    return compiled(Definition.from_asl({"StartAt": "it", "States": {"it": {**state, "End": True}}}))


def task(resource: str, **fields: Any) -> str:
    return asl(Type="Task", Resource=resource, **fields)


SEND = {"QueueUrl": "https://q", "MessageBody": g.out["text"]}
SENT = {"QueueUrl": "https://q", "MessageBody.$": "$.text"}
PAIRS: dict[str, tuple[g.Piece, str]] = {
    "a call": (g.service("it", "sqs:sendMessage", SEND), task("arn:aws:states:::sqs:sendMessage", Parameters=SENT)),
    "a call by the SDK with limits and a role": (
        g.service("it", "aws-sdk:s3:listBuckets", role="arn:aws:iam::123456789012:role/r", timeout_s=g.out["limit"]),
        task(
            "arn:aws:states:::aws-sdk:s3:listBuckets",
            Parameters={},
            Credentials={"RoleArn": "arn:aws:iam::123456789012:role/r"},
            TimeoutSecondsPath="$.limit",
        ),
    ),
    "a job": (
        g.service("it", "glue:startJobRun", {"JobName": "j"}, wait_for="job", timeout_s=60)
        .retry("Glue.ConcurrentRunsExceededException", attempts=2)
        .into("run"),
        task(
            "arn:aws:states:::glue:startJobRun.sync",
            Parameters={"JobName": "j"},
            TimeoutSeconds=60,
            ResultPath="$.run",
            Retry=[
                {
                    "ErrorEquals": ["Glue.ConcurrentRunsExceededException"],
                    "IntervalSeconds": 1,
                    "MaxAttempts": 2,
                    "BackoffRate": 2.0,
                }
            ],
        ),
    ),
    "a service that hands a token on": (
        g.service("it", "sqs:sendMessage", {**SEND, "MessageBody": {"t": g.token}}, wait_for="token", heartbeat_s=9),
        task(
            "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
            Parameters={"QueueUrl": "https://q", "MessageBody": {"t.$": "$$.Task.Token"}},
            HeartbeatSeconds=9,
        ),
    ),
    "a function that hands a token on": (
        g.ask("it", "mail", input={"to": g.out["to"], "token": g.token}, timeout_s=3600),
        task(
            INVOKE,
            Parameters={"FunctionName": "mail", "Payload": {"to.$": "$.to", "token.$": "$$.Task.Token"}},
            TimeoutSeconds=3600,
        ),
    ),
    "an activity": (
        g.activity("it", ACTIVITY, input=g.out["order"], heartbeat_s=30),
        task(ACTIVITY, InputPath="$.order", HeartbeatSeconds=30),
    ),
    "a nested workflow": (
        g.nested("it", CHILD, {"n": g.out["n"]}, execution=g.call("Format", "child-{}", g.out["n"])),
        task(
            "arn:aws:states:::states:startExecution.sync:2",
            Parameters={"StateMachineArn": CHILD, "Input": {"n.$": "$.n"}, "Name.$": "States.Format('child-{}', $.n)"},
        ),
    ),
    "a nested workflow that is only started": (
        g.nested("it", g.context["StateMachine"]["Id"], wait_for="response"),
        task(
            "arn:aws:states:::states:startExecution",
            Parameters={"StateMachineArn.$": "$$.StateMachine.Id", "Input.$": "$"},
        ),
    ),
}


def distributed(branch: str, **fields: Any) -> str:
    processor = {
        "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
        "StartAt": branch,
        "States": {branch: {"Type": "Task", "Resource": branch, "End": True}},
    }
    return asl(Type="Map", ItemProcessor=processor, **fields)


def reader(action: str, parameters: Any, **config: Any) -> Any:
    settings = {"ReaderConfig": config} if config else {}
    return {"Resource": f"arn:aws:states:::s3:{action}", "Parameters": parameters, **settings}


work = g.task("work")
PAIRS |= {
    "a data set of objects": (
        g.map_data(work, data=g.objects("shelf", "in/", max_items=5), at_once=2, name="it"),
        distributed(
            "work",
            ItemReader=reader("listObjectsV2", {"Bucket": "shelf", "Prefix": "in/"}, MaxItems=5),
            MaxConcurrency=2,
        ),
    ),
    "rows in batches, with tolerated failures and written results": (
        g.map_data(
            work,
            data=g.content(g.out["bucket"], "rows.csv", "CSV"),
            select={"row": g.item},
            batch=10,
            tolerated=3,
            results=g.Folder("shelf", "out"),
            name="it",
        ),
        distributed(
            "work",
            ItemReader=reader(
                "getObject",
                {"Bucket.$": "$.bucket", "Key": "rows.csv"},
                InputType="CSV",
                CSVHeaderLocation="FIRST_ROW",
            ),
            ItemSelector={"row.$": "$$.Map.Item.Value"},
            ItemBatcher={"MaxItemsPerBatch": 10},
            ToleratedFailureCount=3,
            ResultWriter={
                "Resource": "arn:aws:states:::s3:putObject",
                "Parameters": {"Bucket": "shelf", "Prefix": "out"},
            },
        ),
    ),
    "columns with given names": (
        g.map_data(work, data=g.content("shelf", g.out["key"], "CSV", headers=["a", "b"]), name="it"),
        distributed(
            "work",
            ItemReader=reader(
                "getObject",
                {"Bucket": "shelf", "Key.$": "$.key"},
                InputType="CSV",
                CSVHeaderLocation="GIVEN",
                CSVHeaders=["a", "b"],
            ),
        ),
    ),
}


@pytest.mark.parametrize("case", PAIRS)
def test_a_graph_compiles_to_what_its_asl_compiles_to(case: str) -> None:
    graph, definition = PAIRS[case]
    assert of(graph) == definition


@pytest.mark.parametrize("case", [name for name in PAIRS if "started" not in name])
def test_every_kind_of_node_runs(case: str) -> None:
    graph, _ = PAIRS[case]
    workflow = Definition.from_graph(graph).compile("w", None)
    models = ModelledServices(workflow)
    assert LocalWorkflow(workflow, models.handlers()).run("e", models.input()).status == "SUCCEEDED"


def test_functions_of_nodes_that_hand_tokens_on_belong_to_the_definition() -> None:
    function = Construct("Mail")
    definition = Definition.from_graph(g.ask("it", function, input={"t": g.token}) >> g.task("again", function))
    assert list(definition.functions.values()) == [function]
    (key,) = definition.functions
    assert f'"FunctionName": "{key}"' in definition.text


@pytest.mark.parametrize(
    ("make", "kind", "said"),
    [
        (lambda: untyped.task("ask", INVOKE), ValueError, "'ask': 'arn:aws:states:::lambda:invoke.waitForTaskToken'"),
        (lambda: untyped.task("a", 3), TypeError, "'a': expected a function of the CDK, or the key of one, got 3"),
        (
            lambda: untyped.task("a", timeout_s="60"),
            TypeError,
            "'a': timeout_s: expected an integer, or a place in data",
        ),
        (lambda: untyped.task("a", timeout_s=0), ValueError, "'a': timeout_s: expected at least 1, got 0"),
        (lambda: untyped.task("a", heartbeat_s=1.5), TypeError, "'a': heartbeat_s: expected an integer, or a place"),
        (lambda: untyped.task("a").retry(attempts="3"), TypeError, "'a': attempts: expected an integer, got '3'"),
        (lambda: untyped.task("a").retry(attempts=True), TypeError, "'a': attempts: expected an integer, got True"),
        (lambda: untyped.task("a").retry(interval_s=0), ValueError, "'a': interval_s: expected at least 1, got 0"),
        (
            lambda: untyped.task("a").retry(backoff_rate=0.5),
            ValueError,
            "'a': backoff_rate: expected at least 1, got 0.5",
        ),
        (lambda: untyped.task("a").retry(backoff_rate="2"), TypeError, "'a': backoff_rate: expected a number, got '2'"),
        (lambda: untyped.task("a").retry(max_delay_s="9"), TypeError, "'a': max_delay_s: expected an integer, got '9'"),
        (lambda: untyped.task("a").retry(jitter="FULL"), TypeError, "'a': jitter: expected True or False, got 'FULL'"),
        (
            lambda: untyped.map(work, items=g.out, at_once="2"),
            TypeError,
            "'map': at_once: expected an integer, or a place",
        ),
        (lambda: untyped.map(work, items=g.out).quorum("2"), TypeError, "'map': count: expected an integer, got '2'"),
        (lambda: untyped.wait("5"), TypeError, "'wait': seconds: expected an integer, or a place in data, got '5'"),
        (untyped.parallel, ValueError, "'parallel': expected at least one branch, got none"),
        (lambda: untyped.choose(g.out > 1), TypeError, "'choose': expected pairs of a condition and nodes, got"),
        (lambda: untyped.fail(3), TypeError, "'fail': error: expected text, or a place in data, got 3"),
        (lambda: untyped.service("s", 3), TypeError, "'s': action: expected text, got 3"),
        (lambda: untyped.service("s", "sqs:sendMesage"), ValueError, "'s': action: "),
        (lambda: untyped.service("s", "nowhere:go"), ValueError, "'s': action: "),
        (lambda: untyped.service("s", "sqs:sendMessage", SEND, wait_for="job"), ValueError, "'s': action: "),
        (
            lambda: untyped.service("s", "sqs:sendMessage", wait_for="sync"),
            ValueError,
            "'s': wait_for: expected one of response, job",
        ),
        (
            lambda: untyped.service("s", "sqs:sendMessage", SEND, wait_for="token"),
            ValueError,
            "'s': parameters: expected token",
        ),
        (
            lambda: untyped.service("s", "sqs:sendMessage", g.out),
            TypeError,
            "'s': parameters: expected an object with expressions, got $",
        ),
        (
            lambda: untyped.service("s", "sqs:sendMessage", SEND, role=1),
            TypeError,
            "'s': role: expected text, or a place",
        ),
        (lambda: untyped.ask("a", input={"t": 1}), ValueError, "'a': input: expected token in a field"),
        (
            lambda: untyped.ask("a", input=g.out),
            TypeError,
            "'a': input: expected an object with token in a field, got $",
        ),
        (lambda: untyped.nested("n", 3), TypeError, "'n': workflow: expected text, or a place in data, got 3"),
        (lambda: untyped.nested("n", CHILD, wait_for="token"), ValueError, "'n': wait_for: expected job or response"),
        (lambda: untyped.activity("a", 3), TypeError, "'a': worked_by: expected text, got 3"),
        (
            lambda: untyped.map_data(work, data=g.out),
            TypeError,
            "'map': data: expected a data set of objects or content, got $",
        ),
        (
            lambda: untyped.map_data(work, data=g.objects("b"), batch=0),
            ValueError,
            "'map': batch: expected at least 1, got 0",
        ),
        (
            lambda: untyped.map_data(work, data=g.objects("b"), results="b"),
            TypeError,
            "'map': results: expected a Folder, got 'b'",
        ),
        (lambda: untyped.objects(3), TypeError, "'objects': bucket: expected text, or a place in data, got 3"),
        (lambda: untyped.content("b", "k", None), TypeError, "'content': kind: expected text, got None"),
        (lambda: untyped.Folder(None), TypeError, "'folder': bucket: expected text, or a place in data, got None"),
    ],
)  # fmt: skip
def test_an_argument_of_a_wrong_kind_is_refused_where_the_node_is_built(make: Any, kind: type, said: str) -> None:
    with pytest.raises(kind) as refused:
        make()
    assert str(refused.value).startswith(said)
