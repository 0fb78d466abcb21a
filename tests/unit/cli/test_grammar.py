"""Rules of all commands."""

import argparse
import json
from typing import Any

import pytest

from tests.unit.protocol.platform import chain
from unum_cli.grammar import grammar


def commands() -> dict[str, argparse.ArgumentParser]:
    (found,) = (each for each in grammar()._actions if isinstance(each, argparse._SubParsersAction))
    return dict(found.choices)


def test_every_command_has_json() -> None:
    options = {name: parser._option_string_actions.keys() for name, parser in commands().items()}
    del options["dev"]  # which prints what the CDK, the page and the functions print
    assert [name for name, known in options.items() if "--json" not in known] == []


@pytest.mark.parametrize("arguments", [("validate", "w.json"), ("compile", "w.json"), ("graph", "w.json"), ("schema",)])
def test_with_json_a_command_prints_nothing_else(unum: Any, file: Any, arguments: tuple[str, ...]) -> None:
    file("w.json", chain("A"))
    ran = unum(*arguments, "--json")
    assert ran.code == 0
    assert json.loads(ran.out)


def test_problems_as_json(unum: Any, file: Any) -> None:
    file("w.json", {"StartAt": "Nowhere", "States": {}})
    ran = unum("validate", "w.json", "--json")
    assert ran.code == 1
    assert json.loads(ran.out)[0]["problems"]


def test_a_picture_s_file_as_json(unum: Any, file: Any) -> None:
    file("w.json", chain("A"))
    assert json.loads(unum("graph", "w.json", "-o", "w.svg", "--json").out) == {"output": "w.svg"}
