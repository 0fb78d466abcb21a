"""`unum redrive`: one execution or many, and its words about versions."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.cli.test_control import ADDRESS, Alias
from tests.unit.protocol.map_platform import deliver_all, deployed
from tests.unit.protocol.platform import Platform, chain
from unum_client import Client
from unum_client.control import Control
from unum_client.reading.execution_list import ExecutionPage, Listing
from unum_runtime.model.checkpoint import Status


class ChoosingAlias(Alias):
    """Answers as the control function does, with its choice."""

    def call(self, address: str, payload: bytes) -> Any:
        on = json.loads(payload).get("on", "current")
        return {**super().call(address, payload), "on": on, "reason": "because"}


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Platform:
    """A before B, which failed in `bad` and `worse`; of `worse`, no result is left to continue from."""
    made = deployed(chain("A", "B"), B=lambda event: 1 / event)
    for name in ("bad", "worse", "good"):
        made.start(name, name == "good")
        deliver_all(made)

    def listed(_self: Client, status: str, *, limit: int, token: str | None = None) -> ExecutionPage:
        return Listing(made.memory, "w").page(Status(status), limit=limit or 1, token=token)

    monkeypatch.setattr(Client, "list", listed)
    monkeypatch.setattr(
        Control, "connect", lambda **_: Control(caller=ChoosingAlias(made), control_alias="alias", workflow="w")
    )
    return made


def test_it_says_which_versions_it_chose_and_why(unum: Callable[..., Any], platform: Platform) -> None:
    ran = unum("redrive", "bad", *ADDRESS)
    assert (ran.code, len(platform.sent)) == (0, 1)
    assert "bad redriven at" in ran.out
    assert "on the current versions: because" in ran.out
    reply = json.loads(unum("redrive", "bad", "--on", "original", "--json", *ADDRESS).out)
    assert (reply["name"], reply["on"], reply["reason"], reply["is_done"]) == ("bad", "original", "because", True)


def test_many_are_redriven_with_a_summary(unum: Callable[..., Any], platform: Platform) -> None:
    ran = unum("redrive", "--status", "FAILED", "--since", "2h", *ADDRESS)
    assert (ran.code, len(platform.sent)) == (0, 2)
    assert "2 redriven, 0 not" in ran.out
    assert "0 redriven, 0 not" in unum("redrive", "--status", "FAILED", *ADDRESS).out


def test_one_that_cannot_be_redriven_stops_no_other(
    unum: Callable[..., Any], platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ChoosingAlias.call

    def refusing(self: ChoosingAlias, address: str, payload: bytes) -> Any:
        if json.loads(payload)["execution"] == "worse":
            return {"error": "ExecutionNotRedrivable", "message": "no"}
        return call(self, address, payload)

    monkeypatch.setattr(ChoosingAlias, "call", refusing)
    ran = unum("redrive", "--status", "FAILED", *ADDRESS)
    assert (ran.code, len(platform.sent)) == (1, 1)
    assert "worse: ExecutionNotRedrivable: no" in ran.out
    assert "1 redriven, 1 not" in ran.out
    reply = json.loads(unum("redrive", "--status", "FAILED", "--json", *ADDRESS).out)
    assert [(each["name"], each["error"]) for each in reply] == [("worse", "ExecutionNotRedrivable")]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "either the name of an execution or --status"),
        (("bad", "--status", "FAILED"), "either the name of an execution or --status"),
        (("bad", "--since", "2h"), "expected --status beside it"),
        (("--status", "FAILED", "--since", "yesterday"), "expected a number and s, m, h or d"),
        (("--status", "RUNNING"), "invalid choice"),
        (("bad", "--on", "newest"), "invalid choice"),
    ],
)
def test_what_makes_no_sense_is_refused(
    unum: Callable[..., Any], platform: Platform, arguments: tuple[str, ...], reason: str
) -> None:
    ran = unum("redrive", *arguments, *ADDRESS)
    assert (ran.code, platform.sent) == (2, [])
    assert reason in ran.err
