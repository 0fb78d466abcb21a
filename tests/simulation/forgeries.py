"""Forgeries of a history: what code in a function could write, which a verification must find."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.simulation.control_scenarios import FAILING
from tests.simulation.definitions import Graph
from tests.simulation.executions import FIRST, MAP, fork_at, of
from tests.simulation.graphs import GRAPHS
from tests.simulation.pack_scenarios import PACKED
from tests.simulation.recovery_scenarios import RECOVERING
from tests.simulation.verified_worlds import Made, run_by_chance
from unum_client.verification.findings import Rule
from unum_runtime.model.checkpoint import Checkpoint, Failure, Item, Status, stop_record
from unum_runtime.model.naming import Execution, Key, Name, checkpoint_key
from unum_simulator import Faults, Scenario

WEEK_S = 7 * 86_400
NO_FAULTS = Faults(crashes=0, duplicates=0)
REDRIVEN = Faults(crashes=0, duplicates=0, redrives=1)
STOPPED = Faults(crashes=0, duplicates=0, stops=1)


@dataclass
class History:
    """The stored items of one execution, to be changed as with the rights of a function."""

    made: Made
    name: str = FIRST

    @property
    def items(self) -> dict[Key, tuple[Item, int]]:
        return self.made.store._items

    @property
    def execution(self) -> Execution:
        (start,) = (item for key, (item, _) in self.items.items() if key == Key(f"start:wf/{self.name}", "start"))
        return Execution(self.name, int(start["at"]))

    def top(self, step: int = -1) -> Key:
        """The key of a step of the top level; counted from the end if negative."""
        partition = f"wf/{self.execution}"
        keys = sorted(key for key in self.items if key.partition == partition)
        return keys[step] if step < 0 else Key(partition, f"{step:09d}")

    def branch(self, index: int = 0, step: int = 0) -> Key:
        """The key of a step in a branch of the first fan-out."""
        inside = sorted(
            key for key in self.items if key.partition.startswith(f"wf/{self.execution}/") and "~" in key.partition
        )
        partition = next(key.partition for key in inside if "[" not in key.partition)
        return Key(partition, f"{index:09d}.{step:09d}")

    def change(self, key: Key, *without: str, **attributes: Any) -> None:
        """Replace attributes of an item."""
        item, expires_at_s = self.items[key]
        kept = {name: value for name, value in item.items() if name not in without}
        self.items[key] = ({**kept, **attributes}, expires_at_s)

    def put(self, key: Key, item: Item, expires_at_s: int | None = None) -> None:
        now_s = self.made.store.clock.now_ms() // 1000
        self.items[key] = (dict(item), now_s + WEEK_S if expires_at_s is None else expires_at_s)

    def keep(self, key: Key, seconds: int) -> None:
        """Let an item expire `seconds` after its commit."""
        item, _ = self.items[key]
        self.items[key] = (item, int(item["at"]) // 1000 + seconds)

    def commit(self, checkpoint: Checkpoint) -> None:
        self.put(checkpoint_key("wf", checkpoint.name), checkpoint.to_item())

    def stop(self, step: int, at_ms: int | None = None, **fields: Any) -> None:
        """Write a stop record."""
        now_ms = self.made.store.clock.now_ms() if at_ms is None else at_ms
        record = stop_record(Name(self.execution, (), step), Failure("Forged", None), now_ms)
        self.commit(record.saying(**fields))

    def next_step(self) -> int:
        return int(self.top().sort) + 1


@dataclass(frozen=True)
class Forgery:
    """A change of a history, and the rule that it breaks.

    Attributes:
        world: the history.
        forge: changes it.
        rule: the rule that a verification must name.
        later_s: time from the change to the verification.
    """

    world: str
    forge: Callable[[History], object]
    rule: Rule
    later_s: int = 0
    name: str = field(default=FIRST)


def plain(graph: Graph, **fields: Any) -> Scenario:
    """A workflow without faults."""
    workflow = replace(graph.workflow(), name="wf")
    options = {"faults": NO_FAULTS, "tick_ms": 1, **fields}
    return Scenario(workflow=workflow, functions=graph.functions, input=graph.input, **options)


WORLDS: Mapping[str, Callable[[], Scenario]] = {
    "chain": lambda: plain(GRAPHS["chain"]),
    "map": lambda: plain(GRAPHS["map"]),
    "joined": lambda: plain(GRAPHS["map without join"]),
    "limited": lambda: plain(GRAPHS["limited map without join"]),
    "wait": lambda: plain(RECOVERING["wait at the end"]),
    "large": lambda: plain(GRAPHS["map"], least_bytes=8),
    "packs": lambda: plain(PACKED["packs without a join"]),
    "retried": lambda: plain(RECOVERING["retry of a map"]),
    "stopped": lambda: plain(GRAPHS["chain"], faults=STOPPED),
    "redriven": lambda: plain(FAILING["task"], faults=REDRIVEN),
    "fork": lambda: of(MAP, Faults(crashes=0, duplicates=0, forks=1), fork_at("C")),
    "given": lambda: of(MAP, Faults(crashes=0, duplicates=0, forks=1), fork_at("C", 7)),
    "steps": lambda: plain(FAILING["second step of a branch"]),
}

WANTED: Mapping[str, Callable[[History], bool]] = {
    "stopped": lambda found: found.items[found.top()][0].get("status") == Status.ABORTED and found.next_step() > 2,
    "redriven": lambda found: sum("status" in item for item, _ in found.items.values()) > 1,
    "fork": lambda found: "fork" in found.made.names,
    "given": lambda found: "fork" in found.made.names,
}
"""What has happened in a world; operators do it at random."""


def made_in(world: str) -> History:
    """A history without faults of the platform, in which everything has ended."""
    made = (History(run_by_chance(WORLDS[world](), seed)) for seed in range(100))
    return next(found for found in made if world not in WANTED or WANTED[world](found))


def _erase_all(found: History) -> None:
    for key in [key for key in found.items if key.partition.startswith("wf/")]:
        del found.items[key]


def _expire_all(found: History) -> None:
    for key in [key for key in found.items if key.partition.startswith("wf/")]:
        found.keep(key, -1)


def _again(found: History, source: int, **fields: Any) -> None:
    """Commit one of the steps once more, after the end."""
    item, _ = found.items[found.top(source)]
    found.put(found.top()._replace(sort=f"{found.next_step():09d}"), {**item, **fields})


def _without_end(found: History) -> None:
    del found.items[found.top()]


def _other_object(found: History) -> None:
    store = found.made.store
    name = next(str(item[each]) for item, _ in found.items.values() for each in item if each == "value_ref")
    store._objects[name] = (b'"forged"', store._objects[name][1])


def _opens_more(found: History) -> None:
    key = next(key for key, (item, _) in found.items.items() if "opens" in item)
    state, iteration, generation, size = json.loads(str(found.items[key][0]["opens"]))
    found.change(key, opens=json.dumps([state, iteration, generation, size + 10**12]))


def _opens_less(found: History) -> None:
    key = next(key for key, (item, _) in found.items.items() if "opens" in item)
    state, iteration, generation, size = json.loads(str(found.items[key][0]["opens"]))
    found.change(key, opens=json.dumps([state, iteration, generation, size - 1]))


def _pack(found: History, **fields: Any) -> None:
    key = next(key for key in found.items if key.sort.startswith("p"))
    found.change(key, **fields)


def _redrive_elsewhere(found: History, **fields: Any) -> None:
    ends = [key for key, (item, _) in found.items.items() if item.get("status") == Status.FAILED]
    step = int(min(key.sort for key in ends)) + 1
    found.change(found.top(step), **fields)


FORGERIES: dict[str, Forgery] = {
    # Expiry: what is past counts as absent, so that what had ended runs again.
    "the end expires at once": Forgery("chain", lambda found: found.keep(found.top(), -1), Rule.EXPIRY),
    "a step expires early": Forgery("chain", lambda found: found.keep(found.top(1), 86_400), Rule.EXPIRY),
    "a step never expires": Forgery("chain", lambda found: found.keep(found.top(1), 10**9), Rule.EXPIRY),
    "a branch expires at once": Forgery("map", lambda found: found.keep(found.branch(), 0), Rule.EXPIRY),
    "everything expires at once": Forgery("map", _expire_all, Rule.EXPIRY),
    # Erased items.
    "a step is erased": Forgery("chain", lambda found: found.items.pop(found.top(1)), Rule.MISSING),
    "a step of a branch is erased": Forgery("limited", lambda found: found.items.pop(found.branch()), Rule.BRANCHES),
    "a branch is erased": Forgery("map", lambda found: found.items.pop(found.branch(1)), Rule.BRANCHES),
    "the end is erased": Forgery("chain", _without_end, Rule.SILENCE, later_s=2 * 86_400),
    "all steps are erased": Forgery("chain", _erase_all, Rule.SILENCE, later_s=2 * 86_400),
    # Ends.
    "an end in the middle": Forgery("chain", lambda found: found.change(found.top(1), status="SUCCEEDED"), Rule.END),
    "a failure of what succeeded": Forgery("chain", lambda found: found.change(found.top(), status="FAILED"), Rule.END),
    "another final result": Forgery("chain", lambda found: found.change(found.top(), final_value='"forged"'), Rule.END),
    "no end after the last state": Forgery("chain", lambda found: found.change(found.top(), "status"), Rule.END),
    # Stops.
    "a stop after the end": Forgery("chain", lambda found: found.stop(found.next_step()), Rule.AFTER_END),
    "a stop of nobody": Forgery("chain", lambda found: found.stop(int(found.top().sort)), Rule.STOP),
    "a stop before the steps": Forgery("stopped", lambda found: found.change(found.top(), at=1), Rule.TIME),
    "a stop with a state": Forgery("chain", lambda found: found.stop(int(found.top().sort), state="C"), Rule.STOP),
    # Steps after the end.
    "a Task once more": Forgery("chain", lambda found: _again(found, 1), Rule.AFTER_END),
    "a redrive of a success": Forgery("chain", lambda found: _again(found, 1, phase="entered"), Rule.AFTER_END),
    "a redrive of another state": Forgery(
        "redriven", lambda found: _redrive_elsewhere(found, state="A"), Rule.AFTER_END
    ),
    "a redrive with another input": Forgery(
        "redriven", lambda found: _redrive_elsewhere(found, value="[1,1,1]"), Rule.AFTER_END
    ),
    # Causes.
    "a state that is not next": Forgery("chain", lambda found: found.change(found.top(2), state="A"), Rule.CAUSE),
    "a state that is not in the definition": Forgery(
        "chain", lambda found: found.change(found.top(2), state="Z"), Rule.CAUSE
    ),
    "a state that is entered again": Forgery(
        "chain", lambda found: found.change(found.top(2), phase="entered"), Rule.CAUSE
    ),
    "another input of a Map": Forgery("map", lambda found: found.change(found.top(1), value="[9,9,9]"), Rule.CAUSE),
    "another state in a branch": Forgery("map", lambda found: found.change(found.branch(), state="Z"), Rule.CAUSE),
    "another input of a Map of that size": Forgery(
        "packs", lambda found: found.change(found.top(1), value='{"items":[8,9]}'), Rule.CAUSE
    ),
    "a later state first in a branch": Forgery(
        "steps", lambda found: found.change(found.branch(), state="F"), Rule.CAUSE
    ),
    "a fork with another input": Forgery(
        "given", lambda found: found.change(found.top(-2), value="9"), Rule.CAUSE, name="fork"
    ),
    "fewer branches": Forgery("map", _opens_less, Rule.CAUSE),
    "a billion branches": Forgery("map", _opens_more, Rule.FORM),
    # Results of fan-outs.
    "another result of a Map": Forgery(
        "joined", lambda found: found.change(found.top(2), value='["forged"]'), Rule.BRANCHES
    ),
    "another result of a branch": Forgery(
        "joined", lambda found: found.change(found.branch(), value='"forged"'), Rule.BRANCHES
    ),
    "another result in a pack": Forgery("packs", lambda found: _pack(found, v1='"forged"'), Rule.BRANCHES),
    "a pack that is none": Forgery("packs", lambda found: _pack(found, e0="no numbers"), Rule.FORM),
    # Times.
    "a step in the future": Forgery(
        "chain", lambda found: found.change(found.top(), at=found.made.store.clock.now_ms() + 10**9), Rule.TIME
    ),
    "a step before the start": Forgery("chain", lambda found: found.change(found.top(1), at=1), Rule.TIME),
    "a branch before its fan-out": Forgery("joined", lambda found: found.change(found.branch(), at=1), Rule.TIME),
    "a step before the end of its Wait": Forgery(
        "wait", lambda found: found.change(found.top(), at=found.execution.started_ms), Rule.TIME
    ),
    # Form, definitions, start records, copies, values.
    "a value that is no JSON": Forgery("chain", lambda found: found.change(found.top(1), value="{"), Rule.FORM),
    "an item without a state": Forgery("chain", lambda found: found.change(found.top(1), "state"), Rule.FORM),
    "a key that no step has": Forgery(
        "chain", lambda found: found.put(found.top()._replace(sort="1"), found.items[found.top()][0]), Rule.FORM
    ),
    "a branch beyond the last": Forgery(
        "map", lambda found: found.put(found.branch(9), found.items[found.branch()][0]), Rule.FORM
    ),
    "another definition": Forgery("chain", lambda found: found.change(found.top(2), ir="0" * 12), Rule.DEFINITION),
    "a start in the middle": Forgery(
        "chain", lambda found: found.change(Key(f"start:wf/{FIRST}", "start"), state="B", phase="left"), Rule.START
    ),
    "another step of a fork": Forgery(
        "fork", lambda found: found.change(found.top(1), value='"forged"'), Rule.COPY, name="fork"
    ),
    "another value in the bucket": Forgery("large", _other_object, Rule.FORM),
}
