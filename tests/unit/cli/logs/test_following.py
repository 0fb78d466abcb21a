"""``unum logs --follow`` tells the state of lines whose invocation commits while it looks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

from unum_cli.logs.execution_logs import Invocation
from unum_cli.logs.log_lines import InvocationLog
from unum_cli.logs.logs_command import _Lines

AT = datetime.fromtimestamp(0, UTC)
WITHOUT_STEP = Invocation(log_group="g", log_stream="s", request_id="r", began_at=AT)
STEP = cast("Any", SimpleNamespace(state="Pack", index=()))


@dataclass
class Looks:
    """A search that finds other invocations at each look."""

    looks: Sequence[Sequence[Invocation]]
    is_complete: bool = True
    at: int = field(default=0)

    def invocations(self, _name: str, _only: str | None) -> Iterator[Invocation]:
        self.at += 1
        yield from self.looks[self.at - 1]

    @property
    def reader(self) -> Any:
        line = SimpleNamespace(text="said")
        return SimpleNamespace(read=lambda _: InvocationLog(lines=(cast("Any", line),), is_complete=self.is_complete))


def followed(*looks: Sequence[Invocation], is_complete: bool = True) -> list[list[tuple[Any, ...]]]:
    """The steps of the lines that each look yields; the last one is after the end."""
    lines = _Lines(cast("Any", Looks(looks, is_complete)), "e", None)
    ends = range(1, len(looks) + 1)
    return [[each.steps for each, _ in lines.there(also_unfinished=at == len(looks))] for at in ends]


def test_a_commit_between_two_reads_is_waited_for() -> None:
    with_step = replace(WITHOUT_STEP, steps=(STEP,))
    assert followed([WITHOUT_STEP], [with_step], []) == [[], [(STEP,)], []]


def test_an_attempt_that_failed_is_shown_at_the_second_look() -> None:
    assert followed([WITHOUT_STEP], [WITHOUT_STEP], [WITHOUT_STEP]) == [[], [()], []]


def test_after_the_end_all_is_shown_at_once() -> None:
    assert followed([WITHOUT_STEP]) == [[()]]


def test_what_has_not_ended_is_waited_for() -> None:
    with_step = replace(WITHOUT_STEP, steps=(STEP,))
    assert followed([with_step], [with_step], [with_step], is_complete=False) == [[], [], [(STEP,)]]


def test_what_has_committed_and_ended_is_shown_at_once() -> None:
    with_step = replace(WITHOUT_STEP, steps=(STEP,))
    assert followed([with_step], [with_step]) == [[(STEP,)], []]
