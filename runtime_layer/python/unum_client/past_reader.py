"""Reads of executions: steps, definitions, progress, Map Runs and child executions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from unum_client.control import Control, Missing
from unum_client.descriptions import Step
from unum_client.reading import stored_steps
from unum_client.reading.child_executions import ChildExecution, child_executions
from unum_client.reading.map_runs import MapRun, map_runs
from unum_client.reading.pending_steps import pending_steps, reading_runtime
from unum_client.reading.progress import Progress, progress
from unum_client.reading.stored_definitions import Past, definition_of, past_of
from unum_runtime.clock import Clock
from unum_runtime.errors import ClientError, DefinitionNotStored
from unum_runtime.model.checkpoint import Checkpoint
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Execution
from unum_runtime.protocol.history.definition_records import read_definition
from unum_runtime.store.base import Store

if TYPE_CHECKING:
    from unum_client.verification.verify import Verification


class PastReader:
    """Reads of one workflow's executions, by a client's store.

    Attributes:
        store: workflow's store.
        workflow: workflow name.
        control: requests of operators; None without these.
        clock: current time.
        retention_s: retention of the workflow's items, in seconds.
    """

    store: Store
    workflow: str
    control: Control | None
    clock: Clock
    retention_s: int

    def steps(self, name: str) -> Iterator[Step]:
        """Return every committed step; steps of a fan-out follow the step that opened it.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
        """
        execution = self._record(name).name.execution
        return map(Step.of, self._steps(execution))

    def definition(self, name: str) -> Workflow:
        """Return the definition that an execution runs on, or will begin with, from the workflow's store.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
            DefinitionNotStored: its retention has passed; or the execution has committed nothing yet, and this client
                knows no control function.
        """
        record = self._record(name)
        found = definition_of(self.store, self.workflow, record.name.execution)
        if found is not None:
            return found
        if record.digest:  # forced executions, calls and forks know theirs from the start
            return read_definition(self.store, self.workflow, record.digest)
        if self.control is None:
            raise DefinitionNotStored(
                f"execution {name!r} has committed nothing yet, so its version is unknown; try again later, give this "
                "client the control function, or give a definition"
            )
        return self.deployed_definition()

    def deployed_definition(self) -> Workflow:
        """Return the definition of the deployed version, which the workflow stores for this call if necessary.

        Raises:
            ClientError: this client knows no control function.
            InvokeError: no answer; call again.
        """
        return read_definition(self.store, self.workflow, self._control.deployed_digest())

    def progress(self, name: str, definition: Workflow | None = None) -> Mapping[str, Progress]:
        """Return an execution's progress by state, for a diagram.

        Args:
            name: execution name.
            definition: definition of the execution's version; default: `definition` from the store.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
            ClientError: the execution runs on another version than `definition`, or none is stored.
        """
        return progress(*self.past(name, definition), now_ms=self.clock.now_ms())

    def map_runs(self, name: str, definition: Workflow | None = None) -> Sequence[MapRun]:
        """Return the progress of an execution's Maps; each loop round and each retry counts separately.

        Args:
            name: execution name.
            definition: definition of the execution's version; default: `definition` from the store.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
            ClientError: the execution runs on another version than `definition`, or none is stored.
        """
        return map_runs(*self.past(name, definition))

    def children(self, name: str, definition: Workflow | None = None) -> Sequence[ChildExecution]:
        """Return the child executions of an execution: the begun branches of its distributed Maps.

        Args:
            name: execution name.
            definition: definition of the execution's version; default: `definition` from the store.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
            ClientError: the execution runs on another version than `definition`, or none is stored.
        """
        return [*child_executions(*self.past(name, definition))]

    def pending(self, name: str, definition: Workflow | None = None) -> Iterator[Missing]:
        """Yield the commits that a running execution waits for, with the reason and the time of the commit before.

        Unlike `why`, it needs no right to ask the control function, and reads the execution's store instead.

        Args:
            name: execution name.
            definition: definition of the execution's version; default: `definition` from the store.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
            DefinitionNotStored: see `definition`.
        """
        record = self._record(name)
        last = stored_steps.last_step(self.store, self.workflow, record.name.execution) or record
        return pending_steps(reading_runtime(self.store, self.clock, definition or self.definition(name)), last)

    def past(self, name: str, definition: Workflow | None = None) -> Past:
        """Return an execution's commits, and the definitions that it has run on; errors are those of `progress`."""
        return past_of(self.store, definition or self.definition(name), self._record(name))

    def verify(self, name: str, definition: Workflow | None = None) -> "Verification":
        """Find forged, erased and expired commits in an execution's stored history.

        It reads everything that is stored of the execution. A function may have invented its own result: no
        verification can tell.

        Args:
            name: execution name.
            definition: definition of the execution's version; default: from the workflow's store.

        Raises:
            ExecutionDoesNotExist: no execution of that name, or it was deleted.
            StoreError: the store did not answer.
            ClientError: this client has no table.
        """
        from unum_client.verification.verify import verify  # noqa: PLC0415 - few programs verify

        store, kept_s = self.store, self.retention_s
        return verify(store, self.workflow, name, retention_s=kept_s, clock=self.clock, definition=definition)

    @property
    def _control(self) -> Control:
        if self.control is None:
            raise ClientError("control_alias: expected the ARN of the control function, got None")
        return self.control

    def _record(self, name: str) -> Checkpoint:
        return stored_steps.start_record(self.store, self.workflow, name)

    def _steps(self, execution: Execution) -> Iterator[Checkpoint]:
        """Return steps, stop records excluded, since these lack states."""
        return (step for step in stored_steps.steps(self.store, self.workflow, execution) if not step.is_stop)
