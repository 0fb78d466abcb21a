"""Requests of operators: stop, redrive, nudge, fork and delete executions, ask what they wait for, pause new starts.

No access to the workflow's table is needed. Callers must be allowed to invoke the control function's alias for
the kind of request, or its alias for all kinds; see `unum_runtime.protocol.control.control_aliases`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Self

from unum_client.address import check_control
from unum_client.alias_requests import Caller, send_request
from unum_client.deliveries import to_datetime
from unum_client.descriptions import Started
from unum_client.reading.execution_list import ExecutionPage, ListedExecution
from unum_client.sending_signals import SignalSender
from unum_runtime.errors import (
    ClientError,
    DefinitionNotStored,
    ExecutionAlreadyExists,
    ExecutionDoesNotExist,
    ExecutionNotDeletable,
    ExecutionNotRedrivable,
    InvalidExecutionInput,
    NodeNotForkable,
    RouteGone,
    SignalRefused,
    StartsPaused,
    UnumError,
)
from unum_runtime.features.memo.remembered import ResultNotRemembered
from unum_runtime.functions.operations.caller import LONGEST_CALL_S
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.naming import control_alias_name
from unum_runtime.model.states import Json
from unum_runtime.protocol.control import control_aliases, operator_requests, pausing
from unum_runtime.protocol.control.control_aliases import CALL, WORKFLOW, ControlAlias, alias_for, call_alias
from unum_runtime.protocol.control.operator_requests import THROTTLED_MS, On, ValidationException, VersionGone
from unum_runtime.protocol.control.operator_requests import Control as Operation
from unum_runtime.protocol.delivery.pause import Pause
from unum_runtime.protocol.history.pending import WaitsFor
from unum_runtime.protocol.history.start_records import checked_input, checked_name

if TYPE_CHECKING:
    from boto3 import Session

    from unum_client.aws_clients import AwsClients

_ERRORS = (
    DefinitionNotStored,
    ExecutionAlreadyExists,
    ExecutionDoesNotExist,
    ExecutionNotDeletable,
    ExecutionNotRedrivable,
    InvalidExecutionInput,
    NodeNotForkable,
    SignalRefused,
    StartsPaused,
    ValidationException,
    VersionGone,
    ResultNotRemembered,
)

_UNCHANGED = object()  # not None, because None is a valid input


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Missing commit of an execution.

    Attributes:
        invocation: invocation name.
        state: state whose commit is missing; for `Client.pending` the Wait before it, until that is over.
        index: branch index in each enclosing fan-out, outermost first, from 0; empty at the top level.
        waits_for: required event before the commit.
        since: time of the previous commit.
        until: due time; for a job, latest time of the next poll; else None.
        job: handle of a service job, used to poll it; None without one.
        signal: ``name`` and, if it has one, ``key`` of the signal that the state waits for; None without one.
        throttled_since: time since which its event waits because Lambda has no concurrency for the function; None if
            the failure handler knows of no such wait.
    """

    invocation: str
    state: str
    index: tuple[int, ...]
    waits_for: WaitsFor
    since: datetime
    until: datetime | None
    job: Json = None
    signal: Json = None
    throttled_since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Missing commits of an execution.

    Attributes:
        count: number of missing commits that were found; 0 for an ended execution.
        missing: first missing commits.
        is_done: False if the time did not suffice for all branches; a nudge then continues by itself.
    """

    count: int
    missing: tuple[Missing, ...]
    is_done: bool = True


class Redriven(datetime):
    """Time of a redrive, and the function versions that run from then on.

    Attributes:
        on: ``original`` or ``current``.
        reason: reason of the choice.
        is_done: False if results are still being copied; the control function continues by itself.
    """

    on: On
    reason: str
    is_done: bool

    @classmethod
    def of(cls, answer: Json) -> Self:
        """Build the time from a control request's answer."""
        made = cls.fromtimestamp(answer["redriven_ms"] / 1000, UTC)
        made.on, made.reason, made.is_done = On(answer["on"]), answer["reason"], answer.get("is_done", True)
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Remains:
    """What a deletion leaves.

    Attributes:
        what: description.
        until: time at which it is gone; None if that is not known.
    """

    what: str
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """Deletion of an execution.

    Attributes:
        deleted_at: time of the first request for it.
        again_at: time from which on a sweep deletes what deliveries have stored that ran at the first request, or a
            second request without sweeps; None if nothing is left to find.
        remains: what is left, and until when.
        is_done: False if the time did not suffice for all items; the control function continues by itself.
    """

    deleted_at: datetime
    again_at: datetime | None
    remains: tuple[Remains, ...]
    is_done: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StartsPause:
    """Pause of a workflow: no execution starts, and those that exist go on.

    Attributes:
        since: its begin.
        reason: text of the caller who asked for it.
    """

    since: datetime
    reason: str

    @classmethod
    def of(cls, answer: Json) -> "StartsPause | None":
        """Return the pause that a control function's `answer` describes; None for a workflow that starts executions."""
        found = None if answer["pause"] is None else Pause.from_json(answer["pause"])
        return None if found is None else cls(since=to_datetime(found.since_ms), reason=found.reason)


