"""States of a workflow's intermediate representation, with their rules and the words that their fields take."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeAlias

from unum_runtime.cold_start.records import dataclass
from unum_runtime.json_text import to_text

Json: TypeAlias = Any
"""A JSON value: str, int, float, bool, None, list or dict."""


class Language(StrEnum):
    """Query language of a state, as ``QueryLanguage`` names it."""

    JSONPATH = "JSONPath"
    JSONATA = "JSONata"


class Form(StrEnum):
    """Form of a Task's ``Resource``, which decides the shape of parameters and result."""

    DIRECT = "direct"
    """Function with the state's input as event and its return value as result."""

    INVOKE = "invoke"
    """``arn:aws:states:::lambda:invoke``: function with `Payload` as event and a wrapped result."""

    SERVICE = "service"
    """Any other ``Resource``: call of a service by the workflow's service function, with its response as result."""


ACTIVITY = "activity:"
"""Prefix of `Task.resource` before the name of an activity, where workers poll for the Task."""

SIGNAL = "signal:"
"""Prefix of `Task.resource` before the name of the signal that the Task waits for; see
`unum_runtime.features.signals.mailbox`."""

READ_ITEMS = "map:readItems"
"""`Task.resource` of a Task that reads the items of the Map after it."""

WRITE_RESULTS = "map:writeResults"
"""`Task.resource` of a Task that writes the results of the Map before it."""

DATA_SET_TASKS = {READ_ITEMS: " (ItemReader)", WRITE_RESULTS: " (ResultWriter)"}
"""Suffixes of such Tasks' names, after the name of the Map."""


class Pattern(StrEnum):
    """End of a Task. Source: AWS Step Functions Developer Guide, "Discover service integration patterns"."""

    RESPONSE = "response"
    """The response ends the Task."""

    SYNC = "sync"
    """``.sync``: the end of the started job ends the Task."""

    CALLBACK = "callback"
    """``.waitForTaskToken`` and activities: the callback with the task token ends the Task."""


class Guard(StrEnum):
    """Protection against running user code again for a committed outcome."""

    READ = "read"
    """Read the store before user code runs."""

    COMMIT = "commit"
    """Read nothing: a duplicate runs user code again, and the commit drops its outcome."""

    LEASE = "lease"
    """Read the store, and hold a lease while user code runs, so that no two deliveries run it at once."""


class MemoScope(StrEnum):
    """Tasks that share the memoized results of a Task."""

    FUNCTION = "function"
    """Tasks of the same handler, in executions of the same workflow."""

    WORKFLOW = "workflow"
    """Tasks with the same version, in executions of the same workflow."""

    TABLE = "table"
    """Tasks with the same version, in executions of all workflows that use the table."""


@dataclass(frozen=True, kw_only=True)
class Retrier:
    """Retrier of a state (specification, Retrying after error).

    The compiler may leave placeholders in place of all but `errors`; see `unum_runtime.asl.deployed_workflow`.

    Attributes:
        errors: names of matching errors.
        interval_s: seconds before the first retry.
        max_attempts: number of retries; 0 for none.
        backoff_rate: factor by which the interval grows with every retry.
        max_delay_s: longest interval in seconds; None for no limit.
        jitter: draw each delay at random between 0 and the interval.
    """

    errors: tuple[str, ...]
    interval_s: int = 1
    max_attempts: int = 3
    backoff_rate: float = 2.0
    max_delay_s: int | None = None
    jitter: bool = False


@dataclass(frozen=True, kw_only=True)
class Catcher:
    """Catcher of a state whose retriers are exhausted (specification, Fallback states).

    Attributes:
        errors: names of matching errors.
        next: name of the next state.
        data: its data-flow fields (``ResultPath``, ``Assign``, ``Output``), as in the definition.
    """

    errors: tuple[str, ...]
    next: str
    data: Mapping[str, Json]


@dataclass(frozen=True, kw_only=True)
class State:
    """State of a workflow.

    Attributes:
        name: name, unique in the workflow.
        scope: name of the Map or Parallel state around it; None at the top level.
        data: data-flow fields and fields with expressions (``InputPath``, ``Assign``, ``Seconds``, ``MaxConcurrency``,
            ...), as in the definition.
        next: name of the next state; None at the end of the scope.
        language: query language of its expressions.
    """

    name: str
    scope: str | None
    data: Mapping[str, Json]
    next: str | None
    language: Language = Language.JSONPATH


