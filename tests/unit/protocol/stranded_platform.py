"""A platform on which functions may send nothing any more, and the intake goes on in their place."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.unit.protocol.map_platform import Later
from tests.unit.protocol.platform import Platform
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import RefusedDelivery, RouteGone, StoreDenied
from unum_runtime.model.take_over_request import TakeOver
from unum_runtime.protocol.control import take_over
from unum_runtime.protocol.runtime import Runtime


class Denying:
    """An invoker and timer that refuse everything."""

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        raise RouteGone(events[0][0], PermissionError("denied"), is_deleted=False)

    def schedule(self, events: Sequence[tuple[str, bytes, int]]) -> None:
        raise RouteGone(f"queue of {len(events)} events", PermissionError("denied"), is_deleted=False)


class Lost:
    """A store of which a role may not add to sets."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def add(self, *_: Any, **__: Any) -> frozenset[int]:
        raise StoreDenied("add")


@dataclass
class Stranded(Platform):
    """Functions hand every invocation over; each request arrives `times` times at the intake."""

    times: int = 1
    requests: list[TakeOver] = field(default_factory=list)
    free: bool = False

    def runtime(self) -> Runtime:
        allowed = super().runtime()
        if self.free:
            return allowed
        denying = Denying()
        return replace(
            allowed, invoker=denying, timer=denying, store=Lost(self.store), hand_over=self.hand_over, own_address="F:1"
        )

    def hand_over(self, request: TakeOver) -> None:
        self.requests += [TakeOver.from_json(json.loads(json.dumps(request.to_json())))] * self.times

    def intake(self) -> Runtime:
        return replace(super().runtime(), hosts=frozenset(), own_address="F:1")

    def deliver_all(self) -> None:
        later = self.options.setdefault("timer", Later()).kept
        while self.sent or self.requests or later:
            if self.requests:
                with suppress(RefusedDelivery):
                    take_over.take_over(self.intake(), self.requests.pop(0), {})
            elif self.sent:
                with suppress(RefusedDelivery):
                    self.deliver(self.sent.pop(0))
            else:
                event, due_ms = later.pop(0)
                self.clock.ms = max(self.clock.ms, due_ms)
                self.sent.append(event)
