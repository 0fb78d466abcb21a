"""``unum graph`` and ``unum diff`` of what is deployed, and of executions."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.client.test_stored_definitions import client_of, deployed
from tests.unit.protocol.platform import Platform, chain
from unum_cli.commands import diff, graph_command, history_command, map_runs_command, watch
from unum_client.polling import Waiter
from unum_compiler import to_compiled
from unum_runtime.model.checkpoint import Checkpoint, Failure, start_record
from unum_runtime.model.naming import WORKFLOWS_FOLDER, Execution
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.history.start_records import record_start

ADDRESS = ("--table", "states", "--workflow", "w")


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Platform:
    """Version A-C is deployed; the execution "old" ran on A-B."""
    old = deployed(chain("A", "B"))
    old.run("old", {"n": 1})
    newest = deployed(chain("A", "C"), on=old)
    for command in (diff, graph_command):
        monkeypatch.setattr(command, "connected", lambda _options: client_of(newest))
    return newest


@pytest.mark.usefixtures("platform")
def test_a_picture_of_what_is_deployed(unum: Any) -> None:
    drawn = unum("graph", *ADDRESS, "--format", "mermaid")
    assert drawn.code == 0
    assert '"A' in drawn.out
    assert '"C' in drawn.out
    assert '"B' not in drawn.out


@pytest.mark.usefixtures("platform")
def test_a_picture_of_an_execution_of_an_old_version(unum: Any) -> None:
    drawn = unum("graph", *ADDRESS, "--execution", "old", "-o", "run.svg")
    assert (drawn.code, drawn.err) == (0, "")
    picture = Path("run.svg").read_text()
    assert ">B<" in picture
    assert "execution old, succeeded" in picture
    assert '"B' in unum("graph", *ADDRESS, "--execution", "old", "--format", "mermaid").out
    assert unum("graph", *ADDRESS, "--execution", "nobody").code == 1


@pytest.mark.parametrize("command", ["history", "map-runs", "graph --execution", "watch"])
def test_an_execution_without_a_commit_is_shown_by_what_is_deployed(
    unum: Any, monkeypatch: pytest.MonkeyPatch, platform: Platform, command: str
) -> None:
    record = start_record(Execution("e", platform.clock.ms), {})
    record_start(platform.store, "w", record, expires_at_s=platform.runtime().expires_at_s())
    stop_soon = replace(client_of(platform), waiter=Waiter(now_s=lambda: 0, sleep=lambda _: stopped(platform, record)))
    for module in (history_command, map_runs_command, watch, graph_command):
        monkeypatch.setattr(module, "connected", lambda _options: stop_soon)
    ran = unum(*command.split(), "e", *ADDRESS)
    if command == "watch":
        assert "A: 0 done, 0 failed, 1 running" in ran.err.splitlines()
    else:
        assert (ran.code, ran.err) == (0, "e has committed nothing yet: shown by the deployed definition\n")


def stopped(platform: Platform, record: Checkpoint) -> None:
    stop(platform.runtime(), record.name.execution, Failure("Stopped", None))


def test_a_picture_by_a_given_file(unum: Any, platform: Platform, file: Callable[..., Path]) -> None:
    of_new = file("new.json", json.dumps(to_compiled(platform.workflow)))
    assert '"C' in unum("graph", str(of_new), *ADDRESS, "--format", "mermaid").out
    assert "but this is version" in unum("graph", str(of_new), *ADDRESS, "--execution", "old").err


def test_a_picture_of_nothing(unum: Any) -> None:
    for arguments in ((), ("--execution", "e"), ("flow.json", "--execution", "e"), ("--table", "states")):
        ran = unum("graph", *arguments)
        assert (ran.code, ran.out) == (2, "")
        assert "expected FILE; or --stack STACK" in ran.err


@pytest.mark.usefixtures("platform")
def test_a_file_beside_what_is_deployed(unum: Any, file: Callable[..., Path]) -> None:
    same, other = file("same.asl.json", chain("A", "C")), file("other.asl.json", chain("A", "B"))
    ran = unum("diff", str(same), *ADDRESS, "--json")
    assert (ran.code, {change["effect"] for change in json.loads(ran.out)}) == (0, {"unchanged"})
    ran = unum("diff", str(other), *ADDRESS)
    assert ran.code == 1
    assert "breaks     function C: is removed" in ran.out
    ran = unum("diff", *ADDRESS, str(other), "--execution", "old", "--json")
    assert (ran.code, {change["effect"] for change in json.loads(ran.out)}) == (0, {"unchanged"})


@pytest.mark.usefixtures("platform")
def test_a_synthesized_app_beside_what_is_deployed(unum: Any, tmp_path: Path) -> None:
    layers = [tmp_path / "cdk.out" / f"asset.{name}" / "python" / WORKFLOWS_FOLDER for name in "xy"]
    for folder in layers:
        folder.mkdir(parents=True)
        (folder / "w.json").write_text(deployed(chain("A", "C")).workflow.to_json())
        (folder / "other.json").write_text("{}")
    ran = unum("diff", "cdk.out", *ADDRESS, "--json")
    assert (ran.code, {change["effect"] for change in json.loads(ran.out)}) == (0, {"unchanged"})
    (layers[0] / "w.json").write_text(deployed(chain("A", "B")).workflow.to_json())
    ran = unum("diff", "cdk.out", *ADDRESS)
    assert ran.code == 2
    assert "cdk.out: expected one definition of workflow 'w' in its files, found 2; run `cdk synth`" in ran.err


def test_what_a_comparison_is_of(unum: Any) -> None:
    ran = unum("diff", "new.json")
    assert (ran.code, ran.err) == (
        2,
        "expected OLD and NEW; or NEW and --stack STACK, or --table TABLE and --workflow NAME\n",
    )
    ran = unum("diff", "old.json", "new.json", *ADDRESS)
    assert ran.code == 2
    assert "expected NEW alone, because the workflow's store has OLD; got old.json as well" in ran.err
