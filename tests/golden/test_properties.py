"""Whatever a definition is, it is refused or its executions end; and both query languages agree."""

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.golden import adapter
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json
from unum_simulator.local import LocalWorkflow

KEYS = st.sampled_from(["a", "b", "c"])
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "2016-03-14T01:59:00Z", "5"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)
PATHS = st.sampled_from(
    ["$", "$.a", "$.a.b", "$.b[0]", "$.c[*].a", "$..a", "$.c[?(@.a > 1)]", "$$.State.Name", "$v", "$v.a"]
)
CALLS = st.sampled_from(
    [
        "States.Format('{}', $.a)",
        "States.MathAdd($.a, 1)",
        "States.ArrayLength($.c)",
        "States.Array($.a, $v)",
        "States.UUID()",
    ]
)
REFERENCES = st.none() | st.sampled_from(["$", "$.a", "$.a.b", "$.d", "$.c[0]"])
TEMPLATES = st.dictionaries(st.sampled_from(["x.$", "y.$"]), PATHS | CALLS, max_size=2) | st.dictionaries(
    st.sampled_from(["x", "y"]), VALUES, max_size=2
)
ERRORS = st.sampled_from(["States.ALL", "States.TaskFailed", "States.Runtime", "ValueError", "States.IntrinsicFailure"])
RULES = st.fixed_dictionaries({"Variable": PATHS}, optional={}).flatmap(
    lambda rule: st.sampled_from(
        [
            {"NumericGreaterThan": 1},
            {"StringEqualsPath": "$.b"},
            {"IsPresent": True},
            {"IsNull": False},
            {"StringMatches": "a*"},
        ]
    ).map(lambda operator: {**rule, **operator})  # type: ignore[dict-item]  # by name
)
"""Steps of a random definition, each of which may fail at run time, and some of which cannot be compiled."""


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


FLOW = {"InputPath": st.none() | PATHS, "OutputPath": st.none() | PATHS}
WORK = {**FLOW, "Parameters": TEMPLATES, "ResultSelector": TEMPLATES, "ResultPath": REFERENCES}
RETRY = st.builds(lambda error, count: [{"ErrorEquals": [error], "MaxAttempts": count}], ERRORS, st.integers(0, 2))


@st.composite
def machines(draw: Callable[..., Any], depth: int = 1, prefix: str = "S") -> dict[str, Json]:
    """A chain of states, with fan-outs inside to `depth`; a Choice or a Catch may skip ahead."""
    count = draw(st.integers(1, 4))
    names = [f"{prefix}{index}" for index in range(count)]
    states = {name: _state(draw, names[index + 1 :], depth, name) for index, name in enumerate(names)}
    return {"StartAt": names[0], "States": states}


def _state(draw: Callable[..., Any], later: list[str], depth: int, name: str) -> dict[str, Json]:
    kinds = [
        "Pass",
        "Task",
        "Wait",
        *(["Choice"] if later else ["Succeed", "Fail"]),
        *(["Map", "Parallel"] if depth else []),
    ]
    kind = draw(st.sampled_from(kinds))
    onward = {"Next": later[0]} if later else {"End": True}
    catch = {"Catch": [{"ErrorEquals": [draw(ERRORS)], "Next": draw(st.sampled_from(later))}]} if later else {}
    match kind:
        case "Pass":
            own = draw(
                some(**FLOW, Parameters=TEMPLATES, Result=VALUES, ResultPath=REFERENCES, Assign=st.just({"v.$": "$"}))
            )
        case "Task":
            own = draw(some(**WORK, Retry=RETRY)) | {"Resource": "work"} | draw(st.sampled_from([{}, catch]))
        case "Wait":
            own = draw(some(**FLOW)) | draw(
                st.sampled_from([{"Seconds": 3}, {"SecondsPath": "$.a"}, {"TimestampPath": "$.b"}])
            )
        case "Choice":
            targets = st.sampled_from(later)
            rules = [{**draw(RULES), "Next": draw(targets)}]
            return {"Type": kind, "Choices": rules, **draw(st.sampled_from([{}, {"Default": later[0]}]))}
        case "Map":
            inner = draw(machines(depth=depth - 1, prefix=f"{name}m"))
            own = draw(some(**WORK, ItemsPath=PATHS)) | {"ItemProcessor": inner} | draw(st.sampled_from([{}, catch]))
            own.pop("Parameters", None)
        case "Parallel":
            own = draw(some(**WORK)) | {"Branches": [draw(machines(depth=depth - 1, prefix=f"{name}p"))]}
        case "Succeed":
            return {"Type": kind, **draw(some(**FLOW))}
        case _:
            return {"Type": kind, **draw(some(Error=st.just("E"), CausePath=PATHS))}
    return {"Type": kind, **own, **onward}


