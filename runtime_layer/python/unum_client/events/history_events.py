"""Rebuild event histories from committed steps and workflow definitions.

Committed steps give outcomes of Tasks, Waits and fan-outs. Planning again gives the states between them. Events omit
unknown data: collected values, data of Tasks without their own commit, failures before a retry.

Events of Tasks: types and details for functions, services and activities.

Source: AWS Step Functions API Reference, "HistoryEvent".
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from unum_client.events.journal import Event, HistoryEvent, Journal, Known, assigned, data, failure_data
from unum_client.events.scope_events import Account, joined
from unum_client.reading.child_executions import ChildExecution
from unum_client.reading.map_runs import runs
from unum_client.reading.stored_steps import Past
from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.errors import StatesError
from unum_runtime.features.regions.region import region_of
from unum_runtime.json_text import to_text
from unum_runtime.model.checkpoint import Checkpoint, Collected, Failure, Phase, Status, Success
from unum_runtime.model.envelope import Value
from unum_runtime.model.ir import Home, Workflow
from unum_runtime.model.naming import Frames, Name, Scope
from unum_runtime.model.states import (
    ACTIVITY,
    Choice,
    Fail,
    FanOut,
    Form,
    Json,
    Language,
    Pattern,
    State,
    Task,
    Wait,
    Work,
)
from unum_runtime.protocol.history.timeline import (
    Following,
    Timeline,
    failed_with,
    following,
    frees_lane,
    is_success,
    redrives,
    tolerates_failures,
)
from unum_runtime.protocol.planning import dataset_variables
from unum_runtime.protocol.planning.advance import Visit, Visits, branch_start
from unum_runtime.protocol.planning.evaluation import EvaluationContext, compiled
from unum_runtime.protocol.planning.plan import (
    BranchFailed,
    Commit,
    CompleteBranch,
    Effect,
    Finish,
    Invoke,
    JoinNeighbour,
    OpenScope,
    is_start,
    out_of_time,
    started_after,
    started_at_once,
)

EVALUATION = "States.QueryEvaluationError"
"""Error name of a failed JSONata expression, which has its own event type."""

_OF_DATA_FLOW = frozenset(
    (
        EVALUATION,
        "States.IntrinsicFailure",
        "States.ParameterPathFailure",
        "States.ResultPathMatchFailure",
        "States.Runtime",
    )
)
_TIMEOUTS = frozenset(("States.Timeout", "States.HeartbeatTimeout"))
_SUFFIXES: Mapping[Pattern, str] = {
    Pattern.RESPONSE: "",
    Pattern.SYNC: ".sync",
    Pattern.CALLBACK: ".waitForTaskToken",
}

ENDINGS: Mapping[Status, str] = {
    Status.SUCCEEDED: "ExecutionSucceeded",
    Status.FAILED: "ExecutionFailed",
    Status.TIMED_OUT: "ExecutionTimedOut",
    Status.ABORTED: "ExecutionAborted",
}


class Kind(NamedTuple):
    """Event names and members of a kind of Task.

    Attributes:
        prefix: prefix of its event types.
        where: members of all its events.
        work: members that describe the work.
        carries: member with the input.
    """

    prefix: str
    where: Mapping[str, Json]
    work: Mapping[str, Json]
    carries: str


def kind_of(task: Task, home: Home) -> Kind:
    """Return the kind of `task` in a workflow at `home`; functions of the workflow are known by key only."""
    resource = task.resource
    if task.form is Form.DIRECT:
        return Kind("LambdaFunction", {}, {"resource": task.handler or task.function}, "input")
    if resource is not None and resource.startswith("arn:"):
        return Kind("LambdaFunction", {}, {"resource": resource}, "input")
    if resource is not None and resource.startswith(ACTIVITY):
        return Kind("Activity", {}, {"resource": home.arn(resource)}, "input")
    service, _, action = (resource or "lambda:invoke").rpartition(":")
    where = {"resourceType": service, "resource": action + _SUFFIXES[task.pattern]}
    return Kind("Task", where, {"region": home.region}, "parameters")


@dataclass(frozen=True, slots=True)
class TaskAttempt:
    """Last attempt of a Task.

    Attributes:
        workflow: the workflow.
        task: the Task.
        name: name of the invocation.
        entered: its input; None if unknown.
        checkpoint: its commit; None before it.
    """

    workflow: Workflow
    task: Task
    name: Name
    entered: Value | None
    checkpoint: Checkpoint | None

    def report_start(self, account: Account) -> None:
        """Report schedule and start; neither after a failed data flow."""
        details = self._scheduled()
        if details is None:
            return
        account.add(f"{self.kind.prefix}Scheduled", details, approximate=self.entered is None)
        if self.checkpoint is not None:
            account.add(f"{self.kind.prefix}Started", self.kind.where or None, self._begun_ms)

    def report_end(self, account: Account, checkpoint: Checkpoint, *, succeeded: bool) -> None:
        """Report the outcome in `checkpoint`, as far as known."""
        at_ms, outcome = checkpoint.committed_ms, checkpoint.outcome
        output = outcome if isinstance(outcome, Success) else None
        failure = failed_with(checkpoint)
        if failure is not None:
            self._report_failure(account, failure, checkpoint)
        elif succeeded:
            details = {**self.kind.where, **data(output=_task_result(self.task, output))}
            account.add(f"{self.kind.prefix}Succeeded", details, at_ms, retries=checkpoint.attempt)
        if succeeded or checkpoint.continuation.caught is not None:
            before = checkpoint.continuation.variables if self.entered is None else self.entered.variables
            account.exit(self.task, output, at_ms, assigned(before, checkpoint.continuation.variables))

    def report_passing(self, account: Account) -> None:
        """Report success without stored data: another Task commits for this one."""
        account.add(f"{self.kind.prefix}Succeeded", self.kind.where, approximate=True)
        account.exit(self.task, None)

    @property
    def kind(self) -> Kind:
        """Kind of the Task."""
        return kind_of(self.task, self.workflow.home)

    @property
    def _begun_ms(self) -> int | None:
        return None if self.checkpoint is None else self.checkpoint.committed_ms - self.checkpoint.duration_ms

    def _report_failure(self, account: Account, failure: Failure, checkpoint: Checkpoint) -> None:
        """Report a failure, unless the execution's deadline prevented the start."""
        if failure.error == EVALUATION:
            account.fail_to_evaluate(self.task, failure, checkpoint.committed_ms)
        # Data-flow errors and the execution's deadline fail a Task before its work starts.
        elif failure.error not in _OF_DATA_FLOW and failure != out_of_time(self.workflow):
            event_type = self.kind.prefix + ("TimedOut" if failure.error in _TIMEOUTS else "Failed")
            details = {**self.kind.where, **failure_data(failure)}
            account.add(event_type, details, checkpoint.committed_ms, retries=checkpoint.attempt)

    def _scheduled(self) -> dict[str, Json] | None:
        """Return details of the schedule event; None if the data flow failed before it."""
        kind = self.kind
        details = {**kind.where, **kind.work}
        if self.entered is None:
            return details
        program, context = compiled(self.workflow, self.task), self._context_of(self.entered)
        try:
            arguments: Known = Success(program.arguments(self.entered.value, context))
            limits = {
                f"{each.lower()}InSeconds": program.number(f"{each}Seconds", self.entered.value, context)
                for each in (("Timeout",) if kind.prefix == "LambdaFunction" else ("Timeout", "Heartbeat"))
            }
        except StatesError:
            return details if "Task.Token" in to_text(dict(self.task.data)) else None  # the token is unknown to readers
        details |= {name: int(limit) for name, limit in limits.items() if limit is not None}
        return details | data(**{kind.carries: arguments})

    def _context_of(self, entered: Value) -> ExpressionContext:
        attempt = 0 if self.checkpoint is None else self.checkpoint.attempt
        variables = dataset_variables.without(entered.variables)
        evaluation = EvaluationContext(
            self.workflow, self.name.execution, entered.entered_ms, str(self.name), variables
        )
        return evaluation.context_of(self.task.name, retries=(attempt,), now_ms=self._begun_ms)


