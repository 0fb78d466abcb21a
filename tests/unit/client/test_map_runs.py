"""Progress of Maps at each moment of their lives."""

from typing import Any

import botocore.session
import pytest
from botocore.validate import validate_parameters

from tests.unit.protocol.platform import Platform, chain
from unum_client import Client
from unum_client.boto3_shapes.arns import Arns, InvalidArn, ResourceNotFound
from unum_client.boto3_shapes.execution_shapes import map_run_description
from unum_client.reading.map_runs import Counts, MapRun, Tolerance
from unum_client.stepfunctions import StepFunctionsClient
from unum_compiler.definition import Definition
from unum_runtime.errors import ClientError, InvalidToken
from unum_runtime.model.checkpoint import Failure, Status
from unum_runtime.model.ir import Collection, Home
from unum_runtime.protocol.control.stop import stop
from unum_simulator.local import LocalWorkflow

HERE = Home(region="us-east-1")


def each(**fields: Any) -> dict[str, Any]:
    processor = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}, **chain("A")}
    return {"Type": "Map", "ItemProcessor": processor, **fields}


def machine(**fields: Any) -> dict[str, Any]:
    return {"StartAt": "Each", "States": {"Each": each(**{"End": True, **fields})}}


def work(event: Any) -> Any:
    if event == "bad":
        raise ValueError(event)
    return event


def platform_of(definition: dict[str, Any]) -> Platform:
    return Platform.of(definition, A=work, B=work)


def client_of(platform: Platform) -> Client:
    return Client(store=platform.memory, workflow="w", clock=platform.clock)


def runs(platform: Platform) -> list[MapRun]:
    return [*client_of(platform).map_runs("e", platform.workflow)]


def only(platform: Platform) -> MapRun:
    (run,) = runs(platform)
    return run


def test_a_run_is_told_while_it_runs_and_when_it_has_ended() -> None:
    platform = platform_of(machine(MaxConcurrency=2))
    platform.start(value=[1, 2, 3, 4, 5])
    begun = only(platform)
    assert (begun.status, begun.items) == (Status.RUNNING, Counts(running=2, pending=3))
    assert (begun.max_concurrency, begun.stopped_at, begun.distributed) == (2, None, True)
    platform.clock.pass_seconds(60)
    platform.deliver(platform.sent.pop(0))
    assert only(platform).items == Counts(succeeded=1, running=2, pending=2)
    platform.deliver_all()
    ended = only(platform)
    assert (ended.status, ended.items) == (Status.SUCCEEDED, Counts(succeeded=5))
    assert ended.branches.total == 5
    assert ended.stopped_at is not None
    assert (ended.stopped_at - begun.started_at).total_seconds() == 60


def test_a_failure_that_is_not_tolerated_aborts_the_rest() -> None:
    platform = platform_of(machine())
    platform.start(value=[1, "bad", 3])
    for _ in range(2):
        platform.deliver(platform.sent.pop(0))
    run = only(platform)
    assert (run.status, run.items) == (Status.FAILED, Counts(succeeded=1, failed=1, aborted=1))


def test_tolerated_failures_are_counted() -> None:
    platform = platform_of(machine(ToleratedFailureCount=1, ToleratedFailurePercentage=50))
    platform.run(value=[1, "bad", 3])
    run = only(platform)
    assert (run.status, run.items) == (Status.SUCCEEDED, Counts(succeeded=2, failed=1))
    assert run.tolerance == Tolerance(1, 50.0)
    assert only(platform).max_concurrency == 0


def test_too_many_failures_fail_the_run() -> None:
    platform = platform_of(machine(ToleratedFailureCount=1))
    platform.run(value=["bad", "bad", 3])
    run = only(platform)
    assert (run.status, run.items) == (Status.FAILED, Counts(succeeded=1, failed=2))


def test_batches_have_items() -> None:
    platform = Platform.of(machine(ItemBatcher={"MaxItemsPerBatch": 2}), A=lambda event: event["Items"])
    platform.start(value=[1, 2, 3, 4, 5])
    platform.deliver(platform.sent.pop(0))
    run = only(platform)
    assert run.items == Counts(succeeded=2, running=3)
    assert run.branches == Counts(succeeded=1, running=2)


def test_a_task_that_joins_the_results_ends_the_run() -> None:
    definition = machine(Next="B")
    del definition["States"]["Each"]["End"]
    definition["States"]["B"] = {"Type": "Task", "Resource": "B", "End": True}
    platform = platform_of(definition)
    platform.start(value=[1, 2])
    for _ in range(2):
        platform.deliver(platform.sent.pop(0))
    assert (only(platform).status, only(platform).items) == (Status.SUCCEEDED, Counts(succeeded=2))
    platform.deliver_all()
    assert only(platform).status is Status.SUCCEEDED


def test_a_stop_aborts_what_runs() -> None:
    platform = platform_of(machine(MaxConcurrency=1))
    platform.start(value=[1, 2, 3])
    platform.deliver(platform.sent.pop(0))
    execution = platform.steps()[0].name.execution
    stop(platform.runtime(), execution, Failure(None, None))
    run = only(platform)
    assert (run.status, run.items) == (Status.ABORTED, Counts(succeeded=1, aborted=2))
    assert run.stopped_at is not None


def test_a_sibling_that_fails_aborts_what_runs() -> None:
    beside = {
        "StartAt": "Beside",
        "States": {
            "Beside": {
                "Type": "Parallel",
                "Branches": [machine(), chain("B")],
                "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Late"}],
                "End": True,
            },
            "Late": {"Type": "Task", "Resource": "A", "End": True},
        },
    }
    platform = Platform.of(beside, A=work, B=lambda _event: work("bad"))
    platform.start(value=[1, 2])
    fails = next(event for event in platform.sent if event.state == "B")
    platform.sent.remove(fails)
    platform.deliver(platform.sent.pop(0))
    platform.deliver(fails)
    run = only(platform)
    assert (run.status, run.index, run.items) == (Status.ABORTED, (0,), Counts(succeeded=1, aborted=1))


