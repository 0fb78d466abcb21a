"""Start and read executions through the workflow's aliases; read their steps in its table."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unum_client.address import check_address, check_queues
from unum_client.control import Control, Deletion, Redriven, RedriveResult, StartsPause, Waits, redrive_all
from unum_client.deliveries import to_datetime
from unum_client.descriptions import Description, Started, Step
from unum_client.past_reader import (
    AskedDescriptions,
    Descriptions,
    NoTable,
    PastReader,
    StoredDescriptions,
    descriptions_by,
)
from unum_client.polling import Pauses, Waiter
from unum_client.reading import stored_steps
from unum_client.reading.execution_list import ExecutionPage, Listing, checked_status
from unum_client.reading.page_tokens import checked_size
from unum_client.reading.progress import Progress
from unum_client.remembered_results import (
    RememberedPage,
    RememberedResult,
    forget_results,
    list_results,
    show_result,
)
from unum_client.sending_signals import Signalled, SignalledByKey
from unum_client.starting import Starts
from unum_client.task_calls import Call
from unum_client.task_responses import ActivityTask, Tasks
from unum_runtime.clock import Clock, SystemClock
from unum_runtime.errors import ClientError, NoIndex
from unum_runtime.model.checkpoint import Checkpoint, Status
from unum_runtime.model.envelope import with_alias
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Name, run_alias
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.operator_requests import On
from unum_runtime.protocol.history.start_records import as_attributes, as_json, checked_name
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S
from unum_runtime.store.base import Index, Store

if TYPE_CHECKING:
    from datetime import datetime

    from boto3 import Session

    from unum_client.aws_clients import AwsClients


@dataclass(frozen=True, kw_only=True)
class Client(PastReader):
    """Client of one deployed workflow; safe to use from several threads.

    Attributes:
        store: workflow's store.
        workflow: workflow name.
        starts: connection to the run alias; None for a read-only client.
        descriptions: source of descriptions; None for the store.
        start_alias: ARN of the start alias, which ARNs of executions are derived from; None if unknown.
        retention_s: retention of the workflow's items in seconds, for receipts.
        clock: current time.
        waiter: clock and sleep function of polls.
        tasks: answers for waiting Tasks; None for a read-only client.
        control: requests of operators; None without these.
        index: store's index for lists of executions; None without one.
    """

    store: Store
    workflow: str
    starts: Starts | None = None
    descriptions: Descriptions | None = None
    start_alias: str | None = None
    retention_s: int = DEFAULT_RETENTION_S
    clock: Clock = field(default_factory=SystemClock)
    waiter: Waiter = field(default_factory=Waiter)
    tasks: Tasks | None = None
    control: Control | None = None
    index: Index | None = None

    @classmethod
    def connect(  # noqa: PLR0913 - keyword-only address of a workflow
        cls,
        *,
        workflow: str,
        table: str | None = None,
        start_alias: str | None = None,
        describe_alias: str | None = None,
        session: "Session | AwsClients | None" = None,
        retention_s: int = DEFAULT_RETENTION_S,
        activities: Mapping[str, str] | None = None,
        control_alias: str | None = None,
        payload_bucket: str | None = None,
    ) -> "Client":
        """Connect to a workflow on AWS.

        Args:
            workflow: workflow name.
            table: name or ARN of the workflow's DynamoDB table; None for a client that reads no steps and no lists.
            start_alias: ARN of the start alias; the run alias and the response alias belong to the same function. None
                for a client that neither starts executions nor answers Tasks.
            describe_alias: ARN of the describe alias; None for descriptions from the table.
            session: source of credentials and region; default: boto3's.
            retention_s: retention of the workflow's items in seconds, for receipts.
            activities: queue URLs by activity name, for workers.
            control_alias: ARN of the control function; None for a client without control.
            payload_bucket: name of the payload bucket, if the workflow has one; without it, steps with large values
                cannot be read.

        Raises:
            ClientError: an argument cannot belong to a workflow; the text names it.
        """
        aliases = {"start_alias": start_alias, "control_alias": control_alias, "describe_alias": describe_alias}
        check_address(table, workflow, retention_s, payload_bucket, **aliases)
        check_queues(activities)
        from unum_client.aws_connection import AwsConnection  # noqa: PLC0415 - boto3 is optional

        aws = AwsConnection(session)
        store, index = (NoTable(), None) if table is None else aws.open_stores(table, workflow, payload_bucket)
        starts = tasks = control = descriptions = None
        if start_alias is not None:
            run = with_alias(start_alias, run_alias(workflow))
            starts = Starts(caller=aws.caller(), invoker=aws.invoker(), run_alias=run)
            tasks = Tasks.connect(start_alias=start_alias, activities=activities, session=aws.clients)
        if describe_alias is not None:
            descriptions = AskedDescriptions(caller=aws.caller(), describe_alias=describe_alias)
        if control_alias is not None:
            control = Control.connect(control_alias=control_alias, workflow=workflow, session=aws.clients)
        return cls(
            store=store,
            index=index,
            workflow=workflow,
            starts=starts,
            descriptions=descriptions,
            start_alias=start_alias,
            retention_s=retention_s,
            tasks=tasks,
            control=control,
        )

    def start(
        self,
        input: object,  # noqa: A002 - boto3 calls it so
        *,
        name: str | None = None,
        lease: bool = False,
        force: bool = False,
        attributes: Mapping[str, str] | None = None,
    ) -> Started:
        """Start an execution, or find the earlier one with the same name and input.

        An execution that has not ended is invoked again, which is always safe: after an unknown result, call again with
        the same name. Under eager collection, such a call repairs lost events only up to the first tombstone; later
        ones are in the failure queue.

        Clients that start the same name share its result in any case. With a lease they also share the work of its
        first step: while one client's request starts the execution, the others wait until it has begun, or until the
        lease is free because that request was lost. A lease costs two more writes and can take as long as the first
        step, so it is not the default.

        Args:
            input: any JSON of at most 380 KB, or of any size if the workflow has a payload bucket.
            name: name, unique in the workflow; default: a random one.
            lease: True to share the start with other clients that use leases.
            force: True for an execution whose Tasks compute memoized results anew, and replace those that are stored.
            attributes: texts to find the execution by; they win over the definition's. One that exists keeps its own.

        Raises:
            InvalidName: `name` is not 1 to 80 characters from ``A-Z a-z 0-9 - _``.
            InvalidExecutionInput: `input` is not JSON, or too large; or `attributes` are beyond their bounds.
            ExecutionAlreadyExists: the name was started with another input, or another `force`.
            StartsPaused: the workflow is paused; the text says since when and why.
            InvokeError: unknown whether the execution exists, and whether it has begun; call again with the same name.
        """
        name, value = self._checked(input, name)
        checked, pauses = as_attributes(attributes), self._pauses(name, None)
        answer = self._starts.start(name, value, lease=lease, force=force, attributes=checked, pauses=pauses)
        return Started(name=name, started_at=to_datetime(answer["StartDate"]), is_new=answer["IsNew"])

    def submit(
        self,
        input: object,  # noqa: A002 - as in `start`
        *,
        name: str | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> str:
        """Start an execution without waiting for what becomes of the start; return its name.

        It costs one invocation less than `start`. A name that was started with another input is refused, and becomes a
        dead letter. While the workflow is paused, Lambda keeps the request, and a sweep after the pause starts the
        execution. Without a payload bucket, an input of more than 380 KB makes an execution that fails.

        Args:
            input: any JSON.
            name: name, unique in the workflow; default: a random one.
            attributes: as in `start`.

        Raises:
            InvalidName: `name` is not 1 to 80 characters from ``A-Z a-z 0-9 - _``.
            InvalidExecutionInput: `input` is not JSON, or has more than 1 MB and the workflow no payload bucket.
            InvokeError: unknown whether Lambda accepted the request; call again with the same name.
        """
        name, value = self._checked(input, name)
        self._starts.submit(name, value, as_attributes(attributes))
        return name

    def run(
        self,
        input: object,  # noqa: A002 - as in `start`
        *,
        name: str | None = None,
        timeout_s: float | None = None,
        on_step: Callable[[Step], None] | None = None,
        force: bool = False,
        attributes: Mapping[str, str] | None = None,
    ) -> Description:
        """Start an execution and wait for its end; concurrent runs of the same name share it.

        The start uses a lease, as in `start`. It expires within a minute if the request is lost before the execution
        has begun.

        Args:
            input: any JSON of at most 380 KB, or of any size if the workflow has a payload bucket.
            name: name, unique in the workflow; default: a random one.
            timeout_s: limit of the wait, in seconds; None for no limit.
            on_step: callback for each committed step, read from the table.
            force: as in `start`.
            attributes: as in `start`.

        Raises:
            InvalidName: `name` is not 1 to 80 characters from ``A-Z a-z 0-9 - _``.
            InvalidExecutionInput: `input` is not JSON, or too large.
            ExecutionAlreadyExists: the name was started with another input.
            StartsPaused: the workflow is paused; the text says since when and why.
            StoreError: unknown progress; call again with the same name.
            InvokeError: unknown whether the execution exists, and whether it has begun; call again with the same name.
            WaitTimedOut: the execution was still running after `timeout_s`.
        """
        begun_s = self.waiter.now_s()  # before the start: `timeout_s` covers start and wait
        name, value = self._checked(input, name)
        checked, pauses = as_attributes(attributes), self._pauses(name, timeout_s)
        answer = self._starts.start(name, value, lease=True, force=force, attributes=checked, pauses=pauses)
        left_s = None if timeout_s is None else begun_s + timeout_s - self.waiter.now_s()
        reader = self.descriptions or descriptions_by(answer, self._starts.caller) or self._descriptions
        return self._wait(name, reader, left_s, on_step)

    def begin_call(self, state: str, arguments: object) -> Call:
        """Call the Task `state` on `arguments`, without waiting; equal calls share one run and its result.

        The Task's function gets `arguments` as its event, and what it returns is the result. Its `Memoization` says
        which calls are equal and how long the result lasts. Retriers and time limit of the Task hold; its data flow
        and its catchers do not. Failures are not remembered: calls that wait share them, and a later one runs anew.

        Args:
            state: name of a Task with `memoize`, at any place of the definition.
            arguments: any JSON.

        Raises:
            ClientError: `state` cannot be called; the text says why.
            InvalidExecutionInput: `arguments` are not JSON, too large, or lack a value of the `Memoization`'s key.
            StartsPaused: the workflow is paused, and the result is not remembered.
            InvokeError: unknown whether a run has begun; call again.
        """
        return Call(send=self._control.send, waiter=self.waiter, state=state, arguments=as_json(arguments))

    def call(self, state: str, arguments: object, *, timeout_s: float | None = None) -> Json:
        """Call the Task `state` on `arguments`, and return its result; see `begin_call` and `Call.result`."""
        return self.begin_call(state, arguments).result(timeout_s=timeout_s)

    def describe(self, name: str) -> Description:
        """Return the current description of an execution.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
        """
        return self._descriptions.describe(name)

    def describe_pause(self) -> StartsPause | None:
        """Return begin and reason of the current pause; None while the workflow starts executions.

        Raises:
            StoreError, InvokeError: no answer; call again.
        """
        return self._descriptions.pause()

    def redriven_at(self, name: str) -> "tuple[datetime, ...]":
        """Return the times of all redrives, read from all steps of the top level: no index has them.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
        """
        steps = stored_steps.redrives(self.store, self.workflow, self._record(name).name.execution)
        return tuple(to_datetime(step.committed_ms) for step in steps)

    def list(
        self,
        status: Status | str | None = None,
        *,
        limit: int = 0,
        token: str | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> ExecutionPage:
        """Return a page of executions, newest first; eventually consistent.

        Args:
            status: required status; None for any.
            attributes: required attributes, read in start records; an empty mapping requires none. None reads none.
            limit: page size up to 1,000; 0 for 100. A page may have fewer executions although more pages follow.
            token: token of the previous page; None for the first page.

        Raises:
            InvalidToken: `token` belongs to another list.
            ClientError: unknown status, or page size out of range.
            NoIndex: the table has no index for lists; the text says how to add it.
            StoreError: the index could not be read.
        """
        if self.index is None:
            raise NoIndex("index: expected the store's, got None; this client cannot list executions")
        listing, wanted = Listing(self.index, self.workflow), attributes and as_attributes(attributes)
        return listing.page(checked_status(status), limit=checked_size(limit), token=token, attributes=wanted)

    def watch(self, name: str, *, timeout_s: float | None = None) -> Iterator[Step]:
        """Yield each step once, after its commit, until the execution has ended.

        Args:
            name: execution name.
            timeout_s: limit in seconds; None for no limit.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
            WaitTimedOut: the execution was still running after `timeout_s`.
        """
        record = self._record(name)
        seen: set[Name] = set()
        for pauses in self._polls(record, timeout_s):
            fresh = [checkpoint for checkpoint in self._steps(record.name.execution) if checkpoint.name not in seen]
            seen.update(checkpoint.name for checkpoint in fresh)
            # By time: the store lists steps by name, fan-out after fan-out.
            yield from map(Step.of, sorted(fresh, key=lambda checkpoint: checkpoint.committed_ms))
            if fresh:
                pauses.restart()

    def watch_progress(
        self, name: str, definition: Workflow | None = None, *, timeout_s: float | None = None
    ) -> Iterator[Mapping[str, Progress]]:
        """Yield progress by state: first now, then after each change, until the execution has ended.

        Args:
            name: execution name.
            definition: definition of the execution's version; default: `definition` from the store.
            timeout_s: limit in seconds; None for no limit.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
            ClientError: the execution runs on another version than `definition`, or none is stored.
            WaitTimedOut: the execution was still running after `timeout_s`.
        """
        last, definition = None, definition or self.definition(name)
        for pauses in self._polls(self._record(name), timeout_s):
            current = self.progress(name, definition)
            if current != last:
                yield current
                pauses.restart()
            last = current

    def wait(
        self, name: str, *, timeout_s: float | None = None, on_step: Callable[[Step], None] | None = None
    ) -> Description:
        """Wait until the execution has ended; return its description.

        Args:
            name: execution name.
            timeout_s: limit in seconds; None for no limit.
            on_step: callback for each committed step, read from the table; without it, each poll reads two items.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
            WaitTimedOut: the execution was still running after `timeout_s`.
        """
        return self._wait(name, self._descriptions, timeout_s, on_step)

    def send_task_success(self, task_token: str, output: str) -> None:
        """Complete a waiting Task; see `Tasks.send_task_success`."""
        self._tasks.send_task_success(task_token, output)

    def send_task_failure(self, task_token: str, error: str | None = None, cause: str | None = None) -> None:
        """Fail a waiting Task; see `Tasks.send_task_failure`."""
        self._tasks.send_task_failure(task_token, error, cause)

    def send_task_heartbeat(self, task_token: str) -> None:
        """Send a heartbeat for a waiting Task; see `Tasks.send_task_heartbeat`."""
        self._tasks.send_task_heartbeat(task_token)

    def get_activity_task(self, name: str, worker_name: str = "") -> ActivityTask:
        """Take a Task of an activity; see `Tasks.get_activity_task`."""
        return self._tasks.get_activity_task(name, worker_name)

    def stop(self, name: str, error: str | None = None, cause: str | None = None) -> "datetime":
        """Stop an execution; see `Control.stop`."""
        return self._control.stop(name, error, cause)

    def redrive(self, name: str, *, on: On | str | None = None) -> Redriven:
        """Resume a failed execution; see `Control.redrive`."""
        return self._control.redrive(name, on=on)

    def redrive_all(self, status: Status | str = Status.FAILED, **more: Any) -> Iterator[RedriveResult]:
        """Resume all executions of a status; see `redrive_many.redrive_all`, also for `since` and `on`."""
        return redrive_all(self.list, self._control.redrive, status, **more)

    def delete_execution(self, name: str) -> Deletion:
        """Delete an execution that has ended; see `Control.delete_execution`."""
        return self._control.delete_execution(name)

    def nudge(self, name: str) -> Waits:
        """Resend pending events; see `Control.nudge`."""
        return self._control.nudge(name)

    def why(self, name: str) -> Waits:
        """Return missing commits; see `Control.why`."""
        return self._control.why(name)

    def fork(self, name: str, *, from_node: str, new_name: str, **more: Any) -> Started:
        """Fork an execution; see `Control.fork`, also for `input` and `visit`."""
        return self._control.fork(name, from_node=from_node, new_name=new_name, **more)

    def signal(self, execution: str, name: str, value: object = None, **more: Any) -> Signalled:
        """Send a signal to an execution; see `Control.signal`, also for `key` and `id`."""
        return self._control.signal(execution, name, value, **more)

    def signal_by_key(self, name: str, key: str, value: object = None, **more: Any) -> SignalledByKey:
        """Send a signal to all executions that wait for it; see `Control.signal_by_key`, also for `id` and `keep_s`."""
        return self._control.signal_by_key(name, key, value, **more)

    def pause_starts(self, reason: str) -> StartsPause:
        """Start no executions from now on; see `Control.pause_starts`."""
        return self._control.pause_starts(reason)

    def resume_starts(self) -> StartsPause | None:
        """Start executions again; see `Control.resume_starts`."""
        return self._control.resume_starts()

    def remembered(self, state: str | None = None, *, limit: int = 0, token: str | None = None) -> RememberedPage:
        """Return a page of memoized results; see `remembered_results.list_results`."""
        return list_results(self._control.send, state, limit=limit, token=token)

    def remembered_result(self, state: str, key: str) -> RememberedResult:
        """Return a memoized result with its value; see `remembered_results.show_result`."""
        return show_result(self._control.send, state, key)

    def forget(self, state: str, key: str | None = None) -> int:
        """Forget a memoized result, or all of a Task; see `remembered_results.forget_results`."""
        return forget_results(self._control.send, state, key)

    @property
    def _tasks(self) -> Tasks:
        if self.tasks is None:
            raise ClientError("start_alias: expected the ARN of the start alias, got None; this client is read-only")
        return self.tasks

    @property
    def _starts(self) -> Starts:
        if self.starts is None:
            raise ClientError("start_alias: expected the ARN of the start alias, got None; this client is read-only")
        return self.starts

    @property
    def _descriptions(self) -> Descriptions:
        return self.descriptions or StoredDescriptions(store=self.store, workflow=self.workflow)

    def _checked(self, value: object, name: str | None) -> tuple[str, Json]:
        return checked_name(str(uuid.uuid4()) if name is None else name), as_json(value)

    def _wait(
        self, name: str, reader: Descriptions, timeout_s: float | None, on_step: Callable[[Step], None] | None
    ) -> Description:
        pauses = self._pauses(name, timeout_s)
        if on_step is not None:
            for step in self.watch(name, timeout_s=timeout_s):
                on_step(step)
        while reader.status(name) is Status.RUNNING:
            pauses.pause()
        return reader.describe(name)

    def _polls(self, record: Checkpoint, timeout_s: float | None) -> Iterator[Pauses]:
        """Yield the pauses once per poll until the execution has ended, and pause after each poll."""
        pauses = self._pauses(record.name.execution.name, timeout_s)
        while True:
            # Read before the caller reads steps: an ended execution has no later commits, so none is missed.
            has_ended = self._describe(record).status is not Status.RUNNING
            yield pauses
            if has_ended:
                return
            pauses.pause()

    def _describe(self, record: Checkpoint) -> Description:
        return Description.of(record, stored_steps.last_step(self.store, self.workflow, record.name.execution))

    def _pauses(self, name: str, timeout_s: float | None) -> Pauses:
        return Pauses(execution_name=name, timeout_s=timeout_s, waiter=self.waiter)
