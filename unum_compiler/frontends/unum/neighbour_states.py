"""States of a branch that meets its neighbours: a Pass with the index, then a Task for each function."""

from collections.abc import Mapping, Sequence

from unum_compiler.frontends.unum.neighbours import Branches, Run, Source
from unum_runtime.model.states import Json


def chain(found: Branches) -> tuple[dict[str, dict[str, Json]], dict[str, dict[str, Json]]]:
    """Return the states of a branch in order, and the fields of its Tasks that the IR has alone."""
    runs = found.runs
    waits = _waits(runs)
    first = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": "{% $states.input.value %}"}
    assigned = {"index": "{% $states.input.index %}", "size": "{% $states.input.size %}"}
    states: dict[str, dict[str, Json]] = {f"{runs[0].function} (branch)": {**first, "Assign": assigned}}
    extensions: dict[str, dict[str, Json]] = {}
    for run in runs:
        states[run.function] = _task(run, runs, waits)
        extensions[run.function] = _fields(run, waits)
    if found.exit is not None and (name := found.exit.values[0].name) != runs[-1].function:
        # The fan-in gets the results of a function that others follow.
        left = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": f"{{% ${_own(runs, name)} %}}"}
        states[f"{name} (result)"] = left
        states[name].setdefault("Assign", {})[_own(runs, name)] = _result(_run_of(runs, name), "null")
    for name, following in zip(states, [*states][1:], strict=False):
        states[name]["Next"] = following
    states[[*states][-1]]["End"] = True
    return states, {name: fields for name, fields in extensions.items() if fields}


def _waits(runs: Sequence[Run]) -> Mapping[str, str]:
    """Return for each function that waits the function of the previous branch that it waits for.

    A Task waits for one result. Another one that it needs comes from an earlier Task of its branch, which waits for it.
    """
    waits: dict[str, str] = {}
    for run in runs:
        new = sorted({source.function for source in run.sources if source.back} - {*waits.values()})
        if len(new) > 1:
            raise TwoResultsError(run.function, new)
        waits |= {run.function: new[0]} if new else {}
    return waits


class TwoResultsError(Exception):
    """A function that needs several new results of the previous branch: its name, and theirs."""


def _fields(run: Run, waits: Mapping[str, str]) -> dict[str, Json]:
    fields: dict[str, Json] = {}
    if run.function in waits:
        fields["after_previous"] = waits[run.function]
    if run.first or run.last:
        fields["left_out"] = (run.first, run.last)
    return fields


def _task(run: Run, runs: Sequence[Run], waits: Mapping[str, str]) -> dict[str, Json]:
    task: dict[str, Json] = {"Type": "Task", "QueryLanguage": "JSONata", "Resource": "arn:aws:states:::lambda:invoke"}
    given = "$states.input.own" if run.function in waits else "$states.input"
    task["Arguments"] = {"FunctionName": run.function, "Payload": _payload(run, runs, waits, given)}
    assigned: dict[str, Json] = {}
    later = runs[runs.index(run) + 1 :]
    if any(Source(run.function, 0) in other.sources for other in later):
        assigned[_own(runs, run.function)] = _result(run, "null")
    waited = waits.get(run.function)
    if waited is not None and any(Source(waited, 1) in other.sources for other in later):
        assigned[_previous(runs, waited)] = "{% $states.input.previous %}"
    return {**task, **({"Assign": assigned} if assigned else {}), "Output": _result(run, given)}


def _payload(run: Run, runs: Sequence[Run], waits: Mapping[str, str], given: str) -> Json:
    if not run.arrivals:  # the first function of the branch gets the item
        return f"{{% {given} %}}"
    columns = zip(*(arrival.sources for arrival in run.arrivals), strict=True)
    values = [_by_branch(run, [_value(source, run, runs, waits) for source in column]) for column in columns]
    return values if run.arrivals[0].is_list else values[0]


def _by_branch(run: Run, values: Sequence[str]) -> str:
    """Return an expression that is each of `values` in one branch, from the first in which `run` runs."""
    *early, found = values
    for number, value in reversed([*enumerate(early)]):
        found = value if value == found else f"$index <= {run.first + number} ? {value} : {found}"
    return f"{{% {found} %}}"


def _value(source: Source, run: Run, runs: Sequence[Run], waits: Mapping[str, str]) -> str:
    if not source.back:
        return f"${_own(runs, source.function)}"
    is_waited = waits.get(run.function) == source.function
    return "$states.input.previous" if is_waited else f"${_previous(runs, source.function)}"


def _result(run: Run, otherwise: str) -> str:
    """Return an expression that is the function's result, or `otherwise` in branches that it leaves out."""
    tests = [f"$index >= {run.first}"] if run.first else []
    tests += [f"$index < $size - {run.last}"] if run.last else []
    result = "$states.result.Payload"
    return f"{{% {' and '.join(tests)} ? {result} : {otherwise} %}}" if tests else f"{{% {result} %}}"


def _own(runs: Sequence[Run], function: str) -> str:
    return f"own_{runs.index(_run_of(runs, function))}"


def _previous(runs: Sequence[Run], function: str) -> str:
    return f"previous_{runs.index(_run_of(runs, function))}"


def _run_of(runs: Sequence[Run], function: str) -> Run:
    return next(run for run in runs if run.function == function)