def _task_result(task: Task, output: Known) -> Known:
    """Return `output` if it equals the result of `task`; None otherwise."""
    if task.language is Language.JSONATA:
        return None if "Output" in task.data else output
    shaping = {task.data.get(name, "$") for name in ("ResultPath", "OutputPath")} | {"$"}
    return output if shaping == {"$"} and "ResultSelector" not in task.data else None


def events(
    workflow: Workflow, checkpoints: Iterable[Checkpoint], earlier: Iterable[Workflow] = (), *, now_ms: int
) -> list[HistoryEvent]:
    """Return an execution's events, in order of time.

    Args:
        workflow: last version of the execution.
        checkpoints: start record, steps and stop records.
        earlier: other versions that it has run on.
        now_ms: current time, in milliseconds since 1970.

    Raises:
        ClientError: the execution has run on a version that is not given.
    """
    timeline, journal = Timeline(workflow, checkpoints, earlier), Journal()
    start, role = timeline.start, workflow.home.role_arn
    details = data(input=_known(start)) | ({"roleArn": role} if role else {})
    began = Event(type="ExecutionStarted", at_ms=start.committed_ms, previous=None, details=details)
    account = Account(journal, journal.add(began))
    _report(timeline, account)
    if timeline.end is None:
        return journal.shaped(until_ms=max(now_ms, timeline.latest_ms))
    last, until_ms = account.last, max(account.last.at_ms, timeline.latest_ms)
    if timeline.end.is_stop:  # a stop may come before the end of a Wait whose exit is already among the events
        until_ms = max(timeline.end.committed_ms, timeline.latest_ms)
        last = journal.latest(until_ms=until_ms)
    journal.end(_ending(timeline.end, last))
    return journal.shaped(until_ms=until_ms)


