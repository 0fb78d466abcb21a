"""Executions that are read by the definitions in the store: of every version, with no file."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain
from unum_client import Client
from unum_client.control import Control
from unum_client.reading.progress import Reach
from unum_client.stepfunctions import StepFunctionsClient
from unum_runtime.errors import ClientError, DefinitionNotStored, ExecutionDoesNotExist
from unum_runtime.model.checkpoint import Failure, start_record
from unum_runtime.model.naming import Execution, checkpoint_key
from unum_runtime.protocol.control import control_aliases, operator_requests
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.history.start_records import record_start
from unum_runtime.protocol.requests.definition_records import write_definition

A_MAP = {
    "StartAt": "Each",
    "States": {
        "Each": {
            "Type": "Map",
            "ItemProcessor": {
                "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
                "StartAt": "A",
                "States": {"A": {"Type": "Task", "Resource": "A", "End": True}},
            },
            "End": True,
        }
    },
}


class Handler:
    """Stand-in for the function behind the control alias of a deployed version."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform

    def call(self, address: str, payload: bytes) -> Any:
        assert address == "control:nudge-w"
        event = json.loads(payload)
        if control_aliases.asks_for_definition(event):
            return control_aliases.store_definition(self.platform.runtime())
        try:
            operator_requests.parse(event)
        except ClientError as error:
            return {"error": type(error).__name__, "message": str(error)}
        raise AssertionError(event)


def deployed(definition: dict[str, Any], *, on: Platform | None = None, is_stored: bool = True) -> Platform:
    """A version of a workflow, in the store of version `on`."""
    made = Platform.of(definition, None, **dict.fromkeys("ABC", lambda event: event))
    if on is not None:
        made.store = made.memory = on.memory
        made.clock = on.clock
    if is_stored:
        write_definition(made.runtime())
    return made


def client_of(platform: Platform) -> Client:
    handler = Control(caller=Handler(platform), control_alias="control", workflow="w")
    return Client(store=platform.store, workflow="w", clock=platform.clock, control=handler)


def test_executions_of_all_versions_are_read_by_their_own_definitions() -> None:
    one = deployed(chain("A", "B"))
    one.run("e1")
    two = deployed(chain("A", "C"), on=one)
    two.run("e2")
    client = client_of(two)
    for platform, name in ((one, "e1"), (two, "e2")):
        assert client.definition(name).digest == platform.workflow.digest
        assert client.progress(name) == client.progress(name, platform.workflow)
        by_store = StepFunctionsClient(client).events(executionArn=name)
        assert by_store == StepFunctionsClient(client, definition=platform.workflow).events(executionArn=name)
        assert [*client.watch_progress(name)] == [client.progress(name)]
    assert client.deployed_definition().digest == two.workflow.digest


def test_a_map_run_needs_no_definition() -> None:
    platform = deployed(A_MAP)
    platform.run("e", [1, 2])
    client = client_of(platform)
    assert client.map_runs("e") == client.map_runs("e", platform.workflow)
    (run,) = StepFunctionsClient(client).list_map_runs(executionArn="e")["mapRuns"]
    described = StepFunctionsClient(client).describe_map_run(mapRunArn=run["mapRunArn"])
    assert described["itemCounts"]["succeeded"] == 2


def test_a_stopped_execution_has_the_definition_of_the_step_before() -> None:
    platform = deployed(chain("A", "B"))
    platform.start("e")
    stop(platform.runtime(), platform.steps()[-1].name.execution, Failure("Stopped", None))
    client = replace(client_of(platform), control=None)
    assert client.definition("e").digest == platform.workflow.digest


def test_an_execution_is_on_the_version_of_its_latest_step() -> None:
    one = deployed(chain("A", "B"))
    one.run("e")
    two = deployed(chain("A", "C"), on=one)
    last = one.steps()[-1]
    later = replace(last, name=last.name.following, digest=two.workflow.digest)
    one.store.create(checkpoint_key("w", later.name), later.to_item(), expires_at_s=two.runtime().expires_at_s())
    assert client_of(two).definition("e").digest == two.workflow.digest


def test_execution_without_commits_will_begin_with_the_deployed_definition() -> None:
    platform = deployed(chain("A", "B"), is_stored=False)
    client = client_of(platform)
    record = start_record(Execution("e", platform.clock.ms), {})
    record_start(platform.store, "w", record, expires_at_s=platform.runtime().expires_at_s())
    assert client.definition("e").digest == platform.workflow.digest
    assert client.progress("e")["A"].reach is Reach.RUNNING
    with pytest.raises(
        DefinitionNotStored, match=r"'e' has committed nothing yet.*give this client the control function"
    ):
        replace(client, control=None).definition("e")


def test_the_deployed_definition_is_stored_for_the_one_who_asks() -> None:
    platform = deployed(chain("A"), is_stored=False)
    assert client_of(platform).deployed_definition().digest == platform.workflow.digest


def test_an_execution_without_a_stored_definition_needs_a_file() -> None:
    platform = deployed(chain("A"), is_stored=False)
    platform.run("e")
    client = client_of(platform)
    digest = platform.workflow.digest
    with pytest.raises(DefinitionNotStored, match=f"digest {digest} in its table, found none: .*--file FILE"):
        client.progress("e")
    assert client.progress("e", platform.workflow)["A"].reach is Reach.SUCCEEDED


def test_an_unknown_execution_has_none() -> None:
    with pytest.raises(ExecutionDoesNotExist):
        client_of(deployed(chain("A"))).definition("nobody")


def test_the_deployed_definition_needs_the_control_alias() -> None:
    client = replace(client_of(deployed(chain("A"))), control=None)
    with pytest.raises(ClientError, match="control_alias: expected"):
        client.deployed_definition()
