"""Planted violations in a recorded history: the checker finds each, and nothing in the history as it was recorded.

`recorded.jsonl.gz` is a part of a chaos run: executions with a Map, a callback, a caught failure, a stop, redrives, a
fork, killed processes, and failures that Lambda reported.
"""

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.history.check import Commit, Findings, _Checker, check, check_results, still
from tests.history.places import Frame, Place, UnknownFormatError, of_envelope, of_key, of_text
from tests.history.record import BUCKET, Line, parsed
from tests.history.roles import Delivery, Role
from tests.history.story import tell

RECORDED = Path(__file__).with_name("recorded.jsonl.gz")
WORKFLOW, TABLE, NOTES = json.loads(Path(__file__).with_name("recorded.json").read_text(encoding="utf-8"))

Change = Callable[[list[dict[str, Any]]], None]


def recorded() -> list[dict[str, Any]]:
    """Return the recorded lines, ready for changes."""
    with gzip.open(RECORDED, "rt", encoding="utf-8") as file:
        return [dict(line) for line in parsed(file)]


def in_bucket(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same lines, with the workflow's items in objects of a bucket instead of its table."""
    texts = [json.dumps(_as_object(line)) + "\n" for line in lines]
    return [dict(line) for line in parsed(texts)]


def _as_object(line: dict[str, Any]) -> dict[str, Any]:
    if line["what"] == "bulk":
        return {**line, "tables": [f"{BUCKET}{table.lower()}" for table in line["tables"]]}
    if line["what"] != "write" or line["table"] != TABLE:
        raw = {side: _typed(line[side]) for side in ("before", "after") if line.get(side)}
        return {**line, **raw}
    partition, sort = line["key"]
    name = f"state:{partition}/={sort.replace('%', '%25').replace('/', '%2F')}"
    items = {side: line[side] and {"expires_at_ms": 1, "item": line[side]} for side in ("before", "after")}
    return {**line, "what": "object", "bucket": TABLE.lower(), "name": name, **items}


def _typed(item: dict[str, Any]) -> dict[str, Any]:
    return {name: {"N": str(value)} if isinstance(value, int) else {"S": value} for name, value in item.items()}


def judged(lines: list[dict[str, Any]], table: str = TABLE) -> Findings:
    return check([{**line, "line": number} for number, line in enumerate(lines)], WORKFLOW, table, NOTES)


@pytest.fixture(scope="module")
def found() -> Findings:
    return judged(recorded())


def place_of(line: Line) -> Place | None:
    is_create = line["what"] == "write" and line["table"] == TABLE and line["accepted"] and line["before"] is None
    return of_key(WORKFLOW, line["key"], line["after"]) if is_create else None


def numbers(lines: list[dict[str, Any]], condition: Callable[[dict[str, Any]], object]) -> list[int]:
    return [number for number, line in enumerate(lines) if condition(line)]


def is_top(line: Line) -> bool:
    """A create of a step at the top level that ends nothing."""
    place = place_of(line)
    return place is not None and not place.frames and place.step > 0 and "status" not in line["after"]


def is_branch(line: Line) -> bool:
    place = place_of(line)
    return place is not None and bool(place.frames)


def is_end(line: Line) -> bool:
    return place_of(line) is not None and "status" in line["after"]


def is_success(line: Line) -> bool:
    return is_end(line) and line["after"]["status"] == "SUCCEEDED"


def is_event(line: Line) -> bool:
    return line["what"] == "sent" and of_envelope(line["event"]) is not None and line["event"]["workflow"] == WORKFLOW


def is_note(line: Line) -> bool:
    return line["what"] == "write" and line["table"] == NOTES and "ran" in (line["after"] or {})


def accept_a_second_create(lines: list[dict[str, Any]]) -> None:
    first, *_ = numbers(lines, is_top)
    lines.insert(
        first + 1, {**lines[first], "before": lines[first]["after"], "after": {**lines[first]["after"], "value": "2"}}
    )


def overwrite_an_end(lines: list[dict[str, Any]]) -> None:
    first, *_ = numbers(lines, is_end)
    lines.append({**lines[first], "before": lines[first]["after"], "after": {**lines[first]["after"], "value": "2"}})


def commit_under_a_foreign_name(lines: list[dict[str, Any]]) -> None:
    """The delivery of one execution commits the step of another."""
    first, *others = numbers(lines, is_top)
    other = next(each for each in others if lines[each]["key"][0] != lines[first]["key"][0])
    lines[other]["by"] = lines[first]["by"]


def commit_from_outside(lines: list[dict[str, Any]]) -> None:
    lines[numbers(lines, is_branch)[0]]["by"] = ""


def send_before_the_commit(lines: list[dict[str, Any]]) -> None:
    """The event for step 2 comes before the commit of step 1 that it follows from."""
    for event in numbers(lines, is_event):
        place = of_envelope(lines[event]["event"])
        before = [place_of(line) for line in lines[:event]]
        assert place is not None
        cause = before.index(place.before)
        if lines[cause]["by"] == lines[event]["by"]:
            lines.insert(cause, lines.pop(event))
            return


def send_to_another_execution(lines: list[dict[str, Any]]) -> None:
    first, *others = numbers(lines, is_event)
    other = next(each for each in others if lines[each]["event"]["execution"] != lines[first]["event"]["execution"])
    lines[other]["by"] = lines[first]["by"]


def begin_a_branch_that_nothing_opened(lines: list[dict[str, Any]]) -> None:
    first = next(each for each in numbers(lines, is_event) if lines[each]["event"]["frames"])
    event = lines[first]["event"]
    *outer, (state, iteration, generation, _, size) = event["frames"]
    lines[first]["event"] = {**event, "frames": [*outer, [state, iteration, generation, size, size]], "step": 0}


def end_twice(lines: list[dict[str, Any]]) -> None:
    """After the end the next step ends the execution again."""
    last = numbers(lines, is_success)[-1]
    partition, step = lines[last]["key"]
    lines.append({**lines[last], "key": [partition, f"{int(step) + 1:09d}"]})


def join_without_a_branch(lines: list[dict[str, Any]]) -> None:
    """A branch's commits vanish, and its fan-out is joined as if they were there."""
    name = done_map(lines)
    first = next(each for each in numbers(lines, is_branch) if f"/{name}:" in lines[each]["key"][0])
    key = lines[first]["key"]
    lines[:] = [line for line in lines if not (line["what"] == "write" and line["key"] == key)]


def done_map(lines: list[dict[str, Any]]) -> str:
    """Name of an execution whose branches were joined, without a redrive."""
    joined = {
        lines[each]["event"]["execution"][0] for each in numbers(lines, is_event) if "join" in lines[each]["event"]
    }
    requests = [line["event"] for line in lines if line["what"] == "begun"]
    redriven = {event["execution"] for event in requests if event.get("control") == "redrive"}
    return str(min(joined - redriven))


def commit_in_a_branch_after_the_join(lines: list[dict[str, Any]]) -> None:
    name = done_map(lines)
    last = [each for each in numbers(lines, is_branch) if f"/{name}:" in lines[each]["key"][0]][-1]
    partition, sort = lines[last]["key"]
    branch, step = sort.split(".")
    lines.append({**lines[last], "key": [partition, f"{branch}.{int(step) + 1:09d}"]})


def run_code_on_another_input(lines: list[dict[str, Any]]) -> None:
    first = numbers(lines, is_note)[0]
    lines.insert(first + 1, {**lines[first], "after": {**lines[first]["after"], "given": "{}"}})


def run_code_after_the_commit(lines: list[dict[str, Any]]) -> None:
    """Deliver an event once more when all is over, and let its code run."""
    note = numbers(lines, is_note)[0]
    (begun,) = numbers(lines, lambda line: line["what"] == "begun" and line["delivery"] == lines[note]["by"])
    lines.append({**lines[begun], "delivery": "again"})
    lines.append({**lines[note], "by": "again"})


def mix_two_histories(lines: list[dict[str, Any]]) -> None:
    """User code sees a stamp of another execution."""
    notes = [each for each in numbers(lines, is_note) if "stamp:" in lines[each]["after"]["given"]]
    other = next(each for each in notes if execution_of(lines[each]) != execution_of(lines[notes[0]]))
    lines[other]["after"] = {**lines[other]["after"], "given": lines[notes[0]]["after"]["given"]}


def execution_of(line: Line) -> str:
    return str(line["after"]["ran"]).partition(":")[0]


def fail_what_lambda_has_not_given_up(lines: list[dict[str, Any]]) -> None:
    lines[:] = [line for line in lines if line["what"] != "given up"]


def lose_an_event(lines: list[dict[str, Any]]) -> None:
    """Nothing comes of the event after a first commit, and the history ends there."""
    del lines[next(each for each in numbers(lines, is_event) if lines[each]["event"]["step"] == 2) + 1 :]


def lose_a_failure_record(lines: list[dict[str, Any]]) -> None:
    given_up = next(line["request"] for line in lines if line["what"] == "given up")
    lines[:] = [line for line in lines if of_failure(line) != given_up]


def of_failure(line: Mapping[str, Any]) -> Any:
    content = line.get("event") or line.get("body")
    return content.get("requestContext", {}).get("requestId") if isinstance(content, dict) else None


def forge_a_delayed_event(lines: list[dict[str, Any]]) -> None:
    """The forwarder sends another event than the one in its message."""
    forwarders = {line["delivery"] for line in lines if line["what"] == "begun" and "Records" in line["event"]}
    event = next(each for each in numbers(lines, is_event) if lines[each]["by"] in forwarders)
    lines[event]["event"] = {**lines[event]["event"], "step": 1}


def copy_another_result(lines: list[dict[str, Any]]) -> None:
    """A redrive copies into one branch what another one has committed."""
    copiers = {
        line["delivery"] for line in lines if line["what"] == "begun" and line["event"].get("control") == "redrive"
    }
    first, second, *_ = (each for each in numbers(lines, is_branch) if lines[each]["by"] in copiers)
    lines[second]["after"] = lines[first]["after"]


def fork_another_execution(lines: list[dict[str, Any]]) -> None:
    """The start record of a fork names another original than the one that its copies come from."""
    fork, *_ = numbers(lines, lambda line: place_of(line) is not None and "forking" in line["after"])
    other, *_ = (lines[each] for each in numbers(lines, is_success) if "fork" not in lines[each]["key"][0])
    name, started = other["key"][0].partition("/")[2].split(":")
    _, _, *rest = json.loads(lines[fork]["after"]["forking"])
    lines[fork]["after"] = {**lines[fork]["after"], "forking": json.dumps([name, int(started, 16), *rest])}


def write_in_bulk(lines: list[dict[str, Any]]) -> None:
    lines.append({"what": "bulk", "by": "", "operation": "batch_write_item", "tables": [TABLE]})


PLANTED: dict[Change, str] = {
    accept_a_second_create: "a second outcome",
    overwrite_an_end: "a second outcome",
    commit_under_a_foreign_name: "a foreign commit",
    commit_from_outside: "a foreign commit",
    send_before_the_commit: "an event is sent before its cause",
    send_to_another_execution: "a foreign event",
    begin_a_branch_that_nothing_opened: "an event is sent before its cause",
    end_twice: "more after the end",
    join_without_a_branch: "an incomplete join",
    commit_in_a_branch_after_the_join: "a commit after the join",
    run_code_on_another_input: "two inputs",
    run_code_after_the_commit: "user code after the outcome",
    mix_two_histories: "a value of nobody",
    fail_what_lambda_has_not_given_up: "a failure without a cause",
    lose_an_event: "an event is lost",
    lose_a_failure_record: "a failure is lost",
    forge_a_delayed_event: "a foreign event",
    copy_another_result: "a commit before its cause",
    fork_another_execution: "a commit before its cause",
    write_in_bulk: "a bulk write",
}


def test_the_recorded_history_has_no_violation(found: Findings) -> None:
    assert found.violations == []
    assert still(found) == []
    assert found.copies, "nothing was redriven or forked"
    assert {str(item["status"]) for item in ends(found)} == {"SUCCEEDED", "ABORTED"}


@pytest.mark.parametrize("change", PLANTED, ids=lambda change: change.__name__)
def test_a_planted_violation_is_found(change: Change) -> None:
    lines = recorded()
    change(lines)
    assert PLANTED[change] in {violation.rule for violation in judged(lines).violations}


@pytest.mark.parametrize("change", PLANTED, ids=lambda change: change.__name__)
def test_a_planted_violation_is_found_in_a_bucket(change: Change) -> None:
    lines = recorded()
    change(lines)
    there = judged(in_bucket(lines), f"{BUCKET}{TABLE.lower()}")
    assert {violation.rule for violation in there.violations} == {each.rule for each in judged(lines).violations}


def test_the_same_history_in_a_bucket_has_the_same_commits(found: Findings) -> None:
    there = judged(in_bucket(recorded()), f"{BUCKET}{TABLE.lower()}")
    assert there.violations == []
    assert there.commits.keys() == found.commits.keys()
    assert there.copies == found.copies
    assert [*ends(there)] == [*ends(found)]


def test_additions_to_sets_and_large_values_are_no_items() -> None:
    names = ("state:w/e:1/A.0~0/done/=done/1.2.0.1", "w/e:1/value", "listed:w/STARTED~0/=1 state:w/e:1/=000000001")
    objects = [{"what": "object", "bucket": "b", "name": name, "before": None, "after": 5} for name in names]
    assert [line["what"] for line in parsed([json.dumps(each) + "\n" for each in objects])] == ["object"] * 3


def test_an_execution_without_an_end_stands_still() -> None:
    lines = recorded()
    last = numbers(lines, is_success)[-1]
    name = lines[last]["key"][0].partition("/")[2]
    assert still(judged([*lines[:last], *lines[last + 1 :]])) == [name]


def test_clients_must_see_the_committed_end(found: Findings) -> None:
    execution, (*_, last) = next(
        (execution, places) for execution, places in found.ends.items() if found.end(execution)
    )
    item = found.commits[last].item
    name = last.name
    seen = (item["status"], json.loads(item["value"] if item["status"] == "SUCCEEDED" else item["error"]))
    assert [*check_results(found, {name: seen})] == []
    assert [violation.rule for violation in check_results(found, {name: ("SUCCEEDED", "other")})] == ["another result"]
    assert [violation.rule for violation in check_results(found, {"nobody": seen})] == ["no end"]
    assert execution.startswith(name)


def test_a_violation_comes_with_the_history_of_its_invocation() -> None:
    changed = recorded()
    accept_a_second_create(changed)
    changed.insert(0, {"what": "fault", "delivery": "of another stack", "fault": "none"})
    lines = [{**line, "line": number} for number, line in enumerate(changed)][1:]
    found = judged(changed)
    (violation,) = (each for each in found.violations if each.rule == "a second outcome")
    first, *story = tell(lines, found, [violation])
    assert "a second outcome" in first
    assert {text.split()[1] for text in story} >= {"write", "begun", "ended"}
    assert violation.place is not None
    assert story[-1].split()[0] == str(found.lines[violation.place][-1])


def ends(found: Findings) -> Iterator[Mapping[str, Any]]:
    return (item for execution in found.ends if (item := found.end(execution)) is not None)


def test_places_are_read_from_keys_events_and_names() -> None:
    key = ["W/e%000021x:1f/A%00005fb@2.0[3]/C@1.1~0", "000000007.000000002"]
    place = of_key("W", key, {})
    assert str(place) == "e!x:1f/A_b@2.0[3]/C@1.1[7]#2"
    assert of_key("W", ["W/e:1f/A@2.0~0/done", "done"], {}) is None
    assert of_key("W", ["start:W/e", "start"], {"at": 31}) == Place("e:1f", (), 0)
    event = {"$unum": 1, "workflow": "W", "execution": ["e", 31], "frames": [["A", 2, 0, 3, 9]], "step": 1}
    assert of_envelope(event) == of_text("e:1f/A@2.0[3]#1")
    for refused in (["W/#0123", "000000001.000000002"], ["W/e:1f/A@2.0~0", "p0.abc"]):
        with pytest.raises(UnknownFormatError):
            of_key("W", refused, {})


def test_a_commit_made_of_a_failure_is_no_success() -> None:
    item = {"phase": "left", "state": "A", "value": "1"}
    assert Commit(0, "", item).is_success
    assert not Commit(0, "", {**item, "caught_error": '"E"'}).is_success


@pytest.mark.parametrize(
    ("branch", "previous", "is_right"), [(1, 10, True), (1, 11, False), (2, 10, False), (0, 10, False)]
)
def test_a_result_is_given_to_the_next_branch_as_it_was_committed(branch: int, previous: int, is_right: bool) -> None:  # noqa: FBT001
    before, place = (Place("e:1", (Frame("map", 1, 0, each),), 1) for each in (0, branch))
    checker = _Checker(WORKFLOW, TABLE, NOTES)
    checker._found.commits[before] = Commit(1, "b", {"state": "b", "phase": "left", "value": "10"})
    sender = Delivery(1, {}, Role.INVOCATION, {before})
    event = {"input": {"own": 20, "previous": previous}}
    assert checker._feeds(sender, place, event) is is_right
    assert not checker._feeds(sender, place, {"input": {"own": 20}})