@dataclass(frozen=True, kw_only=True)
class Control(SignalSender):
    """Control of one workflow's executions; safe to use from several threads.

    Attributes:
        caller: connection to the control function.
        control_alias: ARN of the workflow's control function, without an alias.
        workflow: workflow name.
    """

    caller: Caller
    control_alias: str
    workflow: str

    @classmethod
    def connect(cls, *, control_alias: str, workflow: str, session: "Session | AwsClients | None" = None) -> "Control":
        """Connect to a workflow on AWS.

        Args:
            control_alias: ARN of the workflow's control function, from the stack's output ``ControlFunction``.
            workflow: workflow name.
            session: source of credentials and region; default: boto3's.

        Raises:
            ClientError: `control_alias` is no such ARN, or `workflow` is empty.
        """
        check_control(control_alias)
        if not workflow:
            raise ClientError("workflow: expected the name of the workflow, whose aliases the control function has")
        from unum_client.aws_connection import AwsConnection  # noqa: PLC0415 - boto3 is optional

        # Fewer attempts than elsewhere, because each may take minutes.
        caller = AwsConnection(session).caller(attempts=3, read_timeout=LONGEST_CALL_S)
        return cls(caller=caller, control_alias=control_alias, workflow=workflow)

    def stop(self, name: str, error: str | None = None, cause: str | None = None) -> datetime:
        """Stop an execution: running user code may finish, but nothing new starts.

        Args:
            name: execution name.
            error: error name of the stopped execution.
            cause: text for humans.

        Returns:
            Stop time, or end time if the execution had ended before.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
            InvokeError: unknown whether the execution was stopped; call again.
        """
        return to_datetime(self._request(Operation.STOP, name, error=error, cause=cause)["stopped_ms"])

    def redrive(self, name: str, *, on: On | str | None = None) -> Redriven:
        """Resume a failed execution: successful steps are kept, failed ones run again.

        Args:
            name: execution name.
            on: ``original`` for the functions and the definition on which the execution has run so far; ``current``
                for those deployed now, if they can continue from what is committed; default: ``current``, or
                ``original`` if they cannot.

        Returns:
            Redrive time, with the choice and its reason.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
            ExecutionNotRedrivable: it did not fail, its TimeoutSeconds or retention has passed, no step of it can run
                again, or the current definition cannot continue it; the text names the state.
            DefinitionNotStored: `on` is ``current``, and the definition of the execution is unknown.
            ClientError: `on` is another text.
            VersionGone: the version of the execution no longer exists.
            InvokeError: unknown whether the execution continues; call again.
        """
        chosen: dict[str, Json] = {} if on is None else {"on": str(checked_on(on))}
        return Redriven.of(self._request(Operation.REDRIVE, name, **chosen))

    def nudge(self, name: str) -> Waits:
        """Resend pending events of an execution, except Tasks with a task token in use; poll its jobs.

        A nudge is as safe as a late delivery. User code that runs at the same time may run twice.

        Args:
            name: execution name.

        Returns:
            Missing commits.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
            VersionGone: the version of the execution no longer exists.
            InvokeError: unknown whether all events were sent; call again.
        """
        return _parse_waits(self._request(Operation.NUDGE, name))

    def why(self, name: str) -> Waits:
        """Return the missing commits of an execution, without sending anything.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
            VersionGone: the version of the execution no longer exists.
            InvokeError: no answer; call again.
        """
        return _parse_waits(self._request(Operation.WHY, name))

    def fork(
        self,
        name: str,
        *,
        from_node: str,
        new_name: str,
        input: object = _UNCHANGED,  # noqa: A002 - as in `Client.start`
        visit: int = 1,
    ) -> Started:
        """Fork an execution: start another from one of its states, with the results before that state.

        The new execution runs on the functions deployed now. A repeated call finds the existing fork.

        Args:
            name: name of the existing execution.
            from_node: first state of the fork: a Task, Map or Parallel of the top level.
            new_name: name of the new execution.
            input: input of the state, any JSON; default: its earlier input.
            visit: number of the state's visit, from 1.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
            ExecutionAlreadyExists: another execution has the new name.
            NodeNotForkable: the execution never reached that state, or the fork needs another input.
            StartsPaused: the workflow is paused.
            InvalidExecutionInput: `input` is not JSON, or too large.
            InvalidName: `new_name` is not 1 to 80 characters from ``A-Z a-z 0-9 - _``.
            InvokeError: unknown whether the fork exists; call again.
        """
        # Checked here, because the error names the argument; the workflow checks again.
        entry = {} if input is _UNCHANGED else {"input": checked_input(input)}
        content = {"node": from_node, "name": checked_name(new_name), "visit": visit, **entry}
        answer = self._request(Operation.FORK, name, **content)
        return Started(name=answer["execution"], started_at=to_datetime(answer["started_ms"]), is_new=True)

    def delete_execution(self, name: str) -> Deletion:
        """Delete the items and objects of an execution that has ended, with all versions of the objects.

        Its name stays taken until its retention has passed, so that a late event does not start it again. The first
        sweep after `Deletion.again_at` deletes what deliveries have stored that ran when you called; in workflows
        without sweeps, call again then.

        Args:
            name: execution name.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
            ExecutionNotDeletable: it runs; stop it first.
            InvokeError: unknown whether all was deleted; call again.
        """
        answer = self._request(Operation.DELETE, name)
        return Deletion(
            deleted_at=to_datetime(answer["deleted_ms"]),
            again_at=_time(answer["again_ms"]),
            remains=tuple(Remains(what=each["what"], until=_time(each["until_ms"])) for each in answer["remains"]),
            is_done=answer.get("is_done", True),
        )

    def pause_starts(self, reason: str) -> StartsPause:
        """Pause the workflow: it starts no executions, by events, by name or by forks; those that exist go on.

        A function in which executions start knows of it within 10 seconds. Repeated starts of executions that exist are
        answered as before.

        Args:
            reason: text for those whose starts are refused; 1 to 1,000 characters.

        Returns:
            The pause that holds from now on; if the workflow was paused before, that one, with its own reason.

        Raises:
            ClientError: `reason` is empty or too long.
            InvokeError: unknown whether the workflow is paused; call again.
        """
        found = StartsPause.of(self.send(pausing.request(pausing.PAUSE, reason=reason)))
        assert found is not None  # noqa: S101 - this request never ends a pause
        return found

    def resume_starts(self) -> StartsPause | None:
        """Resume a paused workflow: functions start executions again within 10 seconds.

        Starts by event sources that were refused are in the failure queue; the next sweep starts them.

        Returns:
            The pause that has ended; None if the workflow was not paused.

        Raises:
            InvokeError: unknown whether the workflow is resumed; call again.
        """
        return StartsPause.of(self.send(pausing.request(pausing.RESUME)))

    def deployed_digest(self) -> str:
        """Return the digest of the deployed definition, which the workflow stores before it answers.

        Raises:
            InvokeError: no answer; call again.
        """
        return str(self.send(control_aliases.definition_request())["digest"])

    def _request(self, operation: Operation, execution: str, /, **content: Json) -> Json:
        """Send a request for `operation` and return the answer.

        Raises:
            ClientError: the workflow refused the request.
        """
        return self.send(operator_requests.request(operation, execution, **content))

    def send(self, request: dict[str, Json]) -> Json:
        """Send `request` to the alias that takes it, and return the answer.

        Raises:
            ClientError: the workflow refused the request.
            InvokeError: unknown whether the request was carried out, or nobody may invoke the alias.
        """
        if request["control"] == CALL:
            return self._send_to(call_alias(request["state"]), request)
        alias = alias_for(request["control"])
        assert alias is not None  # noqa: S101 - this class makes requests of known kinds alone
        return self._send_to(alias, request)

    def _send_to(self, alias: str, request: dict[str, Json]) -> Json:
        # Aliases of one kind exist for those who were granted that kind; the others are for administrators, of this
        # workflow or of all workflows that share the control function.
        names = (control_alias_name(each, self.workflow) for each in (alias, ControlAlias.OPERATE))
        named = {**request, WORKFLOW: self.workflow}
        ways = [*((name, request) for name in names), (ControlAlias.OPERATE.value, named)]
        refused: RouteGone | None = None
        for name, content in ways:
            try:
                return send_request(self.caller, f"{self.control_alias}:{name}", content, *_ERRORS)
            except RouteGone as gone:
                refused = refused or gone
        assert refused is not None  # noqa: S101 - every way failed
        raise refused


