"""Output of the demo: a Gantt chart, both bills, and kills."""

import io
import json
from pathlib import Path

import pytest

from examples.demo import log as demo_log
from examples.demo.bills import bills
from examples.demo.gantt import COLUMNS, LEGEND, gantt
from examples.demo.kills import Kill, kills
from examples.demo.log import Log
from examples.demo.page import PageError, take_picture
from tests.unit.cli.ui.shop import open_shop
from unum_cli.ui.past_reading import Reading
from unum_compiler import compile_workflow
from unum_compiler.cost.estimate import estimate


def test_chart_shows_a_bar_for_each_step_with_branches_below_their_fan_out() -> None:
    levels = Reading.of(open_shop().client, "retried").levels
    assert levels is not None
    *lines, empty, legend = gantt(levels).splitlines()
    rows = {line.split("  ")[0] or line.strip().split(" ")[0]: line for line in lines}
    assert [*rows][:3] == ["Receive", "Lines", "Price"]
    assert "=" in rows["Lines"]
    assert "x" in rows["Charge"][len("Charge") :]
    assert "retried 2 times" in rows["Charge"]
    begin = lines[0].index("  ") + 2
    assert {line[begin + COLUMNS : begin + COLUMNS + 2] for line in lines[:2]} == {"  "}
    assert (empty, LEGEND in legend) == ("", True)


def test_bills_are_added_up_item_by_item() -> None:
    workflow = compile_workflow(
        {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "A", "End": True}}}, name="w", functions=["A"]
    )
    receipt = estimate(workflow)
    text = bills(receipt)
    here, there = (sum(bill.values()) for bill in (receipt.here(), receipt.standard()))
    assert f"{here:,.2f}" in text
    assert f"{there:,.2f}" in text
    assert f"Step Functions costs {there / here:.0f} times as much." in text


def test_kills_are_read_from_the_emulators_history(tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    arn = "arn:aws:lambda:us-east-1:000000000000:function:Shop-FindUrlsCD10FFD0-976AFCF22DC97:1"
    lines = [
        {"what": "begun", "delivery": "d", "function": arn},
        {"what": "begun", "delivery": "e", "function": arn},
        {"what": "fault", "delivery": "d", "fault": "dies after a request"},
        {"what": "ended", "delivery": "d", "result": "killed"},
    ]
    history.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert kills(history) == [Kill("FindUrls", "after a request")]


def test_without_a_terminal_progress_is_told_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    log = Log(stream)
    log.mention("Shop | 1/9 | CREATE_COMPLETE")
    assert stream.getvalue() == ""
    monkeypatch.setattr(demo_log, "EVERY_S", 0)
    log.mention("Shop | 2/9 | CREATE_COMPLETE")
    log.mention("a line of the command line's own")
    assert "2/9" in stream.getvalue()
    assert "own" not in stream.getvalue()


def test_without_a_browser_it_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PageError, match="node"):
        take_picture("http://127.0.0.1:1/", "/", tmp_path / "page.png")
