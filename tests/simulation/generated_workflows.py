"""Workflows that nobody thought of, under options that nobody put together, and what may happen to them."""

import random
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from types import ModuleType
from typing import Any, TypeAlias

import pytest

from tests.simulation.definitions import choice, machine, map_, parallel, pass_, task
from tests.simulation.recovery_scenarios import catch, retry, wait, waits_for_job
from tests.simulation.scenarios import fused
from tests.simulation.test_leases import CarelessStore, DeafStore, GenerousStore, StolenStore
from unum_compiler import compile_workflow
from unum_compiler.frontends import from_ir
from unum_compiler.frontends.from_ir import with_extensions
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import DefinitionError
from unum_runtime.features.eager_collection import collect
from unum_runtime.model import naming
from unum_runtime.model.ir import MOST_BEGUN, Collection, Workflow
from unum_runtime.model.states import Guard, Json, Pattern
from unum_runtime.protocol.control import take_over, walk
from unum_runtime.protocol.control.forks import forking
from unum_runtime.protocol.control.redrives import redrive
from unum_runtime.protocol.delivery import join
from unum_runtime.protocol.fanout import completion
from unum_runtime.protocol.history import pending, timeline
from unum_runtime.protocol.planning import advance
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S, JobPending
from unum_simulator import Context, Faults, Scenario
from unum_simulator.simulated_store import SimulatedStore

HOUR_S = 3600
MAX_ITEMS = 3
DEPTH = 2
FUNCTIONS = ("f", "g", "h")
PASSED_ON = "i"
"""The function of Tasks without a checkpoint."""

Choose: TypeAlias = Callable[[Sequence[Any]], Any]
"""Picks one of several things; of those that are simpler, the first."""

_SHARDED: tuple[ModuleType, ...] = (
    *(naming, timeline, pending, completion, join, collect, advance),
    *(forking, redrive, walk, take_over, from_ir),
)
"""Modules that import the size of a shard."""

_STORES = [*[SimulatedStore] * 4, GenerousStore, StolenStore, CarelessStore, DeafStore]
_DISTRIBUTED = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
_TOLERATED: list[dict[str, Json]] = [
    {},
    {"ToleratedFailureCount": 1},
    {"ToleratedFailureCount": 2},
    {"ToleratedFailurePercentage": 50},
]


