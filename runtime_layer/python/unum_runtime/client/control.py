"""What people do to executions: stop, redrive, nudge and fork them, and ask what they wait for.

It needs no access to the workflow's table: everything goes through the control alias, which the caller must be allowed
to invoke.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from unum_runtime.client.address import check_alias
from unum_runtime.client.descriptions import Started, moment
from unum_runtime.client.task_responses import Caller
from unum_runtime.errors import (
    ClientError,
    ExecutionAlreadyExists,
    ExecutionDoesNotExist,
    ExecutionNotRedrivable,
    NodeNotForkable,
)
from unum_runtime.model.checkpoint import to_text
from unum_runtime.model.ir import Json
from unum_runtime.protocol.control import operator_requests
from unum_runtime.protocol.control.operator_requests import ValidationException, VersionGone
from unum_runtime.protocol.history.pending import WaitsFor
from unum_runtime.protocol.history.start_records import checked_input, checked_name

if TYPE_CHECKING:
    from boto3 import Session

_ERRORS = {
    each.__name__: each
    for each in (
        ExecutionAlreadyExists,
        ExecutionDoesNotExist,
        ExecutionNotRedrivable,
        NodeNotForkable,
        ValidationException,
        VersionGone,
    )
}

_AS_BEFORE = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A commit that an execution waits for.

    Attributes:
        invocation: its name.
        state: the state that is to come to it.
        index: which branch of each fan-out around it, outermost first, from 0; empty at the top level.
        waits_for: what has to come first.
        since: when the commit before it was made.
        until: when its time comes; of a job, by when it is looked at; else None.
        job: what its service is asked by that works on it; None where there is none.
    """

    invocation: str
    state: str
    index: tuple[int, ...]
    waits_for: WaitsFor
    since: datetime
    until: datetime | None
    job: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """What an execution waits for.

    Attributes:
        count: how many commits; 0 if it has ended.
        missing: the first of them.
    """

    count: int
    missing: tuple[Missing, ...]


@dataclass(frozen=True, kw_only=True)
class Control:
    """Controls the executions of one workflow; safe to use from several threads.

    Attributes:
        caller: reaches the control alias.
        control_alias: ARN of the workflow's control alias.
    """

    caller: Caller
    control_alias: str

    @classmethod
    def connect(cls, *, control_alias: str, session: "Session | None" = None) -> "Control":
        """What controls a workflow on AWS; needs boto3 (``pip install 'unum-runtime[client]'``).

        Args:
            control_alias: ARN of the workflow's control alias, as the stack's output ``ControlAlias`` has it.
            session: where credentials and region come from; boto3's default without.

        Raises:
            ClientError: `control_alias` is no ARN of an alias.
        """
        check_alias("control_alias", control_alias)
        import boto3  # noqa: PLC0415 - so that everything else runs where no AWS client is installed
        from botocore.config import Config  # noqa: PLC0415 - the same

        from unum_runtime.aws.caller import LONGEST_CALL_S, LambdaCaller  # noqa: PLC0415 - imports botocore

        config = Config(retries={"mode": "standard", "max_attempts": 3}, read_timeout=LONGEST_CALL_S)
        functions: Any = (session or boto3.Session()).client("lambda", config=config)
        return cls(caller=LambdaCaller(functions), control_alias=control_alias)

    def stop(self, name: str, error: str | None = None, cause: str | None = None) -> datetime:
        """Stop an execution: what runs may run to its end, but nothing new starts.

        Args:
            name: of the execution.
            error: name of the error that it is to come to.
            cause: text for humans.

        Returns:
            When it was stopped; or ended, if that was before.

        Raises:
            ExecutionDoesNotExist: there is none of that name.
            InvokeError: it is not known whether it was stopped; call again.
        """
        return moment(self._ask(operator_requests.Control.STOP, name, error=error, cause=cause)["stopped_ms"])

    def redrive(self, name: str) -> datetime:
        """Let an execution that failed go on: what has succeeded is kept, and what failed runs again.

        Args:
            name: of the execution.

        Returns:
            When it was redriven.

        Raises:
            ExecutionDoesNotExist: there is none of that name.
            ExecutionNotRedrivable: it did not fail, its time is over, or nothing of it could run again.
            VersionGone: nothing is left of the version that it runs on.
            InvokeError: it is not known whether it goes on; call again.
        """
        return moment(self._ask(operator_requests.Control.REDRIVE, name)["redriven_ms"])

    def nudge(self, name: str) -> Waits:
        """Send what an execution waits for once more, unless somebody has its token; jobs are looked at.

        That is as safe as a late delivery; user code that runs at this moment may run beside itself.

        Args:
            name: of the execution.

        Returns:
            What it waits for.

        Raises:
            ExecutionDoesNotExist: there is none of that name.
            VersionGone: nothing is left of the version that it runs on.
            InvokeError: it is not known whether everything was sent; call again.
        """
        return _waits(self._ask(operator_requests.Control.NUDGE, name))

    def why(self, name: str) -> Waits:
        """What an execution waits for; nothing is sent.

        Raises:
            ExecutionDoesNotExist: there is none of that name.
            VersionGone: nothing is left of the version that it runs on.
            InvokeError: it is not known; call again.
        """
        return _waits(self._ask(operator_requests.Control.WHY, name))

    def fork(
        self,
        name: str,
        *,
        from_node: str,
        new_name: str,
        input: object = _AS_BEFORE,  # noqa: A002 - as in `Client.start`
        visit: int = 1,
    ) -> Started:
        """Start an execution that takes over what another one had come to before a state.

        It runs on the functions that are deployed now. The same call again finds the execution that is there.

        Args:
            name: of the execution that is there.
            from_node: the Task, Map or Parallel of its top level to begin with.
            new_name: of the new execution.
            input: what the state is entered with, any JSON; what it was entered with before, if it is not given.
            visit: which visit of the state, from 1.

        Raises:
            ExecutionDoesNotExist: there is none to fork.
            ExecutionAlreadyExists: the new name is that of another execution.
            NodeNotForkable: the execution has not come to that state, or another input is needed.
            InvalidExecutionInput: `input` is not JSON or too large.
            InvalidName: `new_name` is not 1 to 80 characters from ``A-Z a-z 0-9 - _``.
            InvokeError: it is not known whether the execution exists; call again.
        """
        content = {} if input is _AS_BEFORE else {"input": checked_input(input)}
        asked = {"node": from_node, "name": checked_name(new_name), "visit": visit, **content}
        answer = self._ask(operator_requests.Control.FORK, name, **asked)
        return Started(name=answer["execution"], started_at=moment(answer["started_ms"]), is_new=True)

    def _ask(self, what: operator_requests.Control, execution: str, /, **content: Json) -> Json:
        """Ask for `what`, and return the answer.

        Raises:
            ClientError: it cannot be done.
        """
        event = to_text(operator_requests.request(what, execution, **content)).encode()
        answer = self.caller.call(self.control_alias, event)
        if "error" in answer:
            raise _ERRORS.get(answer["error"], ClientError)(answer["message"])
        return answer


def _waits(answer: Json) -> Waits:
    return Waits(count=answer["count"], missing=tuple(map(_missing, answer["missing"])))


def _missing(line: Json) -> Missing:
    until_ms = line.get("until_ms")
    return Missing(
        invocation=line["invocation"],
        state=line["state"],
        index=tuple(line["index"]),
        waits_for=WaitsFor(line["waits_for"]),
        since=moment(line["since_ms"]),
        until=None if until_ms is None else moment(until_ms),
        job=line.get("job"),
    )