@dataclass(frozen=True, kw_only=True)
class Work(State):
    """State with retriers and catchers: Task, Parallel or Map.

    Attributes:
        retry: retriers; the first match counts.
        catch: catchers; the first match counts.
    """

    retry: tuple[Retrier, ...] = ()
    catch: tuple[Catcher, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Task(Work):
    """Task, which runs user code or calls a service; a node of the graph.

    Attributes:
        function: key of the function that hosts it.
        form: shape of parameters and result.
        guard: protection against running user code again.
        committed_by: for a Task without a checkpoint, the next Task, whose commit replaces its own; None otherwise.
        memoize: executions share its results.
        memo_key: names and indexes on the way to each value in the event of user code that identifies a shared result;
            empty for the whole event.
        memo_version: version of the logic, in place of the function's published version.
        memo_lifetime_s: lifetime of shared results in seconds; None for the workflow's retention.
        memo_scope: Tasks that share the results.
        resource: called API of a service Task, such as ``dynamodb:putItem``, without the suffix of the pattern, or the
            ARN of a Lambda function outside the workflow; None for functions inside.
        pattern: end of the Task.
        assumes_role: a service Task's arguments are ``Credentials``, with the caller's ``RoleArn``, and ``Parameters``.
        meets_previous: neighbour join. Its input is an array of two values: of the same Task in the previous branch
            (null in the first branch) and in its own branch.
        after_previous: Task of the previous branch for whose result it waits. Its input is an object: its own input is
            `own`, and that result is `previous`, null in the first branch. None if it waits for no other branch.
        left_out: numbers of branches, at the beginning and at the end of its Map, in which its function does not run
            and the result is null. None if it runs in all.
        handler: key of the user's handler in a function that has several; None in a function that has one.
    """

    function: str
    form: Form
    guard: Guard = Guard.READ
    committed_by: str | None = None
    memoize: bool = False
    memo_key: tuple[tuple[str | int, ...], ...] = ()
    memo_version: str | None = None
    memo_lifetime_s: int | None = None
    memo_scope: MemoScope = MemoScope.FUNCTION
    resource: str | None = None
    pattern: Pattern = Pattern.RESPONSE
    assumes_role: bool = False
    meets_previous: bool = False
    after_previous: str | None = None
    left_out: tuple[int, int] | None = None
    handler: str | None = None

    @property
    def gives_token(self) -> bool:
        """True if a responder or worker gets a task token.

        A job gets one if its arguments name it, and a response to it ends the Task, too. Source: LocalStack's recording
        of AWS, ``test_sync_with_task_token``, 2024-07-12.
        """
        if self.pattern is Pattern.SYNC:
            return "Task.Token" in to_text(dict(self.data))
        return self.pattern is Pattern.CALLBACK


@dataclass(frozen=True, kw_only=True)
class Pass(State):
    """Pass state, with its input or ``data["Result"]`` as output."""


@dataclass(frozen=True, kw_only=True)
class Choice(State):
    """Choice state, which continues with the first matching rule.

    Attributes:
        rules: pairs of a rule as in the definition, without ``Next``, and the name of the next state.
        default: next state if no rule matches; None fails with ``States.NoChoiceMatched``.
    """

    rules: tuple[tuple[Mapping[str, Json], str], ...]
    default: str | None


@dataclass(frozen=True, kw_only=True)
class Succeed(State):
    """Succeed state, the end of its scope."""


@dataclass(frozen=True, kw_only=True)
class Fail(State):
    """Fail state, with error and cause in its data."""


@dataclass(frozen=True, kw_only=True)
class Wait(State):
    """Wait state, with the time in its data."""


@dataclass(frozen=True, kw_only=True)
class FanOut(Work):
    """Map or Parallel state.

    Attributes:
        pure: one delivery computes the whole state: no retriers, no quorum, no region, and no Task or Wait inside.
        join: Task that certainly follows, behind Pass states alone, if there are no retriers or catchers; else None.
        quorum: number of branches that must succeed; None for all.
        needs: name of each branch of a region, with the names of those whose results it waits for; else empty.
    """

    pure: bool
    join: str | None
    quorum: int | None = None
    needs: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Parallel(FanOut):
    """Parallel state.

    Attributes:
        branches: first state of each branch.
    """

    branches: tuple[str, ...]


AT_ONCE = 1_000
"""``MaxConcurrency`` that the compiler gives a Map without one: the concurrent executions of an account.
Source: AWS Lambda Developer Guide, "Lambda quotas"."""


@dataclass(frozen=True, kw_only=True)
class Map(FanOut):
    """Map state, with one branch for each item.

    Attributes:
        start: first state of each branch.
        has_limit: ``MaxConcurrency`` in the data limits the branches that run at once.
        tolerates: ``ToleratedFailureCount`` or ``-Percentage`` in the data tolerates failed branches.
        distributed: distributed mode, in which branches do not see variables of the scope around the Map.
        reads: the Task before it reads its items (``ItemReader``).
        writes: the Task after it writes its results (``ResultWriter``).
    """

    start: str
    has_limit: bool = False
    tolerates: bool = False
    distributed: bool = False
    reads: bool = False
    writes: bool = False

    @property
    def is_paced(self) -> bool:
        """True if its limit is the compiler's, which no definition states."""
        return self.has_limit and self.data.get("MaxConcurrency") == AT_ONCE