def branch_end(timeline: Timeline, opened: OpenScope, index: int, account: Account, *, succeeds: bool) -> Event:
    """Report the states of branch `index` of the scope that `opened` opens; return its last event."""
    version = timeline.version_of(timeline.committed[opened.scope.origin])
    thread = _Thread(timeline, opened.scope.branch(index), account, version, succeeds)
    return thread.follow_branch(opened, index).last


def _report(timeline: Timeline, account: Account) -> None:
    """Report events after the start, then after each redrive."""
    top_level = _Thread(timeline, (), account, timeline.version_of(timeline.start))
    end = top_level.follow(timeline.start)
    for count, (ended, redriven) in enumerate(redrives(timeline.top_level), start=1):
        # The copies of a fork are older than its start.
        until_ms = max(ended.committed_ms, timeline.start.committed_ms)
        last = account.journal.latest(until_ms=until_ms) if ended.is_stop else end.last
        account.last = account.journal.add(_ending(ended, last))
        account.add("ExecutionRedriven", {"redriveCount": count}, redriven.committed_ms)
        way = timeline.way_to(redriven)
        if way is not None:
            pass_on(account, way.visits, is_inside=way.reenters, meets=False)
        end = top_level.follow(redriven)


def _ending(checkpoint: Checkpoint, last: Event) -> Event:
    assert checkpoint.ending is not None  # noqa: S101 - it is the commit that has one
    status, outcome = checkpoint.ending.status, checkpoint.ending.outcome
    details = failure_data(outcome) if isinstance(outcome, Failure) else data(output=outcome)
    at_ms = max(checkpoint.committed_ms, last.at_ms)
    return Event(type=ENDINGS[status], at_ms=at_ms, previous=last, details=details)


class _End(NamedTuple):
    """Last known point of a branch.

    Attributes:
        last: its last event.
        checkpoint: its last commit; None without commits.
        effect: effect of that commit; None if unknown.
    """

    last: Event
    checkpoint: Checkpoint | None = None
    effect: Effect | None = None

    @property
    def has_failed(self) -> bool:
        """True if the branch ended with a failure."""
        return isinstance(self.effect, BranchFailed)


