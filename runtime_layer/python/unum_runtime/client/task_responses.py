"""What hands in the results of Tasks that wait: callbacks by task token, and workers of activities.

It needs no access to the workflow's table: everything goes through the start alias. Whoever answers must be allowed to
invoke that; a worker, to receive the messages of its activity's queue as well.
"""

import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NotRequired, Protocol, TypedDict

from unum_runtime.client.address import check_alias, check_queues
from unum_runtime.client.polling import Waiter
from unum_runtime.errors import (
    ActivityDoesNotExist,
    ClientError,
    InvalidOutput,
    InvalidToken,
    InvokeError,
    TaskTimedOut,
)
from unum_runtime.model.checkpoint import to_text
from unum_runtime.model.ir import Json
from unum_runtime.protocol.requests import start_alias

if TYPE_CHECKING:
    from boto3 import Session

    from unum_runtime.aws.activities import Activities

POLL_S = 60
"""How long `Tasks.get_activity_task` waits. Source: AWS Step Functions API Reference, GetActivityTask."""

LONGEST_RECEIVE_S = 20
"""Source: Amazon SQS API Reference, ReceiveMessage, WaitTimeSeconds."""

ATTEMPTS = 3
"""How often a request is sent that the function did not answer."""

FIRST_PAUSE_S = 0.2


class ActivityTask(TypedDict):
    """A Task's input as JSON text, and the token to answer with; empty where there was nothing to do."""

    taskToken: NotRequired[str]
    input: NotRequired[str]


class Caller(Protocol):
    """Invokes functions and waits for what they answer; see `unum_runtime.aws.caller`."""

    def call(self, address: str, payload: bytes) -> Json: ...  # noqa: D102 - see there


_ERRORS: Mapping[str, type[ClientError]] = {each.__name__: each for each in (InvalidToken, TaskTimedOut, InvalidOutput)}


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """Answers for Tasks of one workflow that wait; safe to use from several threads.

    Methods and errors are named as those of ``boto3.client("stepfunctions")``.

    Attributes:
        caller: reaches the start alias.
        start_alias: ARN of the workflow's start alias.
        activities: those that this client works for; None for none.
        waiter: passes the time between two attempts.
    """

    caller: Caller
    start_alias: str
    activities: "Activities | None" = None
    waiter: Waiter = field(default_factory=Waiter)

    @classmethod
    def connect(
        cls, *, start_alias: str, activities: Mapping[str, str] | None = None, session: "Session | None" = None
    ) -> "Tasks":
        """What answers for a workflow on AWS; needs boto3 (``pip install 'unum-runtime[client]'``).

        Args:
            start_alias: ARN of the workflow's start alias.
            activities: URLs of the activities' queues by name, as the stack's output ``Activities`` has them as JSON.
            session: where credentials and region come from; boto3's default without.

        Raises:
            ClientError: `start_alias` is no ARN of an alias, or `activities` are no URLs by name.
        """
        check_alias("start_alias", start_alias)
        check_queues(activities)
        import boto3  # noqa: PLC0415 - so that everything else runs where no AWS client is installed
        from botocore.config import Config  # noqa: PLC0415 - the same

        from unum_runtime.aws.activities import Activities  # noqa: PLC0415 - the same
        from unum_runtime.aws.caller import LambdaCaller  # noqa: PLC0415 - the same

        session = session or boto3.Session()
        config = Config(retries={"mode": "standard", "max_attempts": 5})
        functions: Any = session.client("lambda", config=config)
        queues: Any = session.client("sqs", config=config) if activities else None
        return cls(
            caller=LambdaCaller(functions),
            start_alias=start_alias,
            activities=Activities(queues, activities) if activities else None,
        )

    def send_task_success(self, task_token: str, output: str) -> None:
        """Let the Task that gave out `task_token` succeed.

        Args:
            task_token: the token.
            output: JSON text of at most 380 KB, the Task's result.

        Raises:
            InvalidOutput: `output` is not JSON, or too large.
            InvalidToken: no Task of the workflow gave out the token.
            TaskTimedOut: the Task has a result already, or its time is over.
            InvokeError: it is not known whether the result arrived; call again.
        """
        self._send(task_token, output=output)

    def send_task_failure(self, task_token: str, error: str | None = None, cause: str | None = None) -> None:
        """Let the Task that gave out `task_token` fail.

        Args:
            task_token: the token.
            error: name of the error, for retriers and catchers.
            cause: text for humans.

        Raises:
            InvalidToken: no Task of the workflow gave out the token.
            TaskTimedOut: the Task has a result already, or its time is over.
            InvokeError: it is not known whether the failure arrived; call again.
        """
        self._send(task_token, error=error, cause=cause)

    def send_task_heartbeat(self, task_token: str) -> None:
        """Tell the Task that gave out `task_token` that its work is being done.

        Raises:
            InvalidToken: no Task of the workflow gave out the token.
            TaskTimedOut: the Task has a result already, or its time is over.
            InvokeError: it is not known whether the heartbeat arrived; call again.
        """
        self._send(task_token, heartbeat=True)

    def get_activity_task(self, name: str, worker_name: str = "") -> ActivityTask:
        """A Task of the activity `name` that nobody else has taken; waits for one for up to a minute.

        Whoever gets a Task has it for good: if it dies, the Task's HeartbeatSeconds or TimeoutSeconds find out.

        Args:
            name: of the activity.
            worker_name: who asks, for humans.

        Returns:
            ``taskToken`` and ``input``; an empty object where there was nothing to do.

        Raises:
            ActivityDoesNotExist: there is no such activity.
            InvokeError: it is not known whether the Task was taken; it may come again.
        """
        if self.activities is None or name not in self.activities.queues:
            there = sorted(self.activities.queues) if self.activities else "none"
            raise ActivityDoesNotExist(f"activity {name!r}: this client knows {there}")
        end_s = self.waiter.now_s() + POLL_S
        while (left_s := end_s - self.waiter.now_s()) > 0:
            offer = self.activities.next(name, max(1, min(LONGEST_RECEIVE_S, round(left_s))))
            if offer is not None:
                is_ours = self._taken(offer.token, worker_name)
                with suppress(InvokeError):  # then it comes again, and is refused
                    self.activities.remove(name, offer)
                if is_ours:
                    return {"taskToken": offer.token, "input": offer.input}
        return {}

    def _taken(self, token: str, worker_name: str) -> bool:
        """Whether the Task is ours now; not if another worker has it, or it waits no longer."""
        try:
            self._send(token, worker=worker_name)
        except (InvalidToken, TaskTimedOut):
            return False
        return True

    def _send(self, token: str, **content: Json) -> None:
        """Send a request until it is answered; a repetition has the same name, and so does nothing twice."""
        event = to_text(start_alias.request(token, request_id=uuid.uuid4().hex, **content)).encode()
        for attempt in range(1, ATTEMPTS):
            try:
                return _check(self.caller.call(self.start_alias, event))
            except InvokeError:
                self.waiter.sleep(FIRST_PAUSE_S * 2 ** (attempt - 1))
        return _check(self.caller.call(self.start_alias, event))


def _check(answer: Json) -> None:
    """Raise what the answer says.

    Raises:
        ClientError: the error.
    """
    if "error" in answer:
        raise _ERRORS.get(answer["error"], ClientError)(answer["message"])
