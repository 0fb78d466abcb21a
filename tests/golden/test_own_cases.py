"""Executions that end as the specification says, feature by feature; nothing here was recorded.

Each file of `asl/` has cases with

* `name` and `source`, the section that says what must happen;
* `definition` and `input`;
* `tasks`: by the name of a Task, what it answers to one call after the other (the last one to all that follow):
  `{"result": ...}`, `{"echo": true}` for its own event, or `{"error": ..., "cause": ...}`, and with `after_s` how many
  seconds that takes;
* `expected`: `status`, `output` and `error` as a client sees them, or the status `REFUSED` by the compiler; `calls`,
  how often each Task was called; `events`, what it was called with; `lasts_s`, how many seconds all of it took. What is
  not there is not compared;
* `instead` and `because`, where Step Functions was seen to do something else than is specified, which is done then.
"""

import copy
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.golden import adapter
from unum_runtime.clock import SkippingClock
from unum_runtime.errors import StatesError
from unum_runtime.model.states import Json
from unum_simulator.local import LocalWorkflow

FILES = sorted(Path(__file__).with_name("asl").glob("*.json"))
SLACK_S = 1
"""The clock runs on while waits are skipped."""


def own_cases() -> Iterator[Any]:
    for path in FILES:
        for case in json.loads(path.read_text(encoding="utf-8")):
            yield pytest.param(case, id=f"{path.stem}: {case['name']}")


@dataclass
class Answers:
    """A Task's answers, and the events that they were given to."""

    answers: list[dict[str, Json]]
    clock: SkippingClock
    events: list[Json] = field(default_factory=list)

    def __call__(self, event: Json, _context: Any) -> Json:
        answer = self.answers[min(len(self.events), len(self.answers) - 1)]
        self.events.append(copy.deepcopy(event))
        self.clock.skip_to(self.clock.now_ms() + 1000 * answer.get("after_s", 0))
        if "error" in answer:
            raise StatesError(answer["error"], answer.get("cause", ""))
        return event if "echo" in answer else copy.deepcopy(answer["result"])


@pytest.mark.parametrize("case", list(own_cases()))
def test_case(case: dict[str, Json]) -> None:
    if case["expected"]["status"] == "REFUSED":
        with pytest.raises(adapter.Unsupported):
            adapter.compiled(case["definition"])
        return
    workflow, clock = adapter.compiled(case["definition"]), SkippingClock()
    given = defaultdict(lambda: [{"echo": True}], case.get("tasks", {}))
    tasks = {task.name: Answers(given[task.name], clock) for task in workflow.tasks}
    began_ms = clock.now_ms()
    ended = adapter.described(LocalWorkflow(workflow, tasks, clock=clock).run("own-execution", case["input"]))
    lasted_s = (clock.now_ms() - began_ms) / 1000
    expected = dict(case.get("instead") or case["expected"])
    found = ended | {
        "calls": {name: len(task.events) for name, task in tasks.items()},
        "events": {name: tasks[name].events for name in expected.get("events", {})},
    }
    wanted_s = expected.pop("lasts_s", lasted_s)
    assert {name: found[name] for name in expected} == expected
    assert wanted_s <= lasted_s <= wanted_s + SLACK_S


def test_every_case_says_where_it_is_from() -> None:
    for path in FILES:
        cases = json.loads(path.read_text(encoding="utf-8"))
        assert all(case["source"] for case in cases)
        assert len({case["name"] for case in cases}) == len(cases)
