"""Intermediate representation (IR) of a workflow: flat, frozen, versioned JSON without CDK tokens.

A workflow is a table of states. Each state names the fan-out around it (`scope`) and its successor (`next`, None at the
end of its scope). `data` holds the data-flow fields that the definition has, with the names and the JSON of the Amazon
States Language. The table also holds the compiler's static facts, such as fan-outs without Tasks (`pure`).
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import cached_property

from unum_runtime.cold_start.digest import short_digest
from unum_runtime.cold_start.records import dataclass, fields
from unum_runtime.json_text import parse_json, to_sorted
from unum_runtime.model.states import (
    DATA_SET_TASKS,
    Catcher,
    Choice,
    Fail,
    FanOut,
    Form,
    Guard,
    Json,
    Language,
    Map,
    MemoScope,
    Parallel,
    Pass,
    Pattern,
    Retrier,
    State,
    Succeed,
    Task,
    Wait,
    Work,
)

IR_VERSION = 1
DEFAULT_HOP_BUDGET = 100_000
"""Default limit of steps. Step Functions allows an execution a quarter: 25,000 events."""

MOST_BEGUN = 1_000
"""Most branches that one delivery starts within seconds, with parallel calls; larger scopes start in parts."""


class Collection(StrEnum):
    """Time at which stored outcomes are deleted."""

    TTL = "ttl"
    """After the retention, by DynamoDB's time to live; costs nothing."""

    EAGER = "eager"
    """As soon as no delivery can need them; costs one write each."""


class Variant(StrEnum):
    """Kind of a definition that is derived from a deployed one; see `unum_runtime.model.variants`."""

    FORCED = "forced"
    """Tasks compute memoized results anew, and replace those that are stored."""

    CALL = "call"
    """One Task alone, on the arguments of a caller."""


_KINDS: dict[str, type[State]] = {
    kind.__name__: kind for kind in (Task, Pass, Choice, Wait, Succeed, Fail, Parallel, Map)
}


@dataclass(frozen=True)
class Home:
    """Partition, region and account of a workflow, for ARNs in the context object.

    Attributes:
        partition: AWS partition.
        region: AWS region.
        account: AWS account number.
        role_arn: ARN of the role of executions.
    """

    partition: str = "aws"
    region: str = "local"
    account: str = "000000000000"
    role_arn: str = ""

    def arn(self, resource: str) -> str:
        """Return the ARN of `resource`, in the form of Step Functions' ARNs."""
        return f"arn:{self.partition}:states:{self.region}:{self.account}:{resource}"


