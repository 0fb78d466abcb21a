"""``unum memo``; the control function is in this process."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.cli.test_control import ADDRESS
from tests.unit.protocol.platform import Platform, chain
from unum_client.control import Control
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import ClientError
from unum_runtime.features.memo import remembered
from unum_runtime.protocol.requests.answers import refusal


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Platform:
    made = Platform.of(chain("F"), {"F": FunctionOptions(memoize=True)}, F=lambda event: {"was": event})
    for number in range(3):
        made.run(str(number), f"\x1b[31m{number}")

    class Alias:
        def call(self, address: str, payload: bytes) -> Any:
            assert address.startswith("alias:")
            try:
                return remembered.answer(made.runtime(), json.loads(payload))
            except ClientError as error:
                return refusal(type(error).__name__, str(error))

    monkeypatch.setattr(Control, "connect", lambda **_: Control(caller=Alias(), control_alias="alias", workflow="w"))
    return made


def keys(unum: Callable[..., Any]) -> list[str]:
    return [each["key"] for each in json.loads(unum("memo", "list", *ADDRESS, "--json").out)]


def test_results_are_listed_shown_and_forgotten(unum: Callable[..., Any], platform: Platform) -> None:
    ran = unum("memo", "list", *ADDRESS)
    head, *lines = ran.out.splitlines()
    assert (ran.code, head.split()[0], len(lines)) == (0, "KEY", 3)
    assert "\x1b" not in ran.out
    (key, *others) = keys(unum)
    assert [line.split()[0] for line in lines] == [key, *others]
    assert len(unum("memo", "list", "--limit", "2", "--step", "F", *ADDRESS).out.splitlines()) == 3
    shown = json.loads(unum("memo", "show", "--step", "F", "--key", key, *ADDRESS).out)
    facts = json.loads(unum("memo", "show", "--step", "F", "--key", key, *ADDRESS, "--json").out)
    assert (facts["value"], facts["key"]) == (shown, key)
    assert unum("memo", "forget", "--step", "F", "--key", key, *ADDRESS).out == "1 results of F forgotten\n"
    assert keys(unum) == others
    assert json.loads(unum("memo", "forget", "--step", "F", "--all", *ADDRESS, "--json").out) == {
        "step": "F",
        "forgotten": 2,
    }
    assert len(unum("memo", "list", *ADDRESS).out.splitlines()) == 1
    platform.run("again", "\x1b[31m0")
    assert platform.calls["F"] == 4


@pytest.mark.usefixtures("platform")
def test_what_is_missing_is_said(unum: Callable[..., Any]) -> None:
    (key, *_) = keys(unum)
    for options in (
        ("show", "--key", key),
        ("forget", "--step", "F"),
        ("forget", "--step", "F", "--key", key, "--all"),
        ("show", "--step", "F"),
        ("other",),
    ):
        assert unum("memo", *options, *ADDRESS).code == 2, options
    assert unum("memo", "list", "--table", "t", "--workflow", "w").code == 2
    ran = unum("memo", "list", "--step", "G", *ADDRESS)
    assert (ran.code, "one of ['F'], got 'G'" in ran.err) == (1, True)
    assert unum("memo", "show", "--step", "F", "--key", "0" * 64, *ADDRESS).code == 1
    assert len(keys(unum)) == 3