def ended(workflow: Workflow, value: Json, work: Callable[[Json, Any], Json]) -> dict[str, Json]:
    tasks = {task.name: work for task in workflow.tasks}
    return adapter.described(LocalWorkflow(workflow, tasks).run("any", copy.deepcopy(value)))


def picky(event: Json, _context: Any) -> Json:
    """User code that fails for some inputs."""
    if not event:
        raise ValueError(event)
    return event


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(machines(), VALUES)
def test_every_definition_is_refused_or_ends(definition: dict[str, Json], value: Json) -> None:
    try:
        workflow = adapter.compiled(definition)
    except adapter.Unsupported:
        return
    found = ended(workflow, value, picky)
    assert found["status"] in (Status.SUCCEEDED, Status.FAILED)
    assert ended(workflow, value, picky)["error"] == found["error"]


NUMBERS = st.fixed_dictionaries(
    {"n": st.integers(-9, 9), "l": st.lists(st.integers(-9, 9), max_size=4), "s": st.text("ab", max_size=3)}
)
STEPS = st.sampled_from(
    [
        (
            {"Type": "Pass", "Parameters": {"n.$": "States.MathAdd($.n, 2)", "l.$": "$.l", "s.$": "$.s"}},
            {
                "Type": "Pass",
                "Output": {
                    "n": "{% $states.input.n + 2 %}",
                    "l": "{% $states.input.l %}",
                    "s": "{% $states.input.s %}",
                },
            },
        ),
        (
            {"Type": "Pass", "Parameters": {"n.$": "States.ArrayLength($.l)"}, "ResultPath": "$.n", "OutputPath": "$"},
            {"Type": "Pass", "Output": "{% $merge([$states.input, {'n': {'n': $count($states.input.l)}}]) %}"},
        ),
        (
            {
                "Type": "Task",
                "Resource": "work",
                "Parameters": {"v.$": "$.s"},
                "ResultSelector": {"w.$": "$.v"},
                "ResultPath": "$.t",
            },
            {
                "Type": "Task",
                "Resource": "work",
                "Arguments": {"v": "{% $states.input.s %}"},
                "Output": "{% $merge([$states.input, {'t': {'w': $states.result.v}}]) %}",
            },
        ),
        (
            {
                "Type": "Map",
                "ItemsPath": "$.l",
                "ItemSelector": {"i.$": "$$.Map.Item.Index", "v.$": "$$.Map.Item.Value"},
                "ResultPath": "$.l",
            },
            {
                "Type": "Map",
                "Items": "{% $states.input.l %}",
                "ItemSelector": {
                    "i": "{% $states.context.Map.Item.Index %}",
                    "v": "{% $states.context.Map.Item.Value %}",
                },
                "Output": "{% $merge([$states.input, {'l': $states.result}]) %}",
            },
        ),
        (
            {"Type": "Pass", "Assign": {"kept.$": "$.s"}},
            {"Type": "Pass", "Assign": {"kept": "{% $states.input.s %}"}},
        ),
    ]
)
"""A state in JSONPath, and the same in JSONata."""


def pipeline(states: list[dict[str, Json]], language: str) -> dict[str, Json]:
    chained = {}
    for index, state in enumerate(states):
        inner = {"StartAt": f"I{index}", "States": {f"I{index}": {"Type": "Task", "Resource": "work", "End": True}}}
        processor = {"ItemProcessor": inner} if state["Type"] == "Map" else {}
        onward = {"Next": f"S{index + 1}"} if index + 1 < len(states) else {"End": True}
        chained[f"S{index}"] = {**state, **processor, **onward}
    return {"QueryLanguage": language, "StartAt": "S0", "States": chained}


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=5), NUMBERS)
def test_a_pipeline_in_one_language_does_the_same_in_the_other(
    steps: list[tuple[dict[str, Json], dict[str, Json]]], value: Json
) -> None:
    echo: Callable[[Json, Any], Json] = lambda event, _context: event  # noqa: E731 - shorter than its name
    found = [
        ended(adapter.compiled(pipeline([step[which] for step in steps], language)), value, echo)
        for which, language in enumerate(("JSONPath", "JSONata"))
    ]
    assert found[0]["status"] == found[1]["status"]
    assert found[0]["output"] == found[1]["output"]
