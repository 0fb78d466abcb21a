"""Histories of executions that redrives moved to other definitions, and of their forks."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.protocol.control.test_definition_match import failed, fragile, with_pass
from tests.unit.protocol.map_platform import deliver_all, deployed, mapped, result
from tests.unit.protocol.platform import Platform, chain
from unum_client import Client
from unum_client.reading.map_runs import map_runs
from unum_client.reading.progress import Progress
from unum_client.stepfunctions import StepFunctionsClient
from unum_runtime.errors import ClientError
from unum_runtime.model.checkpoint import Failure, Status
from unum_runtime.model.ir import Home
from unum_runtime.protocol.control.forks.fork import ForkRequest, fork
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.history import past, timeline
from unum_runtime.protocol.history.start_records import start_record
from unum_runtime.protocol.requests.definition_records import write_definition

Definition = dict[str, Any]
HOME = Home(partition="aws", region="eu-west-1", account="123456789012")


def kept(platform: Platform) -> Platform:
    """The platform, whose definition is in the store."""
    write_definition(platform.runtime())
    return platform


def moved(old: Platform, definition: Definition, **functions: Any) -> Platform:
    """Redrive on another definition; the platform of that."""
    newer = deployed(definition, **functions)
    newer.clock, newer.memory, newer.store = old.clock, old.memory, old.memory
    newer.clock.pass_seconds(60)
    redrive(kept(newer).runtime(), "e", old=old.workflow)
    newer.sent = [*{str(event.name): event for event in newer.sent}.values()]
    deliver_all(newer)
    return newer


def client(platform: Platform) -> Client:
    return Client(store=platform.memory, workflow="w", clock=platform.clock)


def history(platform: Platform, name: str = "e") -> list[str]:
    """Types of events with the states that they name."""
    boto = StepFunctionsClient(client(platform), home=HOME)
    seen = []
    for event in boto.events(executionArn=name):
        details: Any = next((value for key, value in event.items() if key.endswith("EventDetails")), {})
        seen.append(f"{event['type']} {details.get('name', '')}".strip())
        assert event["previousEventId"] < event["id"]
    return seen


def executions(seen: list[str]) -> list[str]:
    return [each for each in seen if each.startswith("Execution")]


def states(seen: list[str]) -> list[str]:
    """States in the order in which they were entered; an asterisk means an exit."""
    kinds = {"StateEntered": "", "StateExited": "*"}
    return [each.split()[1] + mark for each in seen for kind, mark in kinds.items() if each.split()[0].endswith(kind)]


def test_a_chain_is_told_by_the_definition_of_each_step() -> None:
    old = failed(chain("A", "B", "C"), 1, B=fragile)
    new = moved(kept(old), with_pass(chain("A", "B", "C"), "A"))
    seen = history(new)
    assert executions(seen) == ["ExecutionStarted", "ExecutionFailed", "ExecutionRedriven", "ExecutionSucceeded"]
    assert states(seen) == ["A", "A*", "B", "P", "P*", "B", "B*", "C", "C*"]
    counted = client(new).progress("e")
    assert {name: (each.succeeded, each.failed, each.running) for name, each in counted.items()} == {
        "A": (1, 0, 0), "P": (1, 0, 0), "B": (1, 1, 0), "C": (1, 0, 0),
    }  # fmt: skip


def test_two_redrives_in_a_row_on_other_definitions() -> None:
    first = failed(chain("A", "B", "C"), 1, B=fragile)
    second = moved(kept(first), with_pass(chain("A", "B", "C"), "A"), C=fragile)
    third = moved(second, chain("A", "B", "X", "C"))
    seen = history(third)
    assert executions(seen) == [
        "ExecutionStarted",
        *["ExecutionFailed", "ExecutionRedriven"] * 2,
        "ExecutionSucceeded",
    ]
    assert states(seen) == ["A", "A*", "B", "P", "P*", "B", "B*", "C", "X", "X*", "C", "C*"]
    assert client(third).progress("e")["B"] == Progress(succeeded=1, failed=1, over=True, followed_by=frozenset({"C"}))
    assert client(third).definition("e").digest == third.workflow.digest


def test_a_map_that_begins_again_on_another_definition() -> None:
    broken = [2]

    def breaks(event: Any) -> Any:
        if event in broken:
            raise ValueError(event)
        return event

    old = failed(mapped("B", after="C"), [1, 2, 3], B=breaks)
    broken.clear()
    new = moved(kept(old), mapped("B", "B2", after="C"))
    seen = history(new)
    assert result(new) == [1, 2, 3]
    assert executions(seen) == ["ExecutionStarted", "ExecutionFailed", "ExecutionRedriven", "ExecutionSucceeded"]
    runs = client(new).map_runs("e")
    assert [(run.status, run.branches.total, run.branches.succeeded) for run in runs] == [
        (Status.FAILED, 3, 1),
        (Status.SUCCEEDED, 3, 3),
    ]
    assert client(new).progress("e")["B2"].succeeded == 3


def parallel(*after: str) -> Definition:
    branches = [chain("X"), chain("Y")]
    return {
        "StartAt": "A",
        "States": {
            "A": {"Type": "Task", "Resource": "A", "Next": "F"},
            "F": {"Type": "Parallel", "Branches": branches, "Next": after[0]},
            **chain(*after)["States"],
        },
    }


def test_a_parallel_whose_branch_failed() -> None:
    old = failed(parallel("C"), 1, Y=fragile)
    new = moved(kept(old), parallel("D", "C"))
    seen = history(new)
    assert executions(seen) == ["ExecutionStarted", "ExecutionFailed", "ExecutionRedriven", "ExecutionSucceeded"]
    assert states(seen)[-4:] == ["D", "D*", "C", "C*"]
    assert new.calls == {"Y": 1, "D": 1, "C": 1}
    counted = client(new).progress("e")
    assert (counted["C"].succeeded, counted["D"].succeeded, counted["Y"].failed) == (1, 1, 1)


def test_a_state_that_left_the_definition_is_in_the_history_alone() -> None:
    old = failed(chain("A", "B", "C"), 1, B=fragile)
    new = moved(kept(old), chain("A", "N"))
    assert states(history(new)) == ["A", "A*", "B", "N", "N*"]
    assert client(new).progress("e").keys() == {"A", "N"}


def test_a_stopped_execution_that_moved() -> None:
    old = deployed(chain("A", "B", "C"))
    old.start("e", 1)
    stop(old.runtime(), start_record(old.memory, "w", "e").name.execution, Failure("Enough", None))
    new = moved(kept(old), with_pass(chain("A", "B", "C"), "A"))
    seen = history(new)
    assert executions(seen) == ["ExecutionStarted", "ExecutionAborted", "ExecutionRedriven", "ExecutionSucceeded"]
    counted = client(new).progress("e")
    assert {name: (each.succeeded, each.failed) for name, each in counted.items()} == dict.fromkeys("APBC", (1, 0))


FORKED: dict[str, Callable[[], Platform]] = {
    "on the same definition": lambda: moved(kept(failed(chain("A", "B", "C"), 1, B=fragile)), chain("A", "B", "C")),
    "on another definition": lambda: moved(
        kept(failed(chain("A", "B", "C"), 1, B=fragile)), with_pass(chain("A", "B", "C"), "A")
    ),
}


@pytest.mark.parametrize("case", FORKED)
def test_a_fork_of_a_redriven_execution_tells_what_its_original_did(case: str) -> None:
    platform = FORKED[case]()
    fork(platform.runtime(), ForkRequest(execution="e", name="f", node="C"))
    deliver_all(platform)
    before = history(platform)
    seen = history(platform, "f")
    assert executions(seen) == executions(before)
    assert [each.split()[0] for each in seen].index("ExecutionRedriven") == [each.split()[0] for each in before].index(
        "ExecutionRedriven"
    )
    assert states(seen)[: len(states(before)) - 2] == states(before)[:-2]
    described = client(platform).describe("f")
    assert (described.status, described.forked_from and described.forked_from.is_finished) == (Status.SUCCEEDED, True)
    assert client(platform).progress("f")["B"].failed == 1
    fork(platform.runtime(), ForkRequest(execution="f", name="g", node="C"))
    deliver_all(platform)
    assert executions(history(platform, "g")) == executions(before), "a fork of a fork"


def test_a_fork_of_a_stopped_and_redriven_execution() -> None:
    old = deployed(chain("A", "B", "C"))
    old.start("e", 1)
    stop(old.runtime(), start_record(old.memory, "w", "e").name.execution, Failure("Enough", None))
    platform = moved(kept(old), chain("A", "B", "C"))
    fork(platform.runtime(), ForkRequest(execution="e", name="f", node="C"))
    deliver_all(platform)
    assert executions(history(platform, "f")) == executions(history(platform))
    assert client(platform).progress("f")["C"].succeeded >= 1


def test_an_unfinished_fork_has_not_ended() -> None:
    platform = FORKED["on another definition"]()
    platform.options["remaining_ms"] = lambda: 1
    for _ in range(2):
        with pytest.raises(Exception, match="left to another delivery"):
            fork(platform.runtime(), ForkRequest(execution="e", name="f", node="C"))
    assert "ExecutionSucceeded" not in history(platform, "f")
    assert not client(platform).progress("f")["A"].over


def test_without_the_definition_of_the_original_a_fork_is_told_by_its_own() -> None:
    platform = FORKED["on another definition"]()
    fork(platform.runtime(), ForkRequest(execution="e", name="f", node="C"))
    deliver_all(platform)
    own = f"definition:w/{platform.workflow.digest}"
    platform.memory._items = {
        key: item
        for key, item in platform.memory._items.items()
        if not key.partition.startswith("definition:") or key.partition == own
    }
    assert executions(history(platform, "f")) == ["ExecutionStarted", "ExecutionSucceeded"]
    with pytest.raises(ClientError):
        history(platform, "e")


def test_a_file_of_another_version_is_refused() -> None:
    old = failed(chain("A", "B", "C"), 1, B=fragile)
    new = moved(kept(old), with_pass(chain("A", "B", "C"), "A"))
    with pytest.raises(ClientError, match="ran on version"):
        client(new).progress("e", deployed(chain("A", "Z")).workflow)
    with pytest.raises(ClientError, match="ran on version"):
        map_runs(new.workflow, client(new).past("e").checkpoints)


def told_by_the_last(patch: pytest.MonkeyPatch) -> None:
    """Every step is planned by the last definition."""
    patch.setattr(timeline.Timeline, "version_of", lambda self, _step: self.workflow)


def ends_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A fork forgets the ends of its original."""
    as_it_was = past.as_it_was
    patch.setattr(timeline, "as_it_was", lambda copy: as_it_was(copy).saying(ending=copy.ending))


@pytest.mark.parametrize(
    ("mistake", "finds"),
    [
        (told_by_the_last, test_a_state_that_left_the_definition_is_in_the_history_alone),
        (told_by_the_last, test_two_redrives_in_a_row_on_other_definitions),
        (
            ends_forgotten,
            lambda: test_a_fork_of_a_redriven_execution_tells_what_its_original_did("on another definition"),
        ),
    ],
)
def test_a_mistake_is_found(
    mistake: Callable[[pytest.MonkeyPatch], None], finds: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        finds()