@dataclass
class _Thread:
    """Control in one scope: top level or branch.

    Attributes:
        timeline: commits of the execution.
        frames: fan-outs around it.
        account: reporter of its events.
        workflow: version of the last commit.
        succeeds: True if its success is proved.
    """

    timeline: Timeline
    frames: Frames
    account: Account
    workflow: Workflow
    succeeds: bool = False

    def follow(self, checkpoint: Checkpoint | None) -> _End:
        """Report events after `checkpoint`, until its scope ends."""
        last, effect = checkpoint, None
        while checkpoint is not None:
            last = checkpoint
            # After a redrive, or behind the copies of a fork, the top level continues on another version.
            self.workflow = self.timeline.version_of(checkpoint)
            effect, checkpoint = self._beyond(checkpoint)
        return _End(self.account.last, last, effect)

    def follow_branch(self, opened: OpenScope, index: int) -> _End:
        """Report events of branch `index` from its begin, until it ends."""
        led = self.timeline.branch_begin(opened, index)
        return self.follow(None if led is None else self._pass_on(led))

    def _beyond(self, checkpoint: Checkpoint) -> tuple[Effect | None, Checkpoint | None]:
        """Report a commit's continuation; return its effect and next commit."""
        match checkpoint:
            # A tombstone of a failure keeps its error, which is enough to end a branch.
            case Checkpoint(name=name, outcome=Collected(Failure() as failure)):
                return BranchFailed(name.execution, name.frames, failure), None
            case Checkpoint(outcome=Collected()):
                return None, self._beyond_collected(checkpoint)
        led = following(self.workflow, checkpoint)
        return led.effect, self._pass_on(led)

    def _pass_on(self, led: Following) -> Checkpoint | None:
        """Report states before an effect; return the effect's commit, if any."""
        failure = _failure(led.effect)
        # Another failure than that of the last visit is due to a limit of time or steps, so no state was passed.
        if failure is None or (led.visits and failure == led.visits[-1].failure):
            joined = self.timeline.joined(led.effect)
            is_unknown = isinstance(joined, JoinNeighbour)
            pass_on(self.account, _as_entered(led, joined), is_inside=led.reenters, meets=is_unknown)
        return self._arrive(led.effect)

    def _beyond_collected(self, checkpoint: Checkpoint) -> Checkpoint | None:
        name, opens = checkpoint.name, checkpoint.opens
        if checkpoint.phase is Phase.RETRIED:
            return self.timeline.after(name)
        if checkpoint.phase is Phase.ENTERED and opens is not None:
            return self._fan_out(opens, None)
        return self._guess(self._resumes_at(checkpoint), name, opens)

    def _resumes_at(self, checkpoint: Checkpoint) -> str | None:
        """Return the state entered after a commit; None if its scope ends, or before a retry."""
        if is_start(checkpoint.name):
            return self.workflow.start_at
        if checkpoint.phase is Phase.LEFT:
            return checkpoint.continuation.goes_to or self._state(checkpoint.state).next
        return checkpoint.state if checkpoint.phase is Phase.ENTERED else None

    def _arrive(self, effect: Effect) -> Checkpoint | None:
        """Report the work of `effect`; return its commit, if any."""
        match self.timeline.joined(effect):
            case Invoke(name, state, Value() as entered):
                return self._invoke(name, self._state(state), entered)
            case Invoke(name, state) | JoinNeighbour(Invoke(name, state)):
                return self._invoke(name, self._state(state), None)
            case Commit(name):
                return self.timeline.committed.get(name)
            case OpenScope(scope) as opened:
                return self._fan_out(scope, opened)
        return None

    def _invoke(self, name: Name, state: State, entered: Value | None) -> Checkpoint | None:
        if isinstance(state, Task):
            return self._work(state, name, entered)
        checkpoint = self.timeline.committed.get(name)
        if isinstance(state, Wait) and checkpoint is not None:
            self._leave_wait(state, checkpoint)
        return checkpoint

    def _leave_wait(self, state: Wait, checkpoint: Checkpoint) -> None:
        if not isinstance(checkpoint.outcome, Failure):
            self.account.exit(state, _known(checkpoint), checkpoint.committed_ms)

    def _work(self, task: Task, name: Name, entered: Value | None) -> Checkpoint | None:
        """Report a Task; return the next commit."""
        checkpoint = self.timeline.committed.get(name)
        # Another Task's commit under this name stands for both, so only that Task's outcome is known.
        own = checkpoint if checkpoint is not None and checkpoint.state == task.name else None
        this = TaskAttempt(self.workflow, task, name, entered, own)
        this.report_start(self.account)
        if own is not None:
            this.report_end(self.account, own, succeeded=is_success(own))
            return own
        if task.committed_by is None or checkpoint is None:
            return None
        this.report_passing(self.account)
        return self._guess(task.next, replace(name, step=name.step - 1))

    def _fan_out(self, scope: Scope, opened: OpenScope | None) -> Checkpoint | None:
        """Report a fan-out; return its commit, or a substitute if a joining Task commits instead."""
        state, commit = self.workflow.fan_out(scope.state), self.timeline.outcome_of(scope)
        is_over = scope.join in self.timeline.committed if commit is None else is_success(commit)
        started = self.account.start(state, scope.size, self._opened_ms(scope), scope.generation)
        ends = self._branches(scope, opened, started, succeeds=is_over and not tolerates_failures(state))
        endings = [(end.last, end.has_failed) for end in ends.values()]
        self.account.last = reason(endings, started, succeeded=is_over)
        # The Task that joins the results commits in the fan-out's place, so its output is computed again.
        if commit is None and opened is not None:
            commit = joined(opened, _whole(ends))
        if commit is not None:
            self._leave(state, commit)
        elif is_over:
            self.account.end(state, succeeded=True)
            self.account.exit(state, None)
            return self._guess(state.next, scope.origin)
        return commit

    def _opened_ms(self, scope: Scope) -> int | None:
        origin = self.timeline.committed.get(scope.origin)
        return None if origin is None else origin.committed_ms

    def _leave(self, state: FanOut, commit: Checkpoint) -> None:
        """Report a fan-out's end."""
        succeeded, caught = is_success(commit), commit.continuation.caught
        if succeeded or failed_with(commit) is not None:
            self.account.end(state, commit.committed_ms, succeeded=succeeded)
        if succeeded or (caught is not None and commit.phase is Phase.LEFT):
            self.account.exit(state, _known(commit), commit.committed_ms)

    def _branches(
        self, scope: Scope, opened: OpenScope | None, started: Event, *, succeeds: bool
    ) -> Mapping[int, _End]:
        """Report each started branch; return ends by index."""
        state = self.workflow.fan_out(scope.state)
        if state.needs:
            return self._nodes(scope, opened, started, succeeds=succeeds)
        at_once = range(scope.size) if opened is None else started_at_once(opened)
        # A branch follows the one before it in its lane, so its first event has that branch's last as its cause.
        waiting, ends = deque((index, started) for index in at_once), dict[int, _End]()
        while waiting:
            index, before = waiting.popleft()
            account = self.account.branch(index, before)
            thread = _Thread(self.timeline, scope.branch(index), account, self.workflow, succeeds)
            ends[index] = end = thread._branch(scope, opened, index)
            if opened is not None and frees_lane(state, end.effect):
                waiting += ((following, end.last) for following in started_after(opened, index))
        return ends

    def _nodes(self, scope: Scope, opened: OpenScope | None, started: Event, *, succeeds: bool) -> Mapping[int, _End]:
        """Report each started node of a region; the end of a source that committed last is its cause."""
        ends: dict[int, _End] = {}
        for index, sources in enumerate(region_of(self.workflow, scope.state).sources):
            before = [ends[source] for source in sources if source in ends]
            if len(before) < len(sources) or any(end.has_failed for end in before):
                continue
            cause = max((end.last for end in before), key=lambda last: last.at_ms, default=started)
            account = self.account.branch(index, cause)
            thread = _Thread(self.timeline, scope.branch(index), account, self.workflow, succeeds)
            if sources and opened is not None and self.timeline.branch_begin(opened, index) is None:
                continue
            ends[index] = thread._branch(scope, opened, index)
        return ends

    def _branch(self, scope: Scope, opened: OpenScope | None, index: int) -> _End:
        """Report this branch, if its start is proved."""
        if opened is None and not self.succeeds and self.timeline.last(self.frames) is None:
            return _End(self.account.last)
        state, commit = self.workflow.fan_out(scope.state), self.timeline.outcome_of(scope)
        self.account.iterate(state, "Started")
        if opened is not None:
            end = self.follow_branch(opened, index)
        else:
            end = self.follow(self._guess(branch_start(state, index), Name(scope.execution, self.frames, -1)))
        is_collected = end.checkpoint is not None and isinstance(end.checkpoint.outcome, Collected)
        if isinstance(end.effect, CompleteBranch) or (is_collected and self.succeeds):
            return end._replace(last=self.account.iterate(state, "Succeeded"))
        if end.has_failed:
            return end._replace(last=self.account.iterate(state, "Failed"))
        if commit is not None and not is_collected:
            self.account.iterate(state, "Aborted", commit.committed_ms)
        return end

    def _guess(self, name: str | None, before: Name, opens: Scope | None = None) -> Checkpoint | None:
        """Report states after `name` that the definition alone proves.

        Args:
            name: name of the state; None at the end of the scope.
            before: name of the invocation before it.
            opens: scope known to follow.

        Returns:
            The next commit, if any.
        """
        following = self.timeline.after(before)
        known = following if opens is None else opens
        ahead = self._guess_passed(name, None if known is None else known.state)
        if opens is not None:
            self.account.enter(self._state(opens.state), None)
            return self._fan_out(opens, None)
        if ahead is not None:
            self.account.enter(ahead, None)
            return self._work(ahead, Name(before.execution, before.frames, before.step + 1), None)
        return following and self._jump(following)

    def _guess_passed(self, name: str | None, target: str | None) -> Task | None:
        """Report states before `target` that the definition proves; return the Task that blocks further ones."""
        passed: set[str] = set()  # a loop would report the same states for ever
        while name is not None and name != target and name not in passed:
            passed.add(name)
            state = self._state(name)
            if isinstance(state, Task):
                return state
            if isinstance(state, FanOut) and not state.pure:
                return None
            self.account.enter(state, None)
            is_certain = not isinstance(state, Choice | Fail) and not (isinstance(state, Work) and state.catch)
            if is_certain or (target is not None and isinstance(self._state(target), Task | Wait | FanOut)):
                self.account.exit(state, None)
            if not is_certain:
                return None
            name = state.next
        return None

    def _jump(self, checkpoint: Checkpoint) -> Checkpoint | None:
        """Continue with `checkpoint`, skipping unknown states before it."""
        state = self._state(checkpoint.state)
        self.account.enter(state, None)
        if isinstance(state, Task | Wait):
            return self._invoke(checkpoint.name, state, None)
        if is_success(checkpoint) and checkpoint.phase is Phase.LEFT:
            self.account.exit(state, _known(checkpoint), checkpoint.committed_ms)
        return checkpoint

    def _state(self, name: str) -> State:
        return self.workflow.states[name]


