"""Maps without a limit run at most 1,000 branches at once; whoever says something gets that."""

from typing import Any

import pytest

from unum_compiler import compile_workflow
from unum_compiler.analysis.edges import splitting_functions
from unum_compiler.analysis.event_bounds import limiting_maps, most_queued
from unum_compiler.compatibility import Compatibility
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import AT_ONCE, Map

TASK = {"Type": "Task", "Resource": "T", "End": True}


def workflow(inside: dict[str, Any] | None = None, /, compatibility: Any = None, **fields: Any) -> Workflow:
    processor = {"StartAt": "T", "States": {"T": inside or TASK}}
    states = {"M": {"Type": "Map", "ItemProcessor": processor, "End": True, **fields}}
    mode = compatibility or Compatibility.GENEROUS
    return compile_workflow({"StartAt": "M", "States": states}, name="w", functions=None, compatibility=mode)


def the_map(compiled: Workflow) -> Map:
    state = compiled.states["M"]
    assert isinstance(state, Map)
    return state


@pytest.mark.parametrize("language", ["JSONPath", "JSONata"])
@pytest.mark.parametrize("mode", ["INLINE", "DISTRIBUTED"])
def test_map_without_a_limit_gets_one(language: str, mode: str) -> None:
    config = {"Mode": mode} | ({"ExecutionType": "STANDARD"} if mode == "DISTRIBUTED" else {})
    processor = {"StartAt": "T", "States": {"T": TASK}, "ProcessorConfig": config}
    state = the_map(workflow(ItemProcessor=processor, QueryLanguage=language))
    assert (state.has_limit, state.data["MaxConcurrency"]) == (True, AT_ONCE)


@pytest.mark.parametrize(
    ("fields", "has_limit"),
    [
        ({"MaxConcurrency": 0}, False),
        ({"MaxConcurrency": 10_000}, True),
        ({"MaxConcurrencyPath": "$.n"}, True),
    ],
)
def test_stated_limit_stays(fields: dict[str, Any], has_limit: bool) -> None:  # noqa: FBT001 - a column
    state = the_map(workflow(**fields))
    assert state.has_limit is has_limit
    assert {name: state.data[name] for name in fields} == fields


def test_map_without_tasks_stays() -> None:
    state = the_map(workflow({"Type": "Pass", "End": True}))
    assert (state.has_limit, "MaxConcurrency" in state.data) == (False, False)


def test_strict_mode_keeps_the_limits_of_step_functions() -> None:
    assert "MaxConcurrency" not in the_map(workflow(compatibility=Compatibility.STRICT)).data


def test_workflow_of_an_earlier_release_keeps_its_text() -> None:
    before = workflow(MaxConcurrency=0)
    assert not the_map(Workflow.from_json(before.to_json())).has_limit


def test_default_limit_needs_no_parts() -> None:
    assert splitting_functions(workflow()) == ()
    assert splitting_functions(workflow(MaxConcurrency=0)) != ()


def nested() -> Workflow:
    inner = {"Type": "Map", "ItemProcessor": {"StartAt": "T", "States": {"T": TASK}}, "End": True, "MaxConcurrency": 7}
    return compile_workflow(
        {
            "StartAt": "M",
            "States": {
                "M": {
                    "Type": "Map",
                    "MaxConcurrency": 5,
                    "ItemProcessor": {"StartAt": "I", "States": {"I": inner}},
                    "End": True,
                }
            },
        },
        name="w",
        functions=None,
    )


@pytest.mark.parametrize(
    ("compiled", "most"),
    [
        (workflow(), 1_000),
        (workflow(MaxConcurrency=0), 100_000),
        (workflow(MaxConcurrencyPath="$.n"), 100_000),
        (workflow(MaxConcurrency=200_000), 100_000),
        (nested(), 35),
    ],
)
def test_most_queued_events_follow_from_the_maps_around(compiled: Workflow, most: int) -> None:
    task = compiled.task("T")
    assert most_queued(compiled, task) == most
    assert limiting_maps(compiled, task)[-1] == "M"
