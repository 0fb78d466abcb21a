"""Events on an EventBridge bus."""

from collections.abc import Callable, Mapping
from threading import Thread
from typing import Any

from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import InvokeError
from unum_runtime.model.states import Json
from unum_runtime.wire.call_errors import call_errors, invoke_error


@dataclass(frozen=True)
class EventBus:
    """A bus, of this account or of another one whose policy lets this one put events.

    Attributes:
        client: function that returns the EventBridge client; called for the first event.
        bus: name or ARN.
    """

    client: Callable[[], Any]
    bus: str

    def put(self, entry: Mapping[str, Json], timeout_ms: int) -> None:
        """Put one entry of PutEvents, without its bus.

        Raises:
            InvokeError: EventBridge refuses it, or does not answer within `timeout_ms`; the bus may have it or not.
        """
        found: list[Any] = []
        # The client repeats what fails for minutes, and without a route to EventBridge a connection takes one.
        thread = Thread(target=lambda: found.append(self._answer(entry)), daemon=True)
        thread.start()
        thread.join(timeout_ms / 1000)
        answer = found[0] if found else InvokeError(f"{self.bus}: no answer within {timeout_ms / 1000:g} s")
        if isinstance(answer, InvokeError):
            raise answer
        # EventBridge answers 200 for entries that it refuses. Source: its API Reference, "PutEvents".
        if answer.get("FailedEntryCount"):
            (refused,) = answer["Entries"]
            raise InvokeError(f"{self.bus}: {refused.get('ErrorCode')}: {refused.get('ErrorMessage')}")

    def _answer(self, entry: Mapping[str, Json]) -> Any:
        """Return the answer of EventBridge, or the InvokeError of the call."""
        try:
            return self.client().put_events(Entries=[{**entry, "EventBusName": self.bus}])
        except call_errors() as error:
            return invoke_error(self.bus, error)