def _whole(ends: Mapping[int, _End]) -> Mapping[int, tuple[Checkpoint, CompleteBranch | BranchFailed]]:
    """Return the ended branches by index."""
    return {
        index: (end.checkpoint, end.effect)
        for index, end in ends.items()
        if end.checkpoint is not None and isinstance(end.effect, CompleteBranch | BranchFailed)
    }


def _known(checkpoint: Checkpoint) -> Known:
    return checkpoint.outcome if isinstance(checkpoint.outcome, Success) else None


def _failure(effect: Effect) -> Failure | None:
    """Return an effect's failure, if any."""
    match effect:
        case BranchFailed(failure=failure):
            return failure
        case Commit(outcome=Failure() as failure):
            return failure
        case Finish(ending=ending) if isinstance(ending.outcome, Failure):
            return ending.outcome
    return None


def _as_entered(led: Following, joined: Effect | None) -> list[Visit]:
    """Return the visits of `led`; that of a Task with `after_previous` has its whole input, and waits for it."""
    if joined is None:
        return led.visits[:-1]
    entered = joined.input if isinstance(joined, Invoke) else None
    task = led.visits[-1].state if led.visits else None
    if isinstance(task, Task) and task.after_previous and isinstance(entered, Value):
        evaluation = replace(led.visits[-1].evaluation, entered_ms=entered.entered_ms)
        return [*led.visits[:-1], replace(led.visits[-1], given=entered.given, evaluation=evaluation)]
    return led.visits


