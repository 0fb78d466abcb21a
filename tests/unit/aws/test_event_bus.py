"""Status events on a bus: what EventBridge gets, and what it refuses or does not answer."""

import time
from typing import Any

import pytest

from unum_runtime.errors import InvokeError, RouteGone
from unum_runtime.features.status_events.event_bus import EventBus
from unum_runtime.wire.call_errors import CallError

BUS = "arn:aws:events:eu-west-1:123456789012:event-bus/told"
ENTRY = {"Source": "unum", "Detail": "{}"}


class Client:
    """EventBridge with a given answer."""

    def __init__(self, answer: Any, *, after_s: float = 0) -> None:
        self.answer, self.after_s, self.put = answer, after_s, list[Any]()

    def put_events(self, **parameters: Any) -> Any:
        self.put.append(parameters)
        time.sleep(self.after_s)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def put(client: Client, timeout_ms: int = 60_000) -> None:
    EventBus(lambda: client, BUS).put(ENTRY, timeout_ms)


def test_an_entry_goes_to_the_bus() -> None:
    client = Client({"FailedEntryCount": 0, "Entries": [{"EventId": "1"}]})
    put(client)
    assert client.put == [{"Entries": [{**ENTRY, "EventBusName": BUS}]}]


def test_a_refused_entry_is_an_error_though_the_request_succeeds() -> None:
    refused = {"FailedEntryCount": 1, "Entries": [{"ErrorCode": "ThrottlingException", "ErrorMessage": "slow down"}]}
    with pytest.raises(InvokeError, match=f"^{BUS}: ThrottlingException: slow down$"):
        put(Client(refused))


def test_a_request_that_fails_is_an_error() -> None:
    with pytest.raises(InvokeError, match="no response"):
        put(Client(CallError("no response")))
    denied = CallError("no", {"Error": {"Code": "AccessDeniedException"}})
    with pytest.raises(RouteGone):
        put(Client(denied))


def test_nobody_waits_for_an_answer_that_does_not_come() -> None:
    begun_s = time.monotonic()
    with pytest.raises(InvokeError, match=f"^{BUS}: no answer within 0.05 s$"):
        put(Client({}, after_s=5), 50)
    assert time.monotonic() - begun_s < 4