def test_every_try_is_a_run() -> None:
    platform = platform_of(machine(Retry=[{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 1}]))
    platform.options = {"timer": Timer(platform)}
    platform.run(value=["bad"])
    assert [(run.generation, run.status, run.items) for run in runs(platform)] == [
        (0, Status.FAILED, Counts(failed=1)),
        (1, Status.FAILED, Counts(failed=1)),
    ]
    assert len({run.id for run in runs(platform)}) == 2


class Timer:
    """Delivers at once."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def schedule(self, events: Any) -> None:
        self._platform.clock.pass_seconds(1)
        self._platform.invoke([event[:2] for event in events])


def test_what_was_collected_has_succeeded_for_all_that_is_known() -> None:
    platform = platform_of(machine(MaxConcurrency=1))
    platform.collection = Collection.EAGER
    platform.run(value=[1, 2, 3])
    run = only(platform)
    assert (run.status, run.items, run.max_concurrency) == (Status.SUCCEEDED, Counts(succeeded=3), 0)


@pytest.mark.parametrize(("batcher", "branches"), [({}, 3), ({"ItemBatcher": {"MaxItemsPerBatch": 2}}, 2)])
def test_results_are_written_when_the_writer_is_done(batcher: dict[str, Any], branches: int) -> None:
    writer = {"Resource": "arn:aws:states:::s3:putObject", "Parameters": {"Bucket": "b", "Prefix": "p"}}
    workflow = Definition.from_asl(machine(ResultWriter=writer, **batcher)).compile("w", None)
    reply: list[MapRun] = []

    def client() -> Client:
        return Client(store=local.store, workflow="w")

    def write(_event: Any, _context: Any) -> Any:
        reply.extend(client().map_runs("e", workflow))
        return {}

    local = LocalWorkflow(workflow, {"A": lambda event, _context: event, "Each (ResultWriter)": write})
    local.run("e", [1, 2, 3])
    reply.extend(client().map_runs("e", workflow))
    assert [(run.state, run.results_written) for run in reply] == [("Each", 0), ("Each", 3)]
    shown = map_run_description(reply[-1], "e", Arns("w", HERE))
    assert shown["itemCounts"]["resultsWritten"] == 3
    assert shown["executionCounts"]["resultsWritten"] == branches


def test_there_is_nothing_to_tell_of_an_empty_map() -> None:
    platform = platform_of(machine())
    platform.run(value=[])
    assert runs(platform) == []


def stepfunctions(platform: Platform) -> StepFunctionsClient:
    return StepFunctionsClient(client_of(platform), definition=platform.workflow, home=HERE)


def check_shape(operation: str, output: Any) -> None:
    model = botocore.session.get_session().get_service_model("stepfunctions").operation_model(operation)
    assert set(output) <= set(model.output_shape.members)
    validate_parameters(output, model.output_shape)  # type: ignore[arg-type]  # has a shape


def test_the_shapes_of_boto3() -> None:
    platform = platform_of(machine(MaxConcurrency=2, ToleratedFailurePercentage=25))
    platform.start(value=[1, 2, 3])
    client = stepfunctions(platform)
    found = client.list_map_runs(executionArn="e")
    check_shape("ListMapRuns", found)
    (run,) = found["mapRuns"]
    assert run["mapRunArn"].startswith("arn:aws:states:us-east-1:000000000000:mapRun:w/Each:e:")
    map_run_description = client.describe_map_run(mapRunArn=run["mapRunArn"])
    check_shape("DescribeMapRun", map_run_description)
    assert map_run_description["executionArn"] == run["executionArn"]
    assert (map_run_description["status"], map_run_description["maxConcurrency"]) == ("RUNNING", 2)
    assert map_run_description["toleratedFailurePercentage"] == 25
    assert map_run_description["itemCounts"] == map_run_description["executionCounts"]
    counted = {name: count for name, count in map_run_description["itemCounts"].items() if count}
    assert counted == {"pending": 1, "running": 2, "total": 3}
    platform.deliver_all()
    assert "stopDate" in client.describe_map_run(mapRunArn=run["mapRunArn"])


def test_only_distributed_maps_are_listed_as_aws_lists_them() -> None:
    inline = {"Type": "Map", "ItemProcessor": chain("A"), "End": True}
    platform = platform_of({"StartAt": "Each", "States": {"Each": inline}})
    platform.run(value=[1])
    assert not only(platform).distributed
    assert stepfunctions(platform).list_map_runs(executionArn="e") == {"mapRuns": []}


def test_arns_and_tokens_that_are_none() -> None:
    platform = platform_of(machine())
    platform.run(value=[1])
    client = stepfunctions(platform)
    here = "arn:aws:states:us-east-1:000000000000:mapRun"
    for arn in ("e", f"{here}:w", here.replace("mapRun", "execution") + ":w/Each:e:1"):
        with pytest.raises(InvalidArn, match="mapRunArn: expected"):
            client.describe_map_run(mapRunArn=arn)
    for arn in (f"{here}:other/Each:e:1", f"{here}:w/Each:e:99", f"{here}:w/Other:e:1"):
        with pytest.raises(ResourceNotFound):
            client.describe_map_run(mapRunArn=arn)
    with pytest.raises(InvalidToken):
        client.list_map_runs(executionArn="e", nextToken="x")
    with pytest.raises(ClientError, match="expected the definition with digest"):
        StepFunctionsClient(client_of(platform)).list_map_runs(executionArn="e")