def child_events(past: Past, child: ChildExecution, *, now_ms: int) -> list[HistoryEvent]:
    """Return the events of `child`, in order of time.

    Args:
        past: commits of the parent, and the definitions that it has run on.
        child: child execution of the parent.
        now_ms: current time, in milliseconds since 1970.
    """
    timeline, journal = Timeline(*past), Journal()
    (opened,) = (run.opened() for run in runs(timeline) if run.id == child.map_run)
    assert opened is not None  # noqa: S101 - a child is computed from it
    role = past.last.home.role_arn
    details = data(input=Success(child.input)) | ({"roleArn": role} if role else {})
    started_ms = round(child.started_at.timestamp() * 1000)
    began = Event(type="ExecutionStarted", at_ms=started_ms, previous=None, details=details)
    account = Account(journal, journal.add(began))
    last = branch_end(timeline, opened, child.index[-1], account, succeeds=child.status is Status.SUCCEEDED)
    if child.stopped_at is None:
        return journal.shaped(until_ms=max(now_ms, timeline.latest_ms))
    at_ms = max(round(child.stopped_at.timestamp() * 1000), last.at_ms)
    journal.end(Event(type=ENDINGS[child.status], at_ms=at_ms, previous=last, details=_result(child)))
    return journal.shaped(until_ms=at_ms)


