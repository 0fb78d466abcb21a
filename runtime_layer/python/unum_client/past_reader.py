"""Reads of executions: descriptions, steps, definitions, progress, Map Runs and child executions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from unum_client.alias_requests import Caller, send_request
from unum_client.control import Control, Missing, StartsPause
from unum_client.deliveries import to_datetime
from unum_client.descriptions import Description, ForkedFrom, Step
from unum_client.reading import stored_steps
from unum_client.reading.child_executions import ChildExecution, child_executions
from unum_client.reading.map_runs import MapRun, map_runs
from unum_client.reading.pending_steps import pending_steps, reading_runtime
from unum_client.reading.progress import Progress, progress
from unum_client.reading.stored_steps import Past, definition_of, past_of
from unum_client.starting import transfer
from unum_runtime.clock import Clock
from unum_runtime.errors import ClientError, DefinitionNotStored, ExecutionDoesNotExist, InvokeError, RouteGone
from unum_runtime.json_text import parse_json
from unum_runtime.model.checkpoint import Checkpoint, Status
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Execution
from unum_runtime.model.requests import PAUSE_REQUEST, describe_request
from unum_runtime.model.states import Json
from unum_runtime.protocol.delivery.pause import read_pause
from unum_runtime.protocol.requests.definition_records import read_definition
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


ATTEMPTS = 3
"""Times that a question is asked, when the function that answers fails."""


class Descriptions(Protocol):
    """Source of descriptions."""

    def describe(self, name: str) -> Description:
        """Return the current description of execution `name`.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
        """
        ...

    def status(self, name: str) -> Status:
        """Return the current status of execution `name`.

        Raises:
            ExecutionDoesNotExist: no execution of that name.
        """
        ...

    def pause(self) -> StartsPause | None:
        """Return the pause of the workflow; None while executions may start."""
        ...


@dataclass(frozen=True, kw_only=True)
class AskedDescriptions:
    """Descriptions by the workflow's describe alias; see `Descriptions`.

    Attributes:
        caller: connection to the alias.
        describe_alias: ARN of the alias.
    """

    caller: Caller
    describe_alias: str

    def describe(self, name: str) -> Description:  # noqa: D102 - in the protocol
        answer = self._ask(describe_request(name))
        return _parse(parse_json(transfer(answer["url"])) if "url" in answer else answer)

    def status(self, name: str) -> Status:  # noqa: D102 - in the protocol
        return Status(self._ask(describe_request(name, status_only=True))["Status"])

    def pause(self) -> StartsPause | None:  # noqa: D102 - in the protocol
        return StartsPause.of(self._ask(PAUSE_REQUEST))

    def _ask(self, request: Json) -> dict[str, Any]:
        """Send a question; ask again when the function dies over it, for questions change nothing."""
        for _ in range(ATTEMPTS - 1):
            try:
                return self._ask_once(request)
            except RouteGone:
                raise
            except InvokeError:
                continue
        return self._ask_once(request)

    def _ask_once(self, request: Json) -> dict[str, Any]:
        answer: dict[str, Any] = send_request(self.caller, self.describe_alias, request, ExecutionDoesNotExist)
        return answer


@dataclass(frozen=True, kw_only=True)
class StoredDescriptions:
    """Descriptions from the workflow's table; see `Descriptions`."""

    store: Store
    workflow: str

    def describe(self, name: str) -> Description:  # noqa: D102 - in the protocol
        record = stored_steps.start_record(self.store, self.workflow, name)
        return Description.of(record, stored_steps.last_step(self.store, self.workflow, record.name.execution))

    def status(self, name: str) -> Status:  # noqa: D102 - in the protocol
        return self.describe(name).status

    def pause(self) -> StartsPause | None:  # noqa: D102 - in the protocol
        found = read_pause(self.store, self.workflow)
        return StartsPause.of({"pause": None if found is None else found.to_json()})


def descriptions_by(answer: Mapping[str, Any], caller: Caller) -> AskedDescriptions | None:
    """Return the source of descriptions that the answer to a start names; None if it names none."""
    alias = answer.get("DescribeAlias")
    return None if alias is None else AskedDescriptions(caller=caller, describe_alias=alias)


def _parse(answer: dict[str, Any]) -> Description:
    """Build a description from the response of the describe alias."""
    stopped_ms = answer.get("StopDate")
    return Description(
        name=answer["Name"],
        status=Status(answer["Status"]),
        input=parse_json(answer.get("Input", "null")),
        output=parse_json(answer.get("Output", "null")),
        error=answer.get("Error") if stopped_ms is not None else None,
        cause=answer.get("Cause") if stopped_ms is not None else None,
        started_at=to_datetime(answer["StartDate"]),
        stopped_at=None if stopped_ms is None else to_datetime(stopped_ms),
        forked_from=ForkedFrom(**answer["ForkedFrom"]) if "ForkedFrom" in answer else None,
        attributes=answer.get("Attributes", {}),
    )


class NoTable:
    """Store that cannot be read: see `unum_runtime.store.base.Store`."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise ClientError(
            "table: expected the workflow's table, got None; steps, lists and definitions are read there, descriptions "
            "too unless the client has `describe_alias`"
        )

    create = read = query = collect = extend = add = acquire = renew = release = _refuse
