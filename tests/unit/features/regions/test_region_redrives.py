"""Redrives of regions: nodes that have ended are kept, those that wait for a failed one run once it has ended."""

from typing import Any

import pytest

from tests.unit.protocol.platform import Platform
from unum_compiler import graph as g
from unum_compiler.definition import Definition
from unum_runtime.errors import ExecutionNotRedrivable
from unum_runtime.model.checkpoint import Ending, Status, Success
from unum_runtime.protocol.control.redrives.redrive import redrive

LAST = g.task("f").after("d", "e")
NODES = {
    "a": g.task("a"),
    "b": g.task("b").after("a"),
    "c": g.task("c").after("a"),
    "d": g.task("d").after("b", "c"),
    "e": g.task("e").after("c"),
}
RESULT = {"f": ["f", {"d": ["d", {"b": "b", "c": "c"}], "e": "e"}]}


def platform(last: g.Piece = LAST) -> Platform:
    functions: dict[str, Any] = {each: lambda _event, each=each: each for each in "abce"}
    functions |= {each: lambda event, each=each: [each, event] for each in "df"}
    return Platform(Definition.from_graph(g.dag({**NODES, "f": last})).compile("w", None), functions)


def failed() -> Platform:
    """Return a platform on which node `d` has failed after `e` has ended."""
    failing = platform()

    def fail(event: Any) -> Any:
        raise ValueError(event)

    mended, failing.functions["d"] = failing.functions["d"], fail
    failing.start("e", 1)
    for state in "acebd":
        failing.deliver(next(event for event in failing.sent if event.state == state))
    failing.functions["d"] = mended
    failing.sent.clear()
    failing.calls.clear()
    assert failing.ending() is not None
    return failing


def test_only_the_failed_node_and_those_after_it_run_again() -> None:
    again = failed()
    redrive(again.runtime(), "e")
    assert [event.state for event in again.sent] == ["d"]
    again.deliver_all()
    assert again.ending() == Ending(Status.SUCCEEDED, Success(RESULT))
    assert again.calls == {"d": 1, "f": 1}


def test_a_node_whose_fan_out_cannot_open_would_fail_again() -> None:
    flow = g.dag({"a": g.task("a"), "m": g.map(g.task("x"), items=g.out, name="m").after("a")})
    failing = Platform(Definition.from_graph(flow).compile("w", None), dict.fromkeys("ax", lambda event: event))
    failing.run("e", 1)
    with pytest.raises(ExecutionNotRedrivable, match="branch 1 of 'dag' failed after 'm', by no user code"):
        redrive(failing.runtime(), "e")


def test_a_redrive_on_other_edges_is_refused() -> None:
    old, new = failed(), platform(g.task("f").after("d"))
    new.clock, new.memory, new.store = old.clock, old.memory, old.memory
    with pytest.raises(ExecutionNotRedrivable, match="state 'dag': has other nodes or edges now than it had"):
        redrive(new.runtime(), "e", old=old.workflow)