def checked_on(on: On | str | None) -> On | None:
    """Return the versions named `on`; None for none.

    Raises:
        ClientError: unknown name.
    """
    if on is not None and on not in list(On):
        raise ClientError(f"on: expected one of {[*map(str, On)]}, or None, got {on!r}")
    return None if on is None else On(on)


def _time(ms: int | None) -> datetime | None:
    return None if ms is None else to_datetime(ms)


def _parse_waits(answer: Json) -> Waits:
    return Waits(
        count=answer["count"],
        missing=tuple(map(_parse_missing, answer["missing"])),
        is_done=answer.get("is_done", True),
    )


def _parse_missing(line: Json) -> Missing:
    until_ms, throttled_ms = line.get("until_ms"), line.get(THROTTLED_MS)
    return Missing(
        invocation=line["invocation"],
        state=line["state"],
        index=tuple(line["index"]),
        waits_for=WaitsFor(line["waits_for"]),
        since=to_datetime(line["since_ms"]),
        until=None if until_ms is None else to_datetime(until_ms),
        job=line.get("job"),
        signal=line.get("signal"),
        throttled_since=None if throttled_ms is None else to_datetime(throttled_ms),
    )


REDRIVABLE = (Status.FAILED, Status.TIMED_OUT, Status.ABORTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedriveResult:
    """Result of one redrive.

    Attributes:
        name: execution name.
        redriven: time of the redrive, with the versions and the reason of their choice; None if it was refused.
        error: name of the error; None if it was redriven.
        message: text of the error for humans; None if it was redriven.
    """

    name: str
    redriven: Redriven | None
    error: str | None = None
    message: str | None = None


def redrive_all(
    page: Callable[..., ExecutionPage],
    redrive: Callable[..., Redriven],
    status: Status | str,
    *,
    since: datetime | None = None,
    on: On | str | None = None,
) -> Iterator[RedriveResult]:
    """Redrive executions with one status; yield each result. A refused execution does not stop the others.

    Args:
        page: returns a page of the list, as `Client.list`.
        redrive: redrives one execution, as `Control.redrive`.
        status: FAILED, TIMED_OUT or ABORTED.
        since: earliest end, with a time zone; None for all that are listed.
        on: as in `Control.redrive`.

    Raises:
        ClientError: another status or another `on`, or `since` has no time zone.
        NoIndex: the table has no index for lists; the text says how to add it.
        StoreError: the index could not be read.
    """
    if status not in REDRIVABLE:
        raise ClientError(f"status: expected one of {[*map(str, REDRIVABLE)]}, which can be redriven, got {status!r}")
    if since is not None and since.tzinfo is None:
        raise ClientError(f"since: expected a time with a time zone, got {since!r}")
    # All names are read before the first redrive, which changes the list.
    names = [each.name for each in _listed(status, page) if since is None or (each.stopped_at or since) >= since]
    return _results(names, partial(redrive, on=checked_on(on)))


def _results(names: list[str], redrive: Callable[[str], Redriven]) -> Iterator[RedriveResult]:
    for name in names:
        try:
            yield RedriveResult(name=name, redriven=redrive(name))
        except UnumError as error:
            yield RedriveResult(name=name, redriven=None, error=type(error).__name__, message=str(error))


def _listed(status: Status | str, page: Callable[..., ExecutionPage]) -> Iterator[ListedExecution]:
    found = page(status, limit=0)
    yield from found.executions
    while found.token is not None:
        found = page(status, limit=0, token=found.token)
        yield from found.executions
