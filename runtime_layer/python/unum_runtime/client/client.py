"""Starting executions and asking for them, from anywhere that reaches the workflow's table and start alias."""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from unum_runtime.client.address import check_address, check_queues
from unum_runtime.client.control import Control, Waits
from unum_runtime.client.descriptions import Description, Started, Step, moment
from unum_runtime.client.polling import Pauses, Waiter
from unum_runtime.client.reading import stored_steps
from unum_runtime.client.reading.execution_list import ExecutionPage, Listing, checked_status
from unum_runtime.client.reading.map_runs import MapRun, map_runs
from unum_runtime.client.reading.page_tokens import checked_size
from unum_runtime.client.reading.progress import Progress, progress
from unum_runtime.client.sharing import START_LEASE_MS, Sharing
from unum_runtime.client.task_responses import ActivityTask, Tasks
from unum_runtime.clock import Clock, SystemClock
from unum_runtime.errors import ClientError, NoIndex, StoreError
from unum_runtime.model.checkpoint import Checkpoint, Status, start_record, to_text
from unum_runtime.model.envelope import Writer, start_request
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Execution, Name, lease_key, start_key
from unum_runtime.protocol.delivery.lease import Lease, maintain_by_default
from unum_runtime.protocol.history.start_records import checked_input, checked_name, recorded
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S, Invoker
from unum_runtime.store.base import Index, Store
from unum_runtime.store.large_items import LargeItems

if TYPE_CHECKING:
    from datetime import datetime

    from boto3 import Session


