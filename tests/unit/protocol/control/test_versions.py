"""Versions that executions and redrives run on, as their commits say."""

from contextlib import suppress

import pytest

from tests.unit.protocol.platform import Platform, chain, exactly
from unum_runtime.errors import ExecutionNotRedrivable, NoRoute
from unum_runtime.model.checkpoint import Began
from unum_runtime.model.naming import redrive_key
from unum_runtime.protocol.control.versions import RunsOn, pin, pinned, runs_on

BEGAN = Began("F:2", {"A": "A:2"})


def platform(*states: str) -> Platform:
    return Platform.of(chain(*states), None, **dict.fromkeys(states, lambda event: event))


def test_execution_runs_its_last_version_and_its_first_ones_functions() -> None:
    made = platform("A", "B")
    made.options |= {"own_address": "F:1", "carried": ("B",)}
    made.start()
    assert runs_on(made.memory, "w", "e") == RunsOn(made.workflow.digest, Began("F:1", {"B": "B"}))
    made.deliver_all()
    assert runs_on(made.memory, "w", "e") == RunsOn(made.workflow.digest, Began("F:1", {"B": "B"}))


def test_an_execution_without_a_step_runs_on_any_version() -> None:
    made = platform("A", "B")
    made.functions = {}
    with suppress(NoRoute):
        made.start()
    assert runs_on(made.memory, "w", "e") == RunsOn(None, None)


def test_a_redrive_is_pinned_to_the_version_that_has_begun_it() -> None:
    made, other = platform("A", "B"), platform("A", "C")
    other.memory = other.store = made.memory
    made.start()
    name = made.steps()[0].name.following
    assert pinned(made.memory, "w", name) is None
    pin(made.runtime(), name, BEGAN)
    assert pinned(made.memory, "w", name) == RunsOn(made.workflow.digest, BEGAN)
    assert pinned(made.memory, "w", name.following) is None
    item = made.memory.read([redrive_key("w", name)])[redrive_key("w", name)]
    assert (item["ir"], item["at"]) == (made.workflow.digest, made.clock.ms)
    pin(made.runtime(), name, None)
    said = (
        f"execution 'e': another redrive has begun on IR {made.workflow.digest}, this is IR {other.workflow.digest}; "
        "redrive again to finish that one"
    )
    with pytest.raises(ExecutionNotRedrivable, match=exactly(said)):
        pin(other.runtime(), name, BEGAN)
    assert pinned(made.memory, "w", name) == RunsOn(made.workflow.digest, BEGAN)