@dataclass(frozen=True, eq=False)
class Workflow:
    """Compiled workflow, compared by identity so that caches can use it as a key.

    Attributes:
        name: name, unique in its store and part of every key.
        start_at: first state of an execution.
        states: states by name.
        hop_budget: most steps between the start and any step, so that runaway loops fail.
        width_budget: most branches of one fan-out; None for the default.
        invocation_budget: most invocations, as planning estimates them; None for the default.
        collection: deletion of stored outcomes.
        timeout_s: time limit of an execution in seconds; None for no limit.
        keeps_input: True if an expression reads the execution's input, which then travels with the variables.
        counts_redrives: True if an expression reads number or time of redrives, which then travel with the variables.
        names_children: True if an expression in a distributed Map reads its execution, whose name then travels with the
            variables.
        draws: True if an expression draws random numbers; a secret of the execution then travels with the variables.
        payload_limit: most bytes of an outcome, for definitions that rely on a limit; None for the store's limit.
        small_results: True if results of branches are expected to be small, to keep them in packs.
        strict: True if the quotas of Step Functions hold, on every value with `payload_limit` and on branches at once.
        attributes: places of attributes in the input, by name: names and indexes of a path, or JSONata.
        variant: kind of a definition that the runtime has derived from a deployed one; None for one of an author.
        home: partition, region and account; not part of the IR.
    """

    name: str
    start_at: str
    states: Mapping[str, State]
    hop_budget: int = DEFAULT_HOP_BUDGET
    collection: Collection = Collection.TTL
    timeout_s: int | None = None
    # None in place of False: the canonical text leaves these fields out, as in texts of releases that lacked them.
    keeps_input: bool | None = None
    counts_redrives: bool | None = None
    names_children: bool | None = None
    draws: bool | None = None
    payload_limit: int | None = None
    small_results: bool | None = None
    strict: bool | None = None
    width_budget: int | None = None
    invocation_budget: int | None = None
    attributes: Mapping[str, str | list[str | int]] | None = None
    variant: str | None = None
    home: Home = Home()

    def to_json(self) -> str:
        """Return canonical text: equal workflows give equal text on every machine."""
        table = {
            "version": IR_VERSION,
            "name": self.name,
            "start_at": self.start_at,
            "hop_budget": self.hop_budget,
            "collection": self.collection,
            "states": {name: _state_to_json(state) for name, state in self.states.items()},
            **{name: getattr(self, name) for name in _OPTIONAL if getattr(self, name) is not None},
        }
        return to_sorted(table)

    @classmethod
    def from_json(cls, text: str) -> "Workflow":
        """Parse the text of `to_json`.

        Raises:
            ValueError: the text has another IR version.
        """
        table = parse_json(text)
        if (found := table["version"]) != IR_VERSION:
            raise ValueError(f"IR version {found!r}; this runtime reads version {IR_VERSION}: deploy both together")
        return cls(
            name=table["name"],
            start_at=table["start_at"],
            states={name: _state_from_json(name, state) for name, state in table["states"].items()},
            hop_budget=table["hop_budget"],
            collection=Collection(table["collection"]),
            **{name: table[name] for name in _OPTIONAL if name in table},
        )

    @cached_property
    def digest(self) -> str:
        """First twelve hexadecimal digits of the IR's SHA-256."""
        return short_digest(self.to_json().encode())

    @property
    def tasks(self) -> Iterator[Task]:
        """Tasks, the nodes of the graph."""
        return (state for state in self.states.values() if isinstance(state, Task))

    def task(self, name: str) -> Task:
        """Return the Task called `name`.

        Raises:
            KeyError: no Task has this name.
        """
        state = self.states.get(name)
        if not isinstance(state, Task):
            raise KeyError(f"{name!r} is no Task of workflow {self.name!r}")
        return state

    def committed_by(self, name: str) -> str | None:
        """Return the Task that commits in place of state `name`; None for a state with its own commit."""
        state = self.states.get(name)
        return state.committed_by if isinstance(state, Task) else None

    def committer(self, name: str) -> str:
        """Return the state whose commit counts for state `name`: itself, or a later Task."""
        following = self.committed_by(name)
        return name if following is None else self.committer(following)

    def committers(self, name: str) -> frozenset[str]:
        """Return all states that may commit under the name of an invocation of state `name`.

        A fan-out before a joining Task commits under the Task's name if its results cannot be joined.
        """
        joined = (each.name for each in self.states.values() if isinstance(each, FanOut) and each.join == name)
        return frozenset((self.committer(name), *joined))

    def passes_name_on(self, name: str) -> bool:
        """Return True if a success of state `name` is not committed.

        The Task that certainly follows then has the same invocation name, and commits under it.
        """
        state = self.states.get(name)
        return (isinstance(state, FanOut) and state.join is not None) or self.committed_by(name) is not None

    @cached_property
    def feeds(self) -> Mapping[str, tuple[str, ...]]:
        """Tasks that wait for the result of a Task of the previous branch, by that Task."""
        waiting = [(task.after_previous, task.name) for task in self.tasks if task.after_previous is not None]
        return {source: tuple(name for other, name in waiting if other == source) for source, _ in waiting}

    @cached_property
    def has_variables(self) -> bool:
        """True if events carry variables: users', or those of the runtime."""
        return any(getattr(self, name) for name in _CARRIED) or any(map(_assigns, self.states.values()))

    def needs_origin(self, fan_out: FanOut) -> bool:
        """Return True if the outcome of `fan_out` depends on more than its branches' results."""
        own_input = (
            "Output" in fan_out.data
            if fan_out.language is Language.JSONATA
            else fan_out.data.get("ResultPath", "$") != "$"
        )
        hands_over = isinstance(fan_out, Map) and (fan_out.reads or fan_out.writes or fan_out.tolerates)
        return own_input or hands_over or bool(fan_out.retry or fan_out.catch) or self.has_variables

    def visible_name(self, name: str) -> str:
        """Return the name of state `name` in the context object: Tasks for data sets have their Map's name."""
        state = self.states.get(name)
        resource = state.resource if isinstance(state, Task) else None
        return name.removesuffix(DATA_SET_TASKS.get(resource or "", ""))

    def fan_out(self, name: str) -> FanOut:
        """Return the Map or Parallel called `name`.

        Raises:
            KeyError: no fan-out has this name.
        """
        state = self.states.get(name)
        if not isinstance(state, FanOut):
            raise KeyError(f"{name!r} is no Map or Parallel of workflow {self.name!r}")
        return state


_CARRIED = ("keeps_input", "counts_redrives", "names_children", "draws")
_OPTIONAL = (
    "timeout_s",
    *_CARRIED,
    "payload_limit",
    "small_results",
    "strict",
    "width_budget",
    "invocation_budget",
    "attributes",
    "variant",
)
"""Attributes that the text contains only if they are set."""


def _assigns(state: State) -> bool:
    rules = [rule for rule, _ in state.rules] if isinstance(state, Choice) else []
    catchers = [catcher.data for catcher in state.catch] if isinstance(state, Work) else []
    return any("Assign" in fields for fields in (state.data, *rules, *catchers))


def _state_to_json(state: State) -> dict[str, Json]:
    """Return `state` as JSON, without name and defaults."""
    return {"type": type(state).__name__, **_to_json(state, without="name")}


def _to_json(part: State | Retrier | Catcher, without: str = "") -> dict[str, Json]:
    # Defaults are left out: a new field with a default must not change the text, and so the digest, of workflows that
    # do not use it. Running executions would no longer find a version with their digest.
    values = {field.name: getattr(part, field.name) for field in fields(part) if field.name != without}
    defaults = {field.name: field.default for field in fields(part)}
    table = {name: value for name, value in values.items() if value != defaults[name]}
    return table | {name: [_to_json(rule) for rule in table[name]] for name in ("retry", "catch") if name in table}


def _state_from_json(name: str, table: dict[str, Json]) -> State:
    kind = _KINDS[table.pop("type")]
    typed = {field: _TYPED[field](value) if field in _TYPED else value for field, value in table.items()}
    return kind(name=name, **typed)


_TYPED: dict[str, Callable[[Json], Json]] = {
    "form": Form,
    "guard": Guard,
    "language": Language,
    "pattern": Pattern,
    "retry": lambda rules: tuple(Retrier(**rule | {"errors": tuple(rule["errors"])}) for rule in rules),
    "catch": lambda rules: tuple(Catcher(**rule | {"errors": tuple(rule["errors"])}) for rule in rules),
    "branches": tuple,
    "left_out": tuple,
    "memo_key": lambda places: tuple(map(tuple, places)),
    "memo_scope": MemoScope,
    "needs": lambda nodes: tuple((node, tuple(sources)) for node, sources in nodes),
    "rules": lambda rules: tuple((rule, target) for rule, target in rules),
}
