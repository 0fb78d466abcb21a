"""Descriptions of executions: asked at the workflow's describe alias, or read in its table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from unum_client.alias_requests import Caller, send_request
from unum_client.control import StartsPause
from unum_client.deliveries import to_datetime
from unum_client.descriptions import Description, ForkedFrom
from unum_client.reading import stored_steps
from unum_client.starting import transfer
from unum_runtime.errors import ClientError, ExecutionDoesNotExist, InvokeError, RouteGone
from unum_runtime.json_text import parse_json
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.requests import PAUSE_REQUEST, describe_request
from unum_runtime.model.states import Json
from unum_runtime.protocol.delivery.pause import read_pause
from unum_runtime.store.base import Store

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
