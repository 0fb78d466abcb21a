"""``unum watch``, of an execution that takes a step whenever nobody looks."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain
from unum_cli.commands import watch
from unum_client import Client
from unum_client.polling import Waiter
from unum_runtime.protocol.requests.definition_records import write_definition

ADDRESS = ("--table", "states", "--workflow", "w")
DEFINITION = chain("A", "B")


def fail(_event: Any) -> Any:
    raise ValueError("no")


class Going:
    """A platform that delivers an event in each pause."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.pictures: list[str] = []

    def sleep(self, _seconds: float) -> None:
        picture = Path("run.svg")
        if picture.exists():
            self.pictures.append(picture.read_text())
        self.platform.deliver(self.platform.sent.pop(0))

    def client(self, _options: Any) -> Client:
        waiter = Waiter(now_s=lambda: 0, sleep=self.sleep)
        return Client(
            store=self.platform.memory,
            workflow="w",
            clock=self.platform.clock,
            waiter=waiter,
        )


def going(monkeypatch: pytest.MonkeyPatch, **functions: Any) -> Going:
    platform = Platform.of(DEFINITION, **{"A": lambda event: event, "B": lambda event: event, **functions})
    found = Going(platform)
    platform.start("e", {"n": 1})
    monkeypatch.setattr(watch, "connected", found.client)
    return found


def test_what_tasks_have_committed_is_told_until_the_end(unum: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    going(monkeypatch)
    ran = unum("watch", "e", *ADDRESS)
    assert (ran.code, json.loads(ran.out)) == (0, {"n": 1})
    assert ran.err.splitlines() == ["A: 1 done, 0 failed, 0 running", "B: 1 done, 0 failed, 0 running"]


def test_with_the_definition_what_runs_is_told_as_well(unum: Any, file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    going(monkeypatch)
    file("w.json", DEFINITION)
    reply = unum("watch", "e", *ADDRESS, "--file", "w.json").err.splitlines()
    assert reply.index("B: 0 done, 0 failed, 1 running") < reply.index("B: 1 done, 0 failed, 0 running")


def test_the_picture_is_drawn_while_it_goes_on(unum: Any, file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = going(monkeypatch)
    file("w.json", DEFINITION)
    ran = unum("watch", "e", *ADDRESS, "--file", "w.json", "--graph", "run.svg")
    assert ran.code == 0
    assert all("execution e, running" in picture for picture in found.pictures)
    assert len(set(found.pictures)) == len(found.pictures) > 0
    assert "execution e, succeeded" in Path("run.svg").read_text()


def test_a_picture_needs_the_definition(unum: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    going(monkeypatch)
    ran = unum("watch", "e", *ADDRESS, "--graph", "run.svg")
    assert ran.code == 1
    assert "found none" in ran.err


def test_the_states_ahead_are_those_of_the_stored_definition(unum: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = going(monkeypatch)
    write_definition(found.platform.runtime())
    ran = unum("watch", "e", *ADDRESS, "--graph", "run.svg")
    assert (ran.code, json.loads(ran.out)) == (0, {"n": 1})
    assert "B" in found.pictures[0]
    assert "A: 1 done, 0 failed, 0 running" in ran.err.splitlines()


def test_an_execution_that_fails(unum: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    going(monkeypatch, B=fail)
    ran = unum("watch", "e", *ADDRESS)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines()[1] == "B: 0 done, 1 failed, 0 running"
    assert "execution e failed: ValueError: no" in ran.err


def test_the_description_as_json(unum: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    going(monkeypatch)
    shown = json.loads(unum("watch", "e", *ADDRESS, "--json").out)
    assert (shown["name"], shown["status"], shown["output"]) == ("e", "SUCCEEDED", {"n": 1})


def test_another_version_s_definition_is_refused(unum: Any, file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    going(monkeypatch)
    file("w.json", chain("A", "C"))
    ran = unum("watch", "e", *ADDRESS, "--file", "w.json")
    assert ran.code == 1
    assert "give the definition that was deployed then" in ran.err


def test_it_gives_up_in_time(unum: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    going(monkeypatch)
    ran = unum("watch", "e", *ADDRESS, "--timeout", "0")
    assert (ran.code, ran.out) == (1, "")
    assert "was still running after 0.0 s" in ran.err


def test_ctrl_c(unum: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_self: Going, _seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Going, "sleep", interrupted)
    going(monkeypatch)
    assert unum("watch", "e", *ADDRESS).code == 130
