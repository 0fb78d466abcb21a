"""Output of the command line: nothing that a function returned moves the cursor."""

import io
import json
from typing import TextIO, cast

import pytest

from unum_cli import main as entry
from unum_cli.commands import validation
from unum_cli.commands.command_errors import CommandFailed
from unum_cli.safe_output import SafeOutput, raw

HOSTILE = "a\x1b]0;owned\x07\x1b[2J\x9b31m\r\x7f\u202egnp.exe"
ESCAPED = "a\\u001b]0;owned\\u0007\\u001b[2J\\u009b31m\\u000d\\u007f\\u202egnp.exe"


def test_control_characters_are_escaped_and_lines_stay() -> None:
    stream = io.StringIO()
    print(f"{HOSTILE}\tnext\nlast ünïcode 🙂", file=SafeOutput(stream))
    assert stream.getvalue() == f"{ESCAPED}\tnext\nlast ünïcode 🙂\n"


def test_json_stays_the_same_value() -> None:
    stream = io.StringIO()
    print(json.dumps({HOSTILE: HOSTILE}, ensure_ascii=False), file=SafeOutput(stream))
    assert json.loads(stream.getvalue()) == {HOSTILE: HOSTILE}
    assert "\x9b" not in stream.getvalue()


def test_results_and_errors_of_commands_are_safe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_options: object) -> None:
        print(HOSTILE)  # noqa: T201 - as commands do
        raise CommandFailed(HOSTILE)

    monkeypatch.setattr(validation, "run", run)
    assert entry.main(["validate", "flow.json"]) == 1
    assert capsys.readouterr() == (f"{ESCAPED}\n", f"{ESCAPED}\n")


def test_tables_write_to_the_terminal_itself() -> None:
    stream = io.StringIO()
    assert raw(cast("TextIO", SafeOutput(stream))) is stream
    assert raw(stream) is stream
