"""Workflows that nobody thought of, with functions whose results differ from run to run."""

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count

from building import machine, map_, parallel, pass_, task
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recovering import catch, retry, wait

from unum_constructs.compiler import compile_workflow
from unum_runtime.model.ir import Collection, Json
from unum_runtime.simulator import Context, Faults, Scenario, search

EXAMPLES = int(os.environ.get("UNUM_SIMULATION_EXAMPLES", "60"))
FAULTS = Faults(crashes=2, duplicates=2, throttles=1, losses=1, jumps=1, concurrency=3)
STOPPED = replace(FAULTS, stops=1)
RUNS_EACH = 5
MAX_ITEMS = 3
TIMEOUTS = st.sampled_from([None, None, 9])


@dataclass(frozen=True)
class Moody:
    """User code that returns another list on every run, also of another length, and sometimes fails.

    Attributes:
        salt: makes other code of it.
    """

    salt: int

    def __call__(self, _event: Json, context: Context) -> Json:
        number = zlib.crc32(f"{self.salt} {context.unum.invocation} {context.run}".encode())
        if number % 7 == 0:
            raise [ValueError, KeyError][number % 2](f"run {context.run}")
        return [number // 100 % 7 + item for item in range(number % (MAX_ITEMS + 1))]


@dataclass
class Builder:
    """Draws a scope of states; all of their names are different.

    Attributes:
        draw: draws from a strategy.
    """

    draw: st.DrawFn
    _numbers: Iterator[int] = field(default_factory=count)

    def scope(self, depth: int) -> Json:
        """A machine or a branch, in which fan-outs lie at most `depth` deep."""
        names = [f"S{next(self._numbers)}" for _ in range(self.draw(st.integers(1, 3)))]
        states: dict[str, Json] = {}
        for name, following in zip(names, [*names[1:], None], strict=True):
            states |= self._state(name, following, depth)
        return machine(**states)

    def _state(self, name: str, following: str | None, depth: int) -> dict[str, Json]:
        kinds = ["task", "task", "pass", "choice", "wait"] + ["map", "parallel"] * (depth > 0)
        match self.draw(st.sampled_from(kinds)):
            case "task":
                return {name: task("moody", following, **self._recovery(name, following))}
            case "wait":
                return {name: wait(self.draw(st.integers(0, 20)), following)}
            case "pass":
                return {name: pass_(following, Result=[1, 2])}
            case "map":
                limit = self.draw(st.sampled_from([0, 0, 1, 2]))
                return {name: self._map(name, following, depth, limit)}
            case "parallel":
                branches = [self.scope(depth - 1) for _ in range(self.draw(st.integers(1, 2)))]
                return {name: parallel(*branches, following=following, **self._recovery(name, following))}
        return self._choice(name, following)

    def _map(self, name: str, following: str | None, depth: int, limit: int) -> Json:
        processor = self.scope(depth - 1)
        if self.draw(st.booleans()):
            return map_(processor, following, MaxConcurrency=limit, **self._recovery(name, following))
        processor["ProcessorConfig"] = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
        tolerated = self.draw(st.sampled_from([{}, *({"ToleratedFailureCount": count} for count in range(3))]))
        return map_(processor, following, **tolerated, **self._recovery(name, following))

    def _recovery(self, name: str, following: str | None) -> dict[str, Json]:
        """Rules for some errors, and variables that some values go into."""
        fields: dict[str, Json] = {}
        if self.draw(st.booleans()):
            error = self.draw(st.sampled_from(["ValueError", "States.TaskFailed", "States.ALL"]))
            fields["Retry"] = retry(error, attempts=self.draw(st.integers(0, 2)))
        if following and self.draw(st.booleans()):
            assign = {"Assign": {f"error{name}.$": "$.Error"}} if self.draw(st.booleans()) else {}
            fields["Catch"] = catch(following, self.draw(st.sampled_from(["KeyError", "States.ALL"])), **assign)
        if self.draw(st.booleans()):
            fields["Assign"] = {f"last{name}.$": "$"}
        return fields

    def _choice(self, name: str, following: str | None) -> dict[str, Json]:
        """Goes one of two ways to `following`, or ends the scope on one of them."""
        if_any, if_none = f"{name}Any", f"{name}None"
        rule = {"Variable": "$[0]", "IsPresent": True, "Next": if_any}
        end = self.draw(st.sampled_from([pass_(following), {"Type": "Succeed"}, {"Type": "Fail", "Error": "None"}]))
        return {
            name: {"Type": "Choice", "Choices": [rule], "Default": if_none},
            if_any: task("moody", following),
            if_none: end,
        }


@st.composite
def definitions(draw: st.DrawFn) -> Json:
    """State machines in which every value is a list, so that most fan-outs find one."""
    return Builder(draw).scope(depth=2)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    definitions(),
    st.integers(0, 1_000),
    st.sampled_from(Collection),
    st.booleans(),
    TIMEOUTS,
    st.sampled_from([FAULTS, FAULTS, STOPPED]),
)
def test_generated_workflows(
    definition: Json,
    salt: int,
    collection: Collection,
    by_client: bool,  # noqa: FBT001 - drawn
    timeout_s: int | None,
    faults: Faults,
) -> None:
    timeout = {} if timeout_s is None else {"TimeoutSeconds": timeout_s}
    scenario = Scenario(
        workflow=compile_workflow(definition | timeout, name="generated", functions=["moody"]),
        functions={"moody": Moody(salt)},
        input=[1, 2],
        faults=faults,
        collection=collection,
        by_client=by_client,
        tick_ms=1,
    )
    search(scenario, range(salt, salt + RUNS_EACH))