@dataclass(frozen=True)
class Moody:
    """User code that returns another list on every run, also of another length, and sometimes fails; or begins a job.

    Attributes:
        salt: makes other code of it.
    """

    salt: int

    def __call__(self, _event: Json, context: Context) -> Json:
        unum = context.unum
        number = zlib.crc32(f"{self.salt} {unum.invocation} {unum.state} {context.run}".encode())
        if unum.resource is not None and (unum.job is None or unum.job < number % 3):
            return JobPending(0 if unum.job is None else unum.job + 1, delay_ms=(5_000, 480_000)[number % 2])
        if number % 7 == 0:
            raise [ValueError, KeyError][number // 7 % 2](f"run {context.run}")
        return [number // 100 % 7 + item for item in range(number // 13 % (MAX_ITEMS + 1))]


@dataclass
class Builder:
    """Makes scopes of states, in which every value is a list, so that most fan-outs find one.

    Attributes:
        choose: decides.
        extensions: what the Amazon States Language has no words for, by state.
        loops: whether some state leads back.
    """

    choose: Choose
    extensions: dict[str, Mapping[str, Json]] = field(default_factory=dict)
    loops: bool = False
    _numbers: Iterator[int] = field(default_factory=count)

    def scope(self, depth: int, *, in_map: bool = False) -> Json:
        """A machine or a branch, in which fan-outs lie at most `depth` deep."""
        plain = ["task", "task", "task", "pass", "choice", "wait", "job"]
        kinds = [self.choose(plain + ["map", "map", "parallel"] * (depth > 0)) for _ in range(self.choose([1, 2, 3]))]
        names = [self._name() for _ in kinds]
        states: dict[str, Json] = {}
        for number, (kind, name) in enumerate(zip(kinds, names, strict=True)):
            following = names[number + 1] if number + 1 < len(names) else None
            meets = in_map and "task" in kinds[:number] and set(kinds[:number]) <= {"task", "pass"}
            if kind == "task" and kinds[number + 1 : number + 2] == ["task"] and self._rarely():
                states[name] = task(PASSED_ON, following)
            else:
                states |= self._state(kind, name, following, depth)
            if kind == "task" and meets and self._rarely():
                self.extensions[name] = {"meets_previous": True}
            elif kind == "task" and in_map and number > 0 and self._rarely():
                self.extensions[name] = {"after_previous": self.choose(names)}
        return machine(**states, **self._way_back(states, names) if kinds[-1] == "task" and self._rarely() else {})

    def _state(self, kind: str, name: str, following: str | None, depth: int) -> dict[str, Json]:
        match kind:
            case "choice":
                return self._choice(name, following)
            case "task":
                state = task(self.choose(FUNCTIONS), following, **self._recovery(name, following))
            case "job":
                state = waits_for_job(following, **self._recovery(name, following))
            case "wait":
                state = wait(self.choose([5, 0, 20, 4000]), following)
            case "pass":
                state = pass_(following, Result=self.choose([[1, 2], [2, 3, 4]]))
            case "map":
                state = self._map(name, following, depth)
            case _:
                branches = [self.scope(depth - 1) for _ in range(self.choose([1, 2, 3]))]
                self._quorum(name, len(branches))
                self._edges(name, len(branches))
                state = parallel(*branches, following=following, **self._recovery(name, following))
        return {name: state}

    def _map(self, name: str, following: str | None, depth: int) -> Json:
        processor, fields = self.scope(depth - 1, in_map=True), self._recovery(name, following)
        limit = self.choose([0, 0, 1, 2])
        fields |= {"MaxConcurrency": limit} if limit else {}
        if self._rarely():
            processor["ProcessorConfig"] = _DISTRIBUTED
            fields |= self.choose(_TOLERATED)
        else:
            self._quorum(name, 2)
        return map_(processor, following, **fields)

    def _quorum(self, name: str, most: int) -> None:
        if self._rarely():
            self.extensions[name] = {"quorum": self.choose(range(1, most + 1))}

    def _edges(self, name: str, size: int) -> None:
        """Make a region of a Parallel without a quorum: each node but the first ones waits for some before it."""
        if name in self.extensions or not self._rarely():
            return
        roots = self.choose(range(1, size + 1))
        needs: list[tuple[str, tuple[str, ...]]] = [(f"n{node}", ()) for node in range(roots)]
        for node in range(roots, size):
            certain = self.choose(range(node))
            sources = (f"n{each}" for each in range(node) if each == certain or self.choose([False, True]))
            needs.append((f"n{node}", tuple(sources)))
        self.extensions[name] = {"needs": tuple(needs)}

    def _recovery(self, name: str, following: str | None) -> dict[str, Json]:
        """Rules for some errors, and variables that some values go into."""
        fields: dict[str, Json] = {}
        if self._rarely():
            error = self.choose(["States.ALL", "ValueError", "States.TaskFailed"])
            fields["Retry"] = retry(error, attempts=self.choose([1, 2]), interval=self.choose([1, 2, 4000]))
        if following and self._rarely():
            assign = self.choose([{}, {"Assign": {f"error{name}.$": "$.Error"}}])
            fields["Catch"] = catch(following, self.choose(["States.ALL", "KeyError"]), **assign)
        if self._rarely():
            fields["Assign"] = {f"last{name}.$": "$"}
        return fields

    def _choice(self, name: str, following: str | None) -> dict[str, Json]:
        """Goes one of two ways to `following`, or ends the scope on one of them."""
        end = self.choose([pass_(following), {"Type": "Succeed"}, {"Type": "Fail", "Error": "None"}])
        rule = {"Variable": "$[0]", "IsPresent": True}, f"{name}Any"
        return {
            name: choice(rule, default=f"{name}None"),
            f"{name}Any": task(self.choose(FUNCTIONS), following),
            f"{name}None": end,
        }

    def _way_back(self, states: dict[str, Json], names: list[str]) -> dict[str, Json]:
        """A loop over all of the scope, as long as its last Task gives three items."""
        again, done = self._name(), self._name()
        last = states[names[-1]]
        last.pop("End", None)
        last["Next"], self.loops = again, True
        rule = {"Variable": "$[2]", "IsPresent": True}, names[0]
        return {again: choice(rule, default=done), done: {"Type": "Succeed"}}

    def _name(self) -> str:
        return f"S{next(self._numbers)}"

    def _rarely(self) -> bool:
        chosen: bool = self.choose([False, False, False, True])
        return chosen


def by_seed(seed: int) -> Choose:
    """Decides by chance; the same seed decides the same."""
    return random.Random(seed).choice  # noqa: S311 - nothing is secret here


def workflow(choose: Choose) -> Workflow:
    """Any workflow that the compiler takes."""
    builder = Builder(choose)
    timeout_s = choose([None, None, None, 9, 5000])
    definition = builder.scope(DEPTH) | ({} if timeout_s is None else {"TimeoutSeconds": timeout_s})
    options = {PASSED_ON: FunctionOptions(checkpoint=False)}
    for function in FUNCTIONS:  # what is memoized comes to the same in every round, so a loop would never end
        guard, memoize = choose([Guard.READ, *Guard]), choose([False] * 4 + [not builder.loops])
        options[function] = FunctionOptions(guard=guard, memoize=memoize)
    compiled = compile_workflow(definition, name="generated", functions=None, options=options)
    return replace(_as_extended(compiled, builder.extensions), small_results=choose([None, None, True]))


def _as_extended(compiled: Workflow, extensions: Mapping[str, Mapping[str, Json]]) -> Workflow:
    """Return `compiled` with the allowed ones of `extensions`."""
    for name, fields in extensions.items():
        try:
            compiled = with_extensions(compiled, {name: fields})
        except DefinitionError:
            continue
    return compiled


def faults(choose: Choose, collection: Collection, *, has_jobs: bool) -> Faults:
    """Any of what may happen.

    What eager collection leaves of an execution that is redriven is not all known to the simulator; and what becomes of
    a late duplicate of a look at a job that dies is known and left, see `docs/guarantees.md`.
    """
    most = {"crashes": 2, "duplicates": 2, "throttles": 2, "losses": 1, "vanishes": 1, "jumps": 2, "stops": 1}
    most |= {"nudges": 2, "redrives": 2 if collection is Collection.TTL else 0}
    if has_jobs:
        most["duplicates"] = 0
    counts = {name: choose([0, *range(number + 1)]) for name, number in most.items()}
    return Faults(**counts, concurrency=choose([1, 2, 3]), jump_s=choose([(3 * HOUR_S, 5 * HOUR_S), (50, 130, 3000)]))


def generated(choose: Choose) -> Scenario:
    """Any workflow, with functions, options and faults; what eager collection leaves of meetings is known."""
    made, moody = workflow(choose), Moody(choose(range(10_000)))
    meets = any(each.meets_previous for each in made.tasks)
    collection = choose([Collection.TTL] if meets else [Collection.TTL, *Collection])
    retention_s, result_retention_s = choose([(DEFAULT_RETENTION_S, None), (15 * HOUR_S, 60 * HOUR_S)])
    found = Scenario(
        workflow=made,
        functions={each.name: moody for each in made.tasks},
        input=[1, 2],
        faults=faults(choose, collection, has_jobs=any(each.pattern is Pattern.SYNC for each in made.tasks)),
        retention_s=retention_s,
        result_retention_s=result_retention_s,
        collection=collection,
        by_client=choose([False, True]),
        fusion=choose([True, False]),
        tick_ms=choose([1, 0]),
        store=choose(_STORES),
        least_bytes=choose([None, None, 1, 60]),
        most_begun=choose([MOST_BEGUN, 2]),
    )
    return fused(found) if choose([False, True]) else found


@contextmanager
def small_sizes(choose: Choose) -> Iterator[None]:
    """Shards and packs so small that a few branches take several."""
    shard, pack = choose([(256, 7), (256, 2), (2, 2), (1, 1)])
    with pytest.MonkeyPatch.context() as patch:
        for module in _SHARDED:
            patch.setattr(module, "SHARD_SIZE", shard)
        patch.setattr(naming, "PACK_SIZE", pack)
        yield
