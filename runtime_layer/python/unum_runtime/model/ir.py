"""The intermediate representation (IR) of a workflow: flat, frozen, versioned JSON without any CDK token.

A workflow is a table of states. Every state knows the fan-out whose branch holds it (`scope`) and what follows it
(`next`, or None where its scope ends). Data-flow fields keep the names and the JSON that the Amazon States Language
gives them, under `data`; only fields that the definition has are there, so absence needs no sentinel.
What can be known before run time is in the table: which fan-outs contain no Task (`pure`), and which Task is certain to
follow a fan-out (`join`), so that the results of its branches can be passed by reference.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeAlias

from unum_runtime.cold_start.digest import sha256
from unum_runtime.cold_start.records import dataclass, fields

IR_VERSION = 1

DEFAULT_HOP_BUDGET = 100_000
"""Four times the events that Step Functions allows an execution."""

MOST_BEGUN = 1_000
"""How many branches one delivery begins by itself; several events go out at once, and all of them in seconds."""

Json: TypeAlias = Any
"""A JSON value: str, int, float, bool, None, list or dict."""


class Language(StrEnum):
    """The query language of a state, under its name in ``QueryLanguage``."""

    JSONPATH = "JSONPath"
    JSONATA = "JSONata"


class Form(StrEnum):
    """How a Task names what it runs, which decides the shape of its parameters and result."""

    DIRECT = "direct"
    """The function gets the state's input; the result is what it returns."""

    INVOKE = "invoke"
    """``arn:aws:states:::lambda:invoke``: the function gets `Payload`, its result is wrapped."""

    SERVICE = "service"
    """Any other ``Resource``: a function of ours calls the service, with the parameters, and gives its response."""


ACTIVITY = "activity:"
"""What the `Task.resource` begins with of a Task that waits in an activity for a worker; its name follows."""

READ_ITEMS = "map:readItems"
"""The `Task.resource` that reads the items of the Map after it."""

WRITE_RESULTS = "map:writeResults"
"""The `Task.resource` that writes the results of the Map before it."""

DATA_SET_TASKS = {READ_ITEMS: " (ItemReader)", WRITE_RESULTS: " (ResultWriter)"}
"""What such Tasks have in their names behind the Map's."""


class Pattern(StrEnum):
    """When a Task is done. Source: AWS Step Functions Developer Guide, "Discover service integration patterns"."""

    RESPONSE = "response"
    """When there is a response."""

    SYNC = "sync"
    """``.sync``: when the job that was started has ended."""

    CALLBACK = "callback"
    """``.waitForTaskToken`` and activities: when somebody hands back the token."""


class Guard(StrEnum):
    """What is done against running user code again for an outcome that is committed."""

    READ = "read"
    """The store is asked before user code runs."""

    COMMIT = "commit"
    """Nothing: a duplicate runs user code again, and its outcome is dropped at the commit."""

    LEASE = "lease"
    """User code runs under a lease, and the store is asked before: so it does not run beside itself either."""


class Collection(StrEnum):
    """When stored outcomes go."""

    TTL = "ttl"
    """When their time is over; costs nothing."""

    EAGER = "eager"
    """As soon as nobody can need them; costs a write for each."""


@dataclass(frozen=True, kw_only=True)
class Retrier:
    """When and how a state that failed is tried again (specification, Retrying after error).

    Attributes:
        errors: names of errors that it is for.
        interval_s: seconds before the first retry.
        max_attempts: how many retries; 0 for none.
        backoff_rate: by how much the interval grows with every retry.
        max_delay_s: seconds that an interval is never longer than; None for no limit.
        jitter: the interval is a random part of itself.
    """

    errors: tuple[str, ...]
    interval_s: int = 1
    max_attempts: int = 3
    backoff_rate: float = 2.0
    max_delay_s: int | None = None
    jitter: bool = False


