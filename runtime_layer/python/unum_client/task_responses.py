"""Answers for waiting Tasks: callbacks by task token, and workers of activities.

No access to the workflow's table is needed: all requests go through the response alias. The caller must be allowed to
invoke it, and a worker to receive messages of its activity's queue.
"""

import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NotRequired, TypedDict

from unum_client.address import check_alias, check_queues
from unum_client.alias_requests import Caller, send_request
from unum_client.polling import Waiter
from unum_runtime.errors import (
    ActivityDoesNotExist,
    InvalidOutput,
    InvalidToken,
    InvokeError,
    TaskTimedOut,
)
from unum_runtime.model.envelope import with_alias
from unum_runtime.model.naming import response_alias
from unum_runtime.model.states import Json
from unum_runtime.protocol.requests import respond

if TYPE_CHECKING:
    from boto3 import Session

    from unum_client.aws_clients import AwsClients
    from unum_runtime.features.activities import Activities

POLL_S = 60
"""Duration of `Tasks.get_activity_task`. Source: AWS Step Functions API Reference, GetActivityTask."""

LONGEST_RECEIVE_S = 20
"""Maximum of a long poll. Source: Amazon SQS API Reference, ReceiveMessage, WaitTimeSeconds."""

ATTEMPTS = 3
"""Maximum of attempts for a request without an answer."""

FIRST_PAUSE_S = 0.2


class ActivityTask(TypedDict):
    """Task token and Task input as JSON text; empty without a Task."""

    taskToken: NotRequired[str]
    input: NotRequired[str]


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """Answers for waiting Tasks of one workflow; safe to use from several threads.

    Methods and errors have the names of ``boto3.client("stepfunctions")``.

    Attributes:
        caller: connection to the response alias.
        response_alias: ARN of the workflow's response alias.
        activities: activities of this worker; None without any.
        waiter: clock and sleep function.
    """

    caller: Caller
    response_alias: str
    activities: "Activities | None" = None
    waiter: Waiter = field(default_factory=Waiter)

    @classmethod
    def connect(
        cls,
        *,
        start_alias: str,
        activities: Mapping[str, str] | None = None,
        session: "Session | AwsClients | None" = None,
    ) -> "Tasks":
        """Connect to a workflow on AWS.

        Args:
            start_alias: ARN of the workflow's start alias; the response alias belongs to the same function.
            activities: queue URLs by activity name; the stack's output ``Activities`` has them as JSON.
            session: source of credentials and region; default: boto3's.

        Raises:
            ClientError: `start_alias` is not the ARN of an alias, or `activities` are not URLs by name.
        """
        check_alias("start_alias", start_alias)
        check_queues(activities)
        from unum_client.aws_connection import AwsConnection  # noqa: PLC0415 - boto3 is optional

        aws = AwsConnection(session)
        # The name of the alias ends with the workflow's, which may be all that the caller knows of it.
        workflow = start_alias.rpartition(":")[2].removeprefix("start-")
        address = with_alias(start_alias, response_alias(workflow))
        return cls(caller=aws.caller(), response_alias=address, activities=aws.activities(activities))

    def send_task_success(self, task_token: str, output: str) -> None:
        """Complete the Task of `task_token`.

        Args:
            task_token: task token.
            output: Task result, JSON text of at most 380 KB.

        Raises:
            InvalidOutput: `output` is not JSON, or too large.
            InvalidToken: no Task of the workflow has that token.
            TaskTimedOut: the Task already has a result, or its timeout has passed.
            InvokeError: unknown whether the result arrived; call again.
        """
        self._send(task_token, output=output)

    def send_task_failure(self, task_token: str, error: str | None = None, cause: str | None = None) -> None:
        """Fail the Task of `task_token`.

        Args:
            task_token: task token.
            error: error name, for retriers and catchers.
            cause: text for humans.

        Raises:
            InvalidToken: no Task of the workflow has that token.
            TaskTimedOut: the Task already has a result, or its timeout has passed.
            InvokeError: unknown whether the failure arrived; call again.
        """
        self._send(task_token, error=error, cause=cause)

    def send_task_heartbeat(self, task_token: str) -> None:
        """Send a heartbeat for the Task of `task_token`, whose work continues.

        Raises:
            InvalidToken: no Task of the workflow has that token.
            TaskTimedOut: the Task already has a result, or its timeout has passed.
            InvokeError: unknown whether the heartbeat arrived; call again.
        """
        self._send(task_token, heartbeat=True)

    def get_activity_task(self, name: str, worker_name: str = "") -> ActivityTask:
        """Take a waiting Task of activity `name`, or wait up to a minute for one.

        The worker keeps the Task for good: if it dies, HeartbeatSeconds or TimeoutSeconds of the Task end the wait.

        Args:
            name: activity name.
            worker_name: name of the worker, for humans.

        Returns:
            ``taskToken`` and ``input``; an empty object without a Task.

        Raises:
            ActivityDoesNotExist: unknown activity.
            InvokeError: unknown whether the Task was taken; it may arrive again.
        """
        if self.activities is None or name not in self.activities.queues:
            known = sorted(self.activities.queues) if self.activities else "none"
            raise ActivityDoesNotExist(f"activity {name!r}: this client knows {known}")
        end_s = self.waiter.now_s() + POLL_S
        while (left_s := end_s - self.waiter.now_s()) > 0:
            # At least 1 s: with 0, SQS asks only some of its servers (Developer Guide, "Short and long polling").
            offer = self.activities.next(name, max(1, min(LONGEST_RECEIVE_S, round(left_s))))
            if offer is not None:
                # The queue may deliver a message twice; the claim in the table decides which worker gets the Task.
                is_ours = self._claim(offer.token, worker_name)
                with suppress(InvokeError):  # the message arrives again, and its claim is refused
                    self.activities.remove(name, offer)
                if is_ours:
                    return {"taskToken": offer.token, "input": offer.input}
        return {}

    def _claim(self, token: str, worker_name: str) -> bool:
        """Claim the Task; return False for a Task of another worker or one that no longer waits."""
        try:
            self._send(token, worker=worker_name)
        except (InvalidToken, TaskTimedOut):
            return False
        return True

    def _send(self, token: str, **content: Json) -> None:
        """Send a request until it is answered; the request ID makes a repetition harmless."""
        request = respond.request(token, request_id=uuid.uuid4().hex, **content)
        send = partial(
            send_request, self.caller, self.response_alias, request, InvalidOutput, InvalidToken, TaskTimedOut
        )
        for attempt in range(1, ATTEMPTS):
            try:
                send()
            except InvokeError:
                self.waiter.sleep(FIRST_PAUSE_S * 2 ** (attempt - 1))
            else:
                return
        send()