def _result(child: ChildExecution) -> dict[str, Json]:
    if child.status is Status.SUCCEEDED:
        return data(output=Success(child.output))
    return failure_data(None if child.error is None else Failure(child.error, child.cause))


def pass_on(account: Account, visits: Visits, *, is_inside: bool = False, meets: bool = False) -> None:
    """Report visited states.

    Args:
        account: reporter of the scope.
        visits: visited states, in order.
        is_inside: True if the first state was entered before.
        meets: True if the last state also gets input of another branch.
    """
    for number, visit in enumerate(visits):
        if number > 0 or not is_inside:
            # The last state of a neighbour join has two inputs, and only one of them is known here.
            value = None if meets and visit.exit is None else visit.given
            account.enter(visit.state, value, visit.evaluation.entered_ms)
        _visit(account, visit)
    if visits and visits[-1].failure is not None and visits[-1].failure.error == EVALUATION:
        account.fail_to_evaluate(visits[-1].state, visits[-1].failure)


def reason(ends: Iterable[tuple[Event, bool]], started: Event, *, succeeded: bool) -> Event:
    """Return the event that ended a fan-out: its first failed branch, otherwise its last branch.

    Args:
        ends: last event of each branch, with True for a failed branch.
        started: event that started the branches.
        succeeded: True if the fan-out succeeded.
    """
    ends = list(ends)
    failed = [event for event, has_failed in ends if has_failed]
    if failed and not succeeded:
        return min(failed, key=lambda event: event.at_ms)
    return max((event for event, _ in ends), key=lambda event: event.at_ms, default=started)


def _visit(account: Account, visit: Visit) -> None:
    if isinstance(visit.state, FanOut):
        _compute(account, visit.state, visit)
    if visit.exit is not None:
        variables = assigned(visit.evaluation.variables, visit.exit.evaluation.variables)
        account.exit(visit.state, Success(visit.exit.value), visit.exit.evaluation.entered_ms, variables)


def _compute(account: Account, state: FanOut, visit: Visit) -> None:
    """Report a fan-out computed in place, or one without branches; unopened fan-outs report nothing."""
    succeeded = visit.exit is not None and visit.exit.target == state.next
    if not succeeded and not visit.branches:
        return
    started = account.start(state, len(visit.branches), visit.evaluation.entered_ms)
    ends = [_branch(account.branch(index, started), state, visits) for index, visits in enumerate(visit.branches)]
    account.last = reason(ends, started, succeeded=succeeded)
    account.end(state, succeeded=succeeded)


def _branch(account: Account, state: FanOut, visits: Visits) -> tuple[Event, bool]:
    """Report a branch; return its last event, with True for a failed branch."""
    has_failed = visits[-1].failure is not None
    account.iterate(state, "Started")
    pass_on(account, visits)
    return account.iterate(state, "Failed" if has_failed else "Succeeded"), has_failed
