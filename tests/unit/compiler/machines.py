"""Random state machines that are valid by construction."""

from itertools import count
from typing import Any

from hypothesis import strategies as st

FUNCTIONS = ("f", "g", "h", "i")
LAST = ("Succeed", "Fail")
WORK = ("Task", "Map", "Parallel")

paths = st.sampled_from(["$", "$.a", "$.a.b[0]", "$['x y']", "$$.Execution.Id", "$$.State.Name"])
templates = st.dictionaries(st.sampled_from(["k", "l.$"]), paths, max_size=2)
flows = st.fixed_dictionaries(
    {},
    optional={
        "InputPath": st.none() | paths,
        "OutputPath": st.none() | paths,
        "Comment": st.text(max_size=5),
    },
)
results = st.fixed_dictionaries({}, optional={"ResultPath": st.sampled_from([None, "$", "$.r", "$.a.r[0]"])})
retriers = st.fixed_dictionaries({"ErrorEquals": st.just(["States.ALL"]), "MaxAttempts": st.integers(0, 2)})
conditions = st.recursive(
    st.sampled_from(
        [
            {"Variable": "$.n", "NumericGreaterThan": 1},
            {"Variable": "$.s", "StringMatches": "a*"},
            {"Variable": "$.s", "StringEqualsPath": "$.t"},
            {"Variable": "$.x", "IsPresent": True},
        ]
    ),
    lambda inner: (
        st.fixed_dictionaries({"And": st.lists(inner, min_size=1, max_size=2)}) | st.fixed_dictionaries({"Not": inner})
    ),
    max_leaves=3,
)


@st.composite
def machines(draw: st.DrawFn, *, max_depth: int = 2) -> dict[str, Any]:
    """A machine: each scope is a chain of states, in which a Choice may go anywhere."""
    return _Machines(draw, max_depth).scope(0)


class _Machines:
    def __init__(self, draw: st.DrawFn, max_depth: int) -> None:
        self._draw = draw
        self._max_depth = max_depth
        self._numbers = count()

    def scope(self, depth: int) -> dict[str, Any]:
        names = [f"S{next(self._numbers)}" for _ in range(self._draw(st.sampled_from((1, 2, 3, 4))))]
        states = {name: self._state(names, index, depth) for index, name in enumerate(names)}
        return {"StartAt": names[0], "States": states}

    def _state(self, names: list[str], index: int, depth: int) -> dict[str, Any]:
        after = names[index + 1] if index + 1 < len(names) else None
        fan_outs = ["Map", "Parallel"] if depth < self._max_depth else []
        kind = self._draw(
            st.sampled_from([*fan_outs, "Task", "Task", "Pass", "Wait", *(["Choice"] if after else LAST)])
        )
        if kind == "Fail":
            return {"Type": kind, "Error": "E"}
        fields = {"Type": kind, **self._draw(flows), **self._own(kind, depth)}
        if kind == "Succeed":
            return fields
        if kind == "Choice":
            return fields | {"Choices": self._draw(rules(names)), "Default": after}
        following = {"Next": after} if after else {"End": True}
        if kind == "Wait":
            return fields | following
        return fields | self._draw(results) | (self._draw(recoveries(names)) if kind in WORK else {}) | following

    def _own(self, kind: str, depth: int) -> dict[str, Any]:
        match kind:
            case "Task":
                return {"Resource": self._draw(st.sampled_from(FUNCTIONS))}
            case "Wait":
                return {"Seconds": self._draw(st.integers(0, 2))}
            case "Pass":
                return self._draw(st.sampled_from([{}, {"Result": 1}, {"Parameters": {"p.$": "$"}}]))
            case "Parallel":
                return {"Branches": [self.scope(depth + 1) for _ in range(self._draw(st.integers(1, 3)))]}
            case "Map":
                return {"ItemProcessor": self.scope(depth + 1), "MaxConcurrency": self._draw(st.integers(0, 2))}
        return {}


def recoveries(names: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    catchers = st.builds(lambda target: {"ErrorEquals": ["States.ALL"], "Next": target}, st.sampled_from(names))
    single: st.SearchStrategy[Any] = st.one_of(st.just([]), retriers.map(lambda rule: [rule]))
    return st.fixed_dictionaries({}, optional={"Retry": single, "Catch": catchers.map(lambda rule: [rule])})


def rules(names: list[str]) -> st.SearchStrategy[list[dict[str, Any]]]:
    rule = st.builds(lambda condition, target: condition | {"Next": target}, conditions, st.sampled_from(names))
    return st.lists(rule, min_size=1, max_size=2)


VALUE = {"n": 1, "items": [1, 2]}
"""What every state of a runnable machine gets and gives."""

KEPT = ("Type", "Next", "End", "Resource", "Default", "Error", "Seconds", "Retry", "Catch")
_CONDITION = st.integers(0, 3).map(lambda bound: {"Variable": "$.n", "NumericLessThan": bound})
_KEEPING: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{"ResultPath": "$.r"}, {"ResultPath": None}, {"ResultSelector": VALUE}]
)


@st.composite
def runnable(draw: st.DrawFn) -> dict[str, Any]:
    """A machine without errors at run time, as long as its functions return what is like `VALUE`."""
    return _runnable(draw, draw(machines()))


def _runnable(draw: st.DrawFn, machine: dict[str, Any]) -> dict[str, Any]:
    variable = f"v{machine['StartAt']}"  # of this scope alone
    states = {name: _runnable_state(draw, state, variable) for name, state in machine["States"].items()}
    return {**machine, "States": states}


def _runnable_state(draw: st.DrawFn, state: dict[str, Any], variable: str) -> dict[str, Any]:
    if state["Type"] == "Fail" and draw(st.integers(0, 9)):
        return {"Type": "Succeed"}
    kept = {key: value for key, value in state.items() if key in KEPT}
    if state["Type"] in WORK:
        kept |= draw(st.sampled_from([{}, {}, {"Assign": {variable: 1}}]))
    match state["Type"]:
        case "Pass":
            return kept | draw(st.sampled_from([{}, {"Result": VALUE}, {"Result": {"n": 0, "items": []}}]))
        case "Choice":
            return kept | {"Choices": [draw(_CONDITION) | {"Next": rule["Next"]} for rule in state["Choices"]]}
        case "Parallel":
            return kept | draw(_KEEPING) | {"Branches": [_runnable(draw, branch) for branch in state["Branches"]]}
        case "Map":
            selector = {"n.$": "$.n", "items.$": "$.items"}
            processor = _runnable(draw, state["ItemProcessor"])
            fields = {"ItemsPath": "$.items", "ItemSelector": selector, "MaxConcurrency": state["MaxConcurrency"]}
            return kept | draw(_KEEPING) | fields | {"ItemProcessor": processor}
    return kept