@dataclass(frozen=True, kw_only=True)
class Catcher:
    """Where control goes from a state that failed for good (specification, Fallback states).

    Attributes:
        errors: names of errors that it is for.
        next: name of the state to go to.
        data: its data-flow fields (``ResultPath``, ``Assign``, ``Output``), as in the definition.
    """

    errors: tuple[str, ...]
    next: str
    data: Mapping[str, Json]


@dataclass(frozen=True, kw_only=True)
class State:
    """What all states have.

    Attributes:
        name: unique in the workflow.
        scope: name of the Map or Parallel state in whose branch it lies; None at the top level.
        data: its fields that say how data flow or that may hold an expression (``InputPath``, ``Assign``, ``Seconds``,
            ``MaxConcurrency``, ...), as in the definition.
        next: name of the state after it; None where its scope ends.
        language: of the expressions in its fields.
    """

    name: str
    scope: str | None
    data: Mapping[str, Json]
    next: str | None
    language: Language = Language.JSONPATH


@dataclass(frozen=True, kw_only=True)
class Work(State):
    """A state that can fail for reasons of its own, and say what happens then: Task, Parallel or Map.

    Attributes:
        retry: retriers; the first that is for an error counts.
        catch: catchers; the same.
    """

    retry: tuple[Retrier, ...] = ()
    catch: tuple[Catcher, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Task(Work):
    """Runs user code; a node of the graph.

    Attributes:
        function: key of the function that hosts it.
        form: shape of parameters and result.
        guard: what is done against running user code again.
        committed_by: name of the Task that is certain to follow, and whose commit stands for this one's, which is never
            committed: its output goes on in the event; None for a Task that is committed itself.
        memoize: executions share its results.
        resource: of a service: what it calls, such as ``dynamodb:putItem`` or ``aws-sdk:s3:getObject``, without the
            suffix that tells the pattern, or the ARN of a Lambda function that is no part of the workflow; None for one
            that is.
        pattern: when it is done.
        assumes_role: of a service: its arguments are an object with ``Credentials``, whose ``RoleArn`` says with which
            role it is called, and with ``Parameters``, what it is called with.
        meets_previous: its input is an array of two: what the branch before its own comes here with (null in the first
            branch), and what its own does; so it waits for both.
    """

    function: str
    form: Form
    guard: Guard = Guard.READ
    committed_by: str | None = None
    memoize: bool = False
    resource: str | None = None
    pattern: Pattern = Pattern.RESPONSE
    assumes_role: bool = False
    meets_previous: bool = False


@dataclass(frozen=True, kw_only=True)
class Pass(State):
    """Passes its input, or ``data["Result"]``."""


@dataclass(frozen=True, kw_only=True)
class Choice(State):
    """Goes to the first rule that holds.

    Attributes:
        rules: (rule as in the definition without ``Next``, with its ``Assign`` and ``Output``; name of the state to go
            to).
        default: where to go when none holds; None fails with ``States.NoChoiceMatched``.
    """

    rules: tuple[tuple[Mapping[str, Json], str], ...]
    default: str | None


@dataclass(frozen=True, kw_only=True)
class Succeed(State):
    """Ends its scope."""


@dataclass(frozen=True, kw_only=True)
class Fail(State):
    """Fails its scope with the error and the cause that its data say."""


@dataclass(frozen=True, kw_only=True)
class Wait(State):
    """Passes its input when the time has come that its data say."""


@dataclass(frozen=True, kw_only=True)
class FanOut(Work):
    """What Map and Parallel have in common.

    Attributes:
        pure: it has no retriers, and no branch can reach a Task or a Wait; the whole state is computed in place.
        join: the Task that follows for certain, with nothing but Pass states between, if the state itself has no
            retriers and no catchers; else None.
        quorum: how many branches have to succeed; None for all.
    """

    pure: bool
    join: str | None
    quorum: int | None = None


@dataclass(frozen=True, kw_only=True)
class Parallel(FanOut):
    """Runs branches side by side.

    Attributes:
        branches: the state that each begins with.
    """

    branches: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Map(FanOut):
    """Runs one branch for every item.

    Attributes:
        start: the state that each branch begins with.
        has_limit: only so many branches run at once as ``MaxConcurrency`` in its data says.
        tolerates: branches may fail, as many as ``ToleratedFailureCount`` or ``-Percentage`` in its data say.
        distributed: in distributed mode, branches do not see the variables around the state.
        reads: its items come from the Task before it, which reads them for its ``ItemReader``.
        writes: its results go to the Task after it, which writes them for its ``ResultWriter``.
    """

    start: str
    has_limit: bool = False
    tolerates: bool = False
    distributed: bool = False
    reads: bool = False
    writes: bool = False


_KINDS: dict[str, type[State]] = {
    kind.__name__: kind for kind in (Task, Pass, Choice, Wait, Succeed, Fail, Parallel, Map)
}


@dataclass(frozen=True)
class Home:
    """Where a workflow runs, for what the context object says; the same in all of its functions.

    Attributes:
        partition: of AWS.
        region: of AWS.
        account: the account's number.
        role_arn: of the role that executions start with.
    """

    partition: str = "aws"
    region: str = "local"
    account: str = "000000000000"
    role_arn: str = ""

    def arn(self, resource: str) -> str:
        """`resource` in the form in which Step Functions names its own."""
        return f"arn:{self.partition}:states:{self.region}:{self.account}:{resource}"


@dataclass(frozen=True, eq=False)
class Workflow:
    """A compiled workflow; compared by identity, so that what is derived from it can be kept beside it.

    Attributes:
        name: unique in the store that it uses; part of every key.
        start_at: the state that an execution begins with.
        states: every state by name.
        hop_budget: how many steps may lie between the start and any step; a runaway loop fails instead of running on.
        collection: when stored outcomes go.
        timeout_s: how long an execution may take, in seconds; None for no limit.
        keeps_input: true where some expression asks for the execution's input, so that it travels with the variables.
        counts_redrives: true where some expression asks how often the execution was redriven, which then travels, too.
        payload_limit: how many bytes an outcome may have, where a definition relies on a limit; None for no limit but
            that of what is stored.
        small_results: true where results of branches are expected to be small, so that they are kept in packs.
        home: where it runs; no part of the IR.
    """

    name: str
    start_at: str
    states: Mapping[str, State]
    hop_budget: int = DEFAULT_HOP_BUDGET
    collection: Collection = Collection.TTL
    timeout_s: int | None = None
    keeps_input: bool | None = None
    counts_redrives: bool | None = None
    payload_limit: int | None = None
    small_results: bool | None = None
    home: Home = Home()

    def to_json(self) -> str:
        """Canonical text: equal workflows give equal text, on every machine."""
        states = {name: _state_to_json(state) for name, state in self.states.items()}
        table = {
            "version": IR_VERSION,
            "name": self.name,
            "start_at": self.start_at,
            "hop_budget": self.hop_budget,
            "collection": self.collection,
            "states": states,
            **{name: getattr(self, name) for name in _OPTIONAL if getattr(self, name) is not None},
        }
        return json.dumps(table, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Workflow":
        """The workflow that `to_json` wrote.

        Raises:
            ValueError: the text is of another IR version.
        """
        table = json.loads(text)
        if table["version"] != IR_VERSION:
            found = table["version"]
            raise ValueError(f"IR version {found!r}; this runtime reads version {IR_VERSION}: deploy both together")
        states = {name: _state_from_json(name, state) for name, state in table["states"].items()}
        return cls(
            name=table["name"],
            start_at=table["start_at"],
            states=states,
            hop_budget=table["hop_budget"],
            collection=Collection(table["collection"]),
            **{name: table[name] for name in _OPTIONAL if name in table},
        )

    @cached_property
    def digest(self) -> str:
        """Twelve hexadecimal digits that change when the workflow does."""
        return sha256(self.to_json().encode())[:12]

    @property
    def tasks(self) -> Iterator[Task]:
        """The nodes of the graph."""
        return (state for state in self.states.values() if isinstance(state, Task))

    def task(self, name: str) -> Task:
        """The Task called `name`.

        Raises:
            KeyError: there is none.
        """
        state = self.states.get(name)
        if not isinstance(state, Task):
            raise KeyError(f"{name!r} is no Task of workflow {self.name!r}")
        return state

    def committed_by(self, name: str) -> str | None:
        """The Task whose commit stands for that of the state called `name`; None if the state is committed itself."""
        state = self.states.get(name)
        return state.committed_by if isinstance(state, Task) else None

    def committer(self, name: str) -> str:
        """The state whose commit counts for that of the state called `name`: itself, or a Task after it."""
        following = self.committed_by(name)
        return name if following is None else self.committer(following)

    def committers(self, name: str) -> frozenset[str]:
        """All states of which one may commit under the name of an invocation of the state called `name`.

        Where it joins the results of a fan-out, the fan-out itself does if they cannot be joined.
        """
        joined = (each.name for each in self.states.values() if isinstance(each, FanOut) and each.join == name)
        return frozenset((self.committer(name), *joined))

    def passes_name_on(self, name: str) -> bool:
        """Whether what the state called `name` came to is not committed where all goes well.

        The Task that is certain to follow has its name then, and commits under that.
        """
        state = self.states.get(name)
        return (isinstance(state, FanOut) and state.join is not None) or self.committed_by(name) is not None

    @cached_property
    def has_variables(self) -> bool:
        """Whether something travels beside the data: variables, the execution's input, or how often it was redriven."""
        return bool(self.keeps_input or self.counts_redrives) or any(map(_assigns, self.states.values()))

    def needs_origin(self, fan_out: FanOut) -> bool:
        """Whether what `fan_out` comes to depends on more than the results of its branches."""
        own_input = (
            "Output" in fan_out.data
            if fan_out.language is Language.JSONATA
            else fan_out.data.get("ResultPath", "$") != "$"
        )
        hands_over = isinstance(fan_out, Map) and (fan_out.reads or fan_out.writes or fan_out.tolerates)
        return own_input or hands_over or bool(fan_out.retry or fan_out.catch) or self.has_variables

    def visible_name(self, name: str) -> str:
        """What the context object calls the state called `name`: Tasks for data sets have the name of their Map."""
        state = self.states.get(name)
        resource = state.resource if isinstance(state, Task) else None
        return name.removesuffix(DATA_SET_TASKS.get(resource or "", ""))

    def fan_out(self, name: str) -> FanOut:
        """The Map or Parallel called `name`.

        Raises:
            KeyError: there is none.
        """
        state = self.states.get(name)
        if not isinstance(state, FanOut):
            raise KeyError(f"{name!r} is no Map or Parallel of workflow {self.name!r}")
        return state


_OPTIONAL = ("timeout_s", "keeps_input", "counts_redrives", "payload_limit", "small_results")
"""Attributes of a workflow that its text has only where they are given; so a new one leaves older texts as they are."""


def _assigns(state: State) -> bool:
    rules = [rule for rule, _ in state.rules] if isinstance(state, Choice) else []
    catchers = [catcher.data for catcher in state.catch] if isinstance(state, Work) else []
    return any("Assign" in fields for fields in (state.data, *rules, *catchers))


def _state_to_json(state: State) -> dict[str, Json]:
    """The state without its name, and without defaults: so a new field leaves the text of older workflows as it is."""
    return {"type": type(state).__name__, **_to_json(state, without="name")}


def _to_json(part: State | Retrier | Catcher, without: str = "") -> dict[str, Json]:
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
    "rules": lambda rules: tuple((rule, target) for rule, target in rules),
}
