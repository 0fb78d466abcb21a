"""Parsing of operators' requests, and errors about malformed ones."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.callback_platform import asking
from tests.unit.protocol.job_platform import LOOK_S, watching
from tests.unit.protocol.map_platform import deliver_all, deployed, lose, mapped, result
from tests.unit.protocol.platform import Platform, chain, exactly
from unum_runtime.errors import TimeIsShort
from unum_runtime.model.checkpoint import Began, Failure, Success
from unum_runtime.model.envelope import MARK
from unum_runtime.model.naming import NAME_RULE, SHARD_SIZE
from unum_runtime.protocol.control.forks.fork import ForkRequest, fork
from unum_runtime.protocol.control.operator_requests import (
    Control,
    On,
    Request,
    ValidationException,
    answer,
    fork_runs_on,
    is_request,
    parse,
    request,
)
from unum_runtime.protocol.control.versions import RunsOn
from unum_runtime.protocol.runtime import MAX_DELIVERY_MS

FORK = {"node": "A", "name": "f"}
FIELDS = f'"node", the name of a state; "name", that of the new execution, {NAME_RULE}; and "visit", a number from 1 on'


@pytest.mark.parametrize(
    ("control", "content", "expected"),
    [
        (Control.NUDGE, {}, {}),
        (Control.WHY, {"silent_ms": 5}, {"silent_ms": 5}),
        (Control.STOP, {"error": "E", "cause": "c"}, {"failure": Failure("E", "c")}),
        (Control.REDRIVE, {"on": "current"}, {"on": On.CURRENT}),
        (Control.FORK, FORK, {"fork": ForkRequest(execution="e", name="f", node="A")}),
        (
            Control.FORK,
            {**FORK, "visit": 2, "input": None},
            {"fork": ForkRequest(execution="e", name="f", node="A", visit=2, value=Success(None))},
        ),
        (Control.NUDGE, FORK, {"fork": None}),
    ],
)
def test_a_request_says_what_its_sender_wrote(control: Control, content: dict[str, Any], expected: Any) -> None:
    common = {"failure": Failure(None, None), "fork": None, "silent_ms": 0, "on": None}
    assert parse(request(control, "e", **content)) == Request(control=control, execution="e", **common | expected)


@pytest.mark.parametrize(
    ("event", "is_one"),
    [
        ({MARK: 1, "control": "nudge"}, True),
        ({MARK: 1}, False),
        ({"control": "nudge"}, False),
        ([MARK, "control"], False),
        (None, False),
    ],
)
def test_a_request_has_both_marks(event: Any, *, is_one: bool) -> None:
    assert is_request(event) is is_one


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({MARK: 2}, f"event.{MARK}: expected wire version 1, got 2"),
        ({"control": "jump"}, f"control: expected one of {[*map(str, Control)]}, got 'jump'"),
        ({"execution": 5}, "execution: expected the name of an execution, got 5"),
        ({"execution": None}, "execution: expected the name of an execution, got None"),
        ({"error": 5}, "error, cause: expected texts or nothing, got 5 and None"),
        ({"cause": []}, "error, cause: expected texts or nothing, got None and []"),
        ({"silent_ms": -1}, "silent_ms: expected milliseconds, a whole number from 0 on, got -1"),
        ({"silent_ms": True}, "silent_ms: expected milliseconds, a whole number from 0 on, got True"),
        ({"on": "newest"}, f"on: expected one of {[*map(str, On)]}, or nothing, got 'newest'"),
        ({"control": "fork"}, f"expected {FIELDS}; got ['$unum', 'control', 'execution']"),
        (
            {"control": "fork", **FORK, "name": "a b"},
            f"expected {FIELDS}; got {sorted([*FORK, MARK, 'control', 'execution'])}",
        ),
        ({"control": "fork", "node": "A"}, f"expected {FIELDS}; got {sorted([MARK, 'control', 'execution', 'node'])}"),
    ],
)
def test_a_malformed_request_is_refused_by_its_field(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationException, match=exactly(said)):
        parse({**request(Control.NUDGE, "e"), **change})


def test_what_is_no_request_is_refused() -> None:
    with pytest.raises(
        ValidationException, match=exactly(f'expected an object with "{MARK}", "control" and "execution"')
    ):
        parse({"control": "nudge"})


def answered(platform: Platform, control: Control, old: Any = None, /, **content: Any) -> Any:
    return answer(platform.runtime(), parse(request(control, "e", **content)), None, old)


def test_what_is_missing_is_shown_with_its_place_and_its_reason() -> None:
    platform = deployed(mapped("A", "B", after="C"))
    platform.start("e", [1, 2])
    since_ms = platform.clock.ms
    lose(platform, "B", 1)
    line = {"invocation": "e:1a3185c5000/M@2.0[1]#1", "state": "B", "index": [1], "waits_for": "delivery"}
    expected = {"count": 1, "missing": [{**line, "since_ms": since_ms}]}
    assert answered(platform, Control.WHY) == expected
    assert answered(platform, Control.WHY, silent_ms=1) == {"count": 0, "missing": []}
    platform.clock.pass_seconds(1)
    assert answered(platform, Control.NUDGE, silent_ms=1) == expected
    deliver_all(platform)
    assert result(platform) == [1, 2]


def test_a_wait_is_shown_with_its_end() -> None:
    definition = chain("A", "B")
    definition["States"]["A"] = {"Type": "Wait", "Seconds": 60, "Next": "B"}
    platform = deployed(definition)
    platform.start("e", 1)
    (line,) = answered(platform, Control.WHY)["missing"]
    assert (line["waits_for"], line["until_ms"]) == ("time", platform.clock.ms + 60_000)
    assert "job" not in line


def test_a_job_is_shown_with_its_handle_and_its_next_poll() -> None:
    platform = watching()
    platform.begun()
    (line,) = answered(platform, Control.WHY)["missing"]
    assert (line["waits_for"], line["job"]) == ("job", 1)
    assert line["until_ms"] == platform.started[0] + LOOK_S * 1000 + MAX_DELIVERY_MS


def test_a_task_that_waits_for_an_answer_is_shown_as_such() -> None:
    asked = asking()
    asked.begun()
    (line,) = answered(asked.platform, Control.WHY)["missing"]
    assert (line["state"], line["waits_for"], line.keys() & {"until_ms", "job"}) == ("Ask", "answer", set())


def failed(platform: Platform) -> Platform:
    def fragile(_event: Any) -> Any:
        raise ValueError

    mended, platform.functions["B"] = platform.functions["B"], fragile
    platform.run("e", 1)
    platform.functions["B"] = mended
    return platform


def test_a_redrive_is_answered_with_its_time_also_if_a_part_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    platform = failed(deployed(chain("A", "B")))
    platform.clock.pass_seconds(5)
    redriven_ms = platform.clock.ms
    with monkeypatch.context() as patch:
        patch.setattr("unum_runtime.protocol.control.operator_requests.redrive", _too_short)
        assert answered(platform, Control.REDRIVE) == {"redriven_ms": redriven_ms, "is_done": False}
    assert answered(platform, Control.REDRIVE) == {"redriven_ms": redriven_ms}
    platform.deliver_all()
    assert result(platform) == 1


def test_a_redrive_knows_the_definition_before() -> None:
    platform = failed(deployed(chain("A", "B")))
    newer = deployed(chain("A", "X", "B"))
    newer.clock, newer.memory, newer.store = platform.clock, platform.memory, platform.memory
    answered(newer, Control.REDRIVE, platform.workflow)
    newer.deliver_all()
    assert (result(newer), newer.calls) == (1, {"X": 1, "B": 1})


def test_an_unfinished_fork_waits_for_its_first_own_step(monkeypatch: pytest.MonkeyPatch) -> None:
    platform = deployed(chain("A", "B"))
    platform.run("e", 1)
    started_ms = platform.clock.ms
    with monkeypatch.context() as patch:
        patch.setattr("unum_runtime.protocol.control.forks.fork.nudge_whole", _too_short)
        forked = answered(platform, Control.FORK, node="B", name="f")
    assert forked == {"execution": "f", "started_ms": started_ms, "is_done": False}
    waiting = answer(platform.runtime(), parse(request(Control.WHY, "f")), None)
    line = {"invocation": "f:1a3185c5000#2", "state": "B", "index": [], "waits_for": "delivery"}
    assert waiting == {"count": 1, "missing": [{**line, "since_ms": started_ms}]}
    assert answered(platform, Control.FORK, node="B", name="f") == {"execution": "f", "started_ms": started_ms}
    deliver_all(platform)
    assert result(platform, "f") == 1


def test_a_redrive_runs_on_the_versions_whose_addresses_are_known() -> None:
    platform = failed(deployed(chain("A", "B")))
    began = Began("v2", {"A": "a"})
    answer(platform.runtime(), parse(request(Control.REDRIVE, "e")), began)
    assert platform.steps()[-1].began == began


def test_a_deletion_and_a_nudge_tell_of_a_part_that_is_left() -> None:
    platform = deployed(mapped("A"))
    platform.start("e", [*range(SHARD_SIZE + 1)])
    platform.options["remaining_ms"] = lambda: 1
    nudged = answered(platform, Control.NUDGE)
    assert (nudged["count"], nudged["is_done"]) == (SHARD_SIZE, False)
    answered(platform, Control.STOP)
    expected: dict[str, Any] = {"deleted_ms": platform.clock.ms, "again_ms": None, "remains": [], "is_done": False}
    assert answered(platform, Control.DELETE) == expected


def _too_short(*_: Any, **__: Any) -> Any:
    raise TimeIsShort("no time")


def test_a_stop_is_answered_with_its_time() -> None:
    platform = deployed(chain("A", "B"))
    platform.start("e", 1)
    platform.clock.pass_seconds(3)
    assert answered(platform, Control.STOP) == {"stopped_ms": platform.clock.ms}


def test_a_kind_that_this_version_does_not_know_is_refused() -> None:
    platform = deployed(chain("A", "B"))
    asked = replace(parse(request(Control.FORK, "e", **FORK)), fork=None)
    with pytest.raises(ValidationException, match=exactly("control: this version cannot fork")):
        answer(platform.runtime(), asked, None)


def test_an_equal_request_for_a_fork_finds_the_version_that_began_it() -> None:
    platform = Platform.of(chain("A", "B"), A=lambda event: event, B=lambda event: event)
    platform.run("e", 1)
    asked = ForkRequest(execution="e", name="f", node="B")
    assert fork_runs_on(platform.memory, "w", asked) is None
    fork(platform.runtime(), asked)
    assert fork_runs_on(platform.memory, "w", asked) == RunsOn(platform.workflow.digest, None)
    assert fork_runs_on(platform.memory, "w", replace(asked, node="A")) is None
