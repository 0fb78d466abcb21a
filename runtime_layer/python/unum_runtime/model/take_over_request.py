"""Requests to the intake: continue an invocation in place of its function, whose role may not.

A request consists of names. The intake plans from what is committed, so a forged request can only make it send again
what follows from an outcome, or the pending event of an invocation.
"""

from collections.abc import Mapping

from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import NotOurEvent
from unum_runtime.model.envelope import MARK, WIRE_VERSION, Envelope, other_version
from unum_runtime.model.naming import Execution, Frame, Name
from unum_runtime.model.states import Json

_FIELD = "take_over"


@dataclass(frozen=True, kw_only=True)
class TakeOver:
    """Request to continue an invocation.

    Attributes:
        workflow: name of the workflow.
        digest: digest of the IR of the execution.
        name: invocation name.
        state: its state.
        address: version of its function, whose routes the intake uses.
        retries: for an attempt that failed and has to be retried, the uses of each retrier; else empty.
        due_ms: time of the next attempt in milliseconds since 1970; None for at once.
        handed_on: the intake of another version has forwarded it; earlier versions read and write it.
    """

    workflow: str
    digest: str
    name: Name
    state: str
    address: str
    retries: tuple[int, ...] = ()
    due_ms: int | None = None
    handed_on: bool = False

    @classmethod
    def of(cls, envelope: Envelope, address: str) -> "TakeOver":
        """Return the request to send `envelope`, an event for `address`."""
        return cls(
            workflow=envelope.workflow,
            digest=envelope.digest,
            name=envelope.name,
            state=envelope.state,
            address=address,
            retries=envelope.retries,
        )

    def to_json(self) -> dict[str, Json]:
        """Return the request as an event."""
        name = self.name
        fields = {
            "workflow": self.workflow,
            "ir": self.digest,
            "execution": [*name.execution],
            "frames": [[f.state, f.iteration, f.generation, f.index, f.size] for f in name.frames],
            "step": name.step,
            "state": self.state,
            "address": self.address,
            "retries": [*self.retries],
            "due_ms": self.due_ms,
            "handed_on": self.handed_on,
        }
        return {MARK: WIRE_VERSION, _FIELD: fields}

    @classmethod
    def from_json(cls, event: Mapping[str, Json]) -> "TakeOver":
        """Parse the event that `to_json` wrote.

        Raises:
            NotOurEvent: the event has another wire version, or is malformed.
        """
        fault = other_version(event)
        if fault is not None:
            raise NotOurEvent(fault)
        try:
            match event[_FIELD]:
                case {
                    "workflow": str() as workflow,
                    "ir": str() as digest,
                    "execution": [str() as execution, int() as started_ms],
                    "frames": [*frames],
                    "step": int() as step,
                    "state": str() as state,
                    "address": str() as address,
                    "retries": [*retries],
                    "due_ms": int() | None as due_ms,
                    "handed_on": bool() as handed_on,
                }:
                    name = Name(Execution(execution, started_ms), tuple([Frame(*frame) for frame in frames]), step)
                    return cls(
                        workflow=workflow,
                        digest=digest,
                        name=name,
                        state=state,
                        address=address,
                        retries=tuple([int(each) for each in retries]),
                        due_ms=due_ms,
                        handed_on=handed_on,
                    )
        except (TypeError, ValueError) as error:
            raise NotOurEvent(f"event.{_FIELD}: malformed: {error}") from error
        raise NotOurEvent(f"event.{_FIELD}: expected the fields of a request to the intake, got {event[_FIELD]!r}")


def is_take_over(event: Json) -> bool:
    """Return True if `event` claims to be a request to the intake."""
    return isinstance(event, dict) and {MARK, _FIELD} == event.keys()