@dataclass(frozen=True, kw_only=True)
class Client:
    """A client of one deployed workflow; safe to use from several threads.

    Attributes:
        store: the workflow's store.
        workflow: name of the workflow.
        invoker: reaches the start alias.
        start_alias: ARN of the workflow's start alias; None for a client that only looks.
        retention_s: how long the start record is kept, in seconds; as long as the workflow keeps its items.
        clock: tells when an execution starts.
        waiter: passes the time between two looks.
        maintain_leases: whether a thread renews the lease on a start while `run` waits; by default, unless the
            environment has ``UNUM_MAINTAIN_LEASES=0``.
        tasks: answers for Tasks that wait for somebody; None for a client that only looks.
        control: stops, redrives, nudges and forks executions; None for a client that does not.
        index: of the store, to list executions; None where there is none.
    """

    store: Store
    workflow: str
    invoker: Invoker
    start_alias: str | None = None
    retention_s: int = DEFAULT_RETENTION_S
    clock: Clock = field(default_factory=SystemClock)
    waiter: Waiter = field(default_factory=Waiter)
    maintain_leases: bool = field(default_factory=maintain_by_default)
    tasks: Tasks | None = None
    control: Control | None = None
    index: Index | None = None

    @classmethod
    def connect(  # noqa: PLR0913 - where a workflow is, by name
        cls,
        *,
        table: str,
        workflow: str,
        start_alias: str | None = None,
        session: "Session | None" = None,
        retention_s: int = DEFAULT_RETENTION_S,
        activities: Mapping[str, str] | None = None,
        control_alias: str | None = None,
        payload_bucket: str | None = None,
    ) -> "Client":
        """A client of a workflow on AWS; needs boto3 (``pip install 'unum-runtime[client]'``).

        Args:
            table: name or ARN of the workflow's DynamoDB table.
            workflow: name of the workflow.
            start_alias: ARN of its start alias; None for a client that only looks.
            session: where credentials and region come from; boto3's default without.
            retention_s: how long the workflow keeps its items, in seconds.
            activities: URLs of the queues of its activities by name, for workers.
            control_alias: ARN of its control alias; None for a client that controls nothing.
            payload_bucket: name of its bucket for large values, if it has one; without, they cannot be read, and inputs
                may have 380 KB.

        Raises:
            ClientError: the workflow cannot be there; says which argument is wrong.
        """
        check_address(
            table=table,
            workflow=workflow,
            retention_s=retention_s,
            payload_bucket=payload_bucket,
            start_alias=start_alias,
            control_alias=control_alias,
        )
        check_queues(activities)
        # Only here, so that everything else of the client runs where no AWS client is installed.
        import boto3  # noqa: PLC0415 - see above
        from botocore.config import Config  # noqa: PLC0415 - the same

        from unum_runtime.aws.invoker import PARALLEL_CALLS, LambdaInvoker  # noqa: PLC0415 - the same
        from unum_runtime.store.dynamodb import DynamoStore  # noqa: PLC0415 - the same

        session = session or boto3.Session()
        config = Config(max_pool_connections=PARALLEL_CALLS, retries={"mode": "standard", "max_attempts": 5})
        dynamodb: Any = session.client("dynamodb", config=config)
        functions: Any = session.client("lambda", config=config)
        table_store = DynamoStore(dynamodb, table)
        store: Store = table_store
        if payload_bucket is not None:
            from unum_runtime.aws.object_bucket import S3Objects  # noqa: PLC0415 - the same

            objects: Any = session.client("s3", config=config)
            store = LargeItems(table_store, S3Objects(lambda: objects, payload_bucket), workflow)
        return cls(
            store=store,
            index=table_store,
            workflow=workflow,
            invoker=LambdaInvoker(functions),
            start_alias=start_alias,
            retention_s=retention_s,
            tasks=None
            if start_alias is None
            else Tasks.connect(start_alias=start_alias, activities=activities, session=session),
            control=None if control_alias is None else Control.connect(control_alias=control_alias, session=session),
        )

    def start(
        self,
        input: object,  # noqa: A002 - boto3 calls it so
        *,
        name: str | None = None,
        lease: bool = False,
    ) -> Started:
        """Start an execution, or find the one that the same name and input started before.

        An execution that has not ended is invoked again, which is always safe: so a caller that does not know whether
        a start went through calls again with the same name. Under eager collection that goes on only as far as the
        first tombstone; what was lost behind it is in the failure queue.

        Clients that start the same name share its result in any case. With a lease they share the work of its first
        step, too: while one of them is starting the execution, the others wait until it has begun, or until the lease
        is free because that client died. That costs two writes more, and can take as long as the first step: so it is
        not the default.

        Args:
            input: any JSON; of at most 380 KB, unless the workflow has a bucket for larger ones.
            name: unique in the workflow; made up where there is none.
            lease: whether to share the start with other clients that do.

        Raises:
            InvalidName: `name` is not 1 to 80 characters from ``A-Z a-z 0-9 - _``.
            InvalidExecutionInput: `input` is not JSON or too large.
            ExecutionAlreadyExists: the name was started with another input.
            StoreError: it is not known whether the execution exists; call again with the same name.
            InvokeError: the execution exists, but may not have begun; call again with the same name.
        """
        draft = self._draft(input, name)
        record = self._recorded(draft)
        is_new = record is draft
        if lease:
            self._sharing(record).begin(self._pauses(record.name.execution.name, None), is_new=is_new)
        elif is_new or not self._has_ended(record):
            self._invoke(record)
        return Started(name=record.name.execution.name, started_at=moment(record.committed_ms), is_new=is_new)

    def run(
        self,
        input: object,  # noqa: A002 - as in `start`
        *,
        name: str | None = None,
        timeout_s: float | None = None,
        on_step: Callable[[Step], None] | None = None,
    ) -> Description:
        """Start an execution and wait for its end; whoever else runs the same name meanwhile shares it.

        The start is under a lease, as in `start`, which is renewed for as long as this client waits and no other has
        taken it over; it expires within a minute when this client dies before the execution has begun.

        Args:
            input: any JSON; of at most 380 KB, unless the workflow has a bucket for larger ones.
            name: unique in the workflow; made up where there is none.
            timeout_s: how long to wait, in seconds; None waits for ever.
            on_step: called with each step as it commits.

        Raises:
            InvalidName: `name` is not 1 to 80 characters from ``A-Z a-z 0-9 - _``.
            InvalidExecutionInput: `input` is not JSON or too large.
            ExecutionAlreadyExists: the name was started with another input.
            StoreError: it is not known how far the execution is; call again with the same name.
            InvokeError: the execution exists, but may not have begun; call again with the same name.
            WaitTimedOut: it was still running after `timeout_s`.
        """
        begun_s = self.waiter.now_s()
        draft = self._draft(input, name)
        record = self._recorded(draft)
        name = record.name.execution.name
        with self._sharing(record).begin(self._pauses(name, timeout_s), is_new=record is draft):
            left_s = None if timeout_s is None else begun_s + timeout_s - self.waiter.now_s()
            return self.wait(name, timeout_s=left_s, on_step=on_step)

    def describe(self, name: str) -> Description:
        """The execution as it is now.

        Raises:
            ExecutionDoesNotExist: there is none of that name.
        """
        return self._describe(self._record(name))

    def redriven_at(self, name: str) -> "tuple[datetime, ...]":
        """When an execution was redriven, each time; nothing else tells, so all steps of its top level are read.

        Raises:
            ExecutionDoesNotExist: there is none of that name.
        """
        found = stored_steps.redrives(self.store, self.workflow, self._record(name).name.execution)
        return tuple(moment(step.committed_ms) for step in found)

    def list(self, status: Status | str | None = None, *, limit: int = 0, token: str | None = None) -> ExecutionPage:
        """A page of the executions that there are, newest first; it may lag a little behind what happens.

        Args:
            status: of all of them; None for any.
            limit: how many a page may have, up to 1,000; 0 for 100. It may have fewer, though more pages follow.
            token: of the page before; None for the first.

        Raises:
            InvalidToken: `token` is of no page of this list.
            ClientError: there is no such status, or no page may have so many.
            NoIndex: the table has no index for lists; says how to get it.
            StoreError: the index could not be read.
        """
        if self.index is None:
            raise NoIndex("index: expected the store's, got None; this client cannot list executions")
        listing = Listing(self.index, self.workflow)
        return listing.page(checked_status(status), limit=checked_size(limit), token=token)

    def steps(self, name: str) -> Iterator[Step]:
        """Every committed step, those inside a fan-out right after the step that opened it.

        Raises:
            ExecutionDoesNotExist: there is none of that name.
        """
        execution = self._record(name).name.execution
        return map(Step.of, self._steps(execution))

    def progress(self, name: str, definition: Workflow) -> Mapping[str, Progress]:
        """How far an execution has come in each state, for a picture of it.

        Args:
            name: of the execution.
            definition: the version of the workflow that it runs on.

        Raises:
            ExecutionDoesNotExist: there is none of that name.
            ClientError: it runs on another version.
        """
        record = self._record(name)
        steps = stored_steps.steps(self.store, self.workflow, record.name.execution)
        return progress(definition, chain([record], steps))

    def map_runs(self, name: str, definition: Workflow) -> Sequence[MapRun]:
        """How far the Maps of an execution have come, each round and each try by itself.

        Args:
            name: of the execution.
            definition: the version of the workflow that it runs on.

        Raises:
            ExecutionDoesNotExist: there is none of that name.
            ClientError: it runs on another version.
        """
        record = self._record(name)
        return map_runs(
            definition, chain([record], stored_steps.steps(self.store, self.workflow, record.name.execution))
        )

    def watch(self, name: str, *, timeout_s: float | None = None) -> Iterator[Step]:
        """Each step once, as it commits, until the execution has ended.

        Args:
            name: of the execution.
            timeout_s: how long to watch, in seconds; None watches for ever.

        Raises:
            ExecutionDoesNotExist: there is none of that name.
            WaitTimedOut: it was still running after `timeout_s`.
        """
        record = self._record(name)
        pauses = self._pauses(name, timeout_s)
        seen: set[Name] = set()
        while True:
            # Asked before the steps are listed: what an ended execution has committed is all there then.
            has_ended = self._describe(record).status is not Status.RUNNING
            listed = self._steps(record.name.execution)
            fresh = [checkpoint for checkpoint in listed if checkpoint.name not in seen]
            seen.update(checkpoint.name for checkpoint in fresh)
            yield from map(Step.of, sorted(fresh, key=lambda checkpoint: checkpoint.committed_ms))
            if has_ended:
                return
            if fresh:
                pauses.restart()
            pauses.pause()

    def watch_progress(
        self, name: str, definition: Workflow, *, timeout_s: float | None = None
    ) -> Iterator[Mapping[str, Progress]]:
        """How far an execution has come in each state: now, and whenever that has changed, until it has ended.

        Args:
            name: of the execution.
            definition: the version of the workflow that it runs on.
            timeout_s: how long to watch, in seconds; None watches for ever.

        Raises:
            ExecutionDoesNotExist: there is none of that name.
            ClientError: it runs on another version.
            WaitTimedOut: it was still running after `timeout_s`.
        """
        record = self._record(name)
        pauses, told = self._pauses(name, timeout_s), None
        while True:
            has_ended = self._describe(record).status is not Status.RUNNING  # asked before, as in `watch`
            now = self.progress(name, definition)
            if now != told:
                yield now
                pauses.restart()
            if has_ended:
                return
            told = now
            pauses.pause()

    def wait(
        self, name: str, *, timeout_s: float | None = None, on_step: Callable[[Step], None] | None = None
    ) -> Description:
        """The execution when it has ended.

        Args:
            name: of the execution.
            timeout_s: how long to wait, in seconds; None waits for ever.
            on_step: called with each step as it commits; without it, waiting reads one small item at a time.

        Raises:
            ExecutionDoesNotExist: there is none of that name.
            WaitTimedOut: it was still running after `timeout_s`.
        """
        if on_step is not None:
            for step in self.watch(name, timeout_s=timeout_s):
                on_step(step)
        record = self._record(name)
        pauses = self._pauses(name, timeout_s)
        while (description := self._describe(record)).status is Status.RUNNING:
            pauses.pause()
        return description

    def send_task_success(self, task_token: str, output: str) -> None:
        """See `Tasks.send_task_success`."""
        self._tasks.send_task_success(task_token, output)

    def send_task_failure(self, task_token: str, error: str | None = None, cause: str | None = None) -> None:
        """See `Tasks.send_task_failure`."""
        self._tasks.send_task_failure(task_token, error, cause)

    def send_task_heartbeat(self, task_token: str) -> None:
        """See `Tasks.send_task_heartbeat`."""
        self._tasks.send_task_heartbeat(task_token)

    def get_activity_task(self, name: str, worker_name: str = "") -> ActivityTask:
        """See `Tasks.get_activity_task`."""
        return self._tasks.get_activity_task(name, worker_name)

    def stop(self, name: str, error: str | None = None, cause: str | None = None) -> "datetime":
        """See `Control.stop`."""
        return self._control.stop(name, error, cause)

    def redrive(self, name: str) -> "datetime":
        """See `Control.redrive`."""
        return self._control.redrive(name)

    def nudge(self, name: str) -> Waits:
        """See `Control.nudge`."""
        return self._control.nudge(name)

    def why(self, name: str) -> Waits:
        """See `Control.why`."""
        return self._control.why(name)

    def fork(self, name: str, *, from_node: str, new_name: str, **more: Any) -> Started:
        """See `Control.fork`, also for `input` and `visit`."""
        return self._control.fork(name, from_node=from_node, new_name=new_name, **more)

    @property
    def _control(self) -> Control:
        if self.control is None:
            raise ClientError("control_alias: expected the ARN of the control alias, got None")
        return self.control

    @property
    def _tasks(self) -> Tasks:
        if self.tasks is None:
            raise ClientError("start_alias: expected the ARN of the start alias, got None; this client can only look")
        return self.tasks

    def _draft(self, value: object, name: str | None) -> Checkpoint:
        """The start record of a new execution."""
        if self.start_alias is None:
            raise ClientError("start_alias: expected the ARN of the start alias, got None; this client can only look")
        checked = checked_name(str(uuid.uuid4()) if name is None else name)
        return start_record(Execution(checked, self.clock.now_ms()), checked_input(value, self.store))

    def _invoke(self, record: Checkpoint, writer: Writer | None = None) -> None:
        request = start_request(record.name.execution.name, writer)
        self.invoker.invoke([(str(self.start_alias), to_text(request).encode())])

    def _sharing(self, record: Checkpoint) -> Sharing:
        key = lease_key(start_key(self.workflow, record.name.execution.name))
        lease = Lease(store=self.store, clock=self.clock, key=key, owner=uuid.uuid4().hex, duration_ms=START_LEASE_MS)
        return Sharing(
            lease=lease,
            has_begun=partial(self._has_begun, record),
            invoke=partial(self._invoke, record),
            maintain=self.maintain_leases,
        )

    def _recorded(self, draft: Checkpoint) -> Checkpoint:
        """The start record that is stored: `draft` itself, or the one that was first."""
        expires_at_s = draft.committed_ms // 1000 + self.retention_s
        return recorded(self.store, self.workflow, draft, expires_at_s=expires_at_s)

    def _record(self, name: str) -> Checkpoint:
        return stored_steps.start_record(self.store, self.workflow, name)

    def _last(self, record: Checkpoint) -> Checkpoint | None:
        return stored_steps.last_step(self.store, self.workflow, record.name.execution)

    def _steps(self, execution: Execution) -> Iterator[Checkpoint]:
        """All steps; a stop record is none, for it is of no state."""
        listed = stored_steps.steps(self.store, self.workflow, execution)
        return (checkpoint for checkpoint in listed if not checkpoint.is_stop)

    def _describe(self, record: Checkpoint) -> Description:
        return Description.of(record, self._last(record))

    def _has_begun(self, record: Checkpoint) -> bool:
        """Whether the execution is known to have committed something; then the platform sees that it goes on."""
        try:
            return self._last(record) is not None
        except StoreError:
            return False

    def _has_ended(self, record: Checkpoint) -> bool:
        """Whether the execution is known to have ended.

        Who may start need not be allowed to look; to invoke an execution that has ended costs something, but does
        no harm.
        """
        try:
            return self._describe(record).status is not Status.RUNNING
        except StoreError:
            return False

    def _pauses(self, name: str, timeout_s: float | None) -> Pauses:
        return Pauses(execution_name=name, timeout_s=timeout_s, waiter=self.waiter)
