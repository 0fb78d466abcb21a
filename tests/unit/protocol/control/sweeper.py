"""A platform that is swept, for tests of sweeps."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.unit.protocol.map_platform import deployed
from tests.unit.protocol.platform import Platform
from unum_runtime.model.checkpoint import start_record
from unum_runtime.model.list_index import stored_item
from unum_runtime.model.naming import Execution, start_key
from unum_runtime.protocol.control import operator_requests
from unum_runtime.protocol.control.sweep import RESERVE_MS, Sweep, Swept, sweep
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S

SILENT_S = 600


@dataclass
class Sweeper:
    """Sweeps a platform, and notes which executions it asks."""

    platform: Platform
    asked: list[str] = field(default_factory=list)
    fails: dict[str, Exception] = field(default_factory=dict)
    remaining: list[int] = field(default_factory=list)
    retention_s: int = DEFAULT_RETENTION_S

    def sweep(self, *, nudges: bool = True, rest: Sweep | None = None) -> Swept:
        """The time that is left is what `remaining` has next, or plenty."""
        rt = replace(self.platform.runtime(), remaining_ms=lambda: (self.remaining or [RESERVE_MS]).pop(0))
        asked = Sweep(silent_ms=SILENT_S * 1000, nudges=nudges)
        return sweep(rt, self.platform.memory, rest or asked, self._ask, lambda _: self.retention_s)

    def found(self, **options: Any) -> bool:
        """Return True if a sweep finds an execution."""
        return self.sweep(**options).silent > 0

    def found_after(self, seconds: float, **options: Any) -> bool:
        """Return True if a sweep at a later time finds an execution."""
        self.platform.clock.pass_seconds(seconds)
        return self.found(**options)

    @property
    def reports(self) -> list[dict[str, Any]]:
        return [fields for message, fields in self.platform.logged if message == "silent"]

    def _ask(self, event: Mapping[str, Any]) -> Any:
        self.asked.append(event["execution"])
        if event["execution"] in self.fails:
            raise self.fails[event["execution"]]
        return operator_requests.answer(self.platform.runtime(), operator_requests.parse(event), None)


def sweeping(definition: Any, **functions: Any) -> Sweeper:
    return Sweeper(deployed(definition, **functions))


def write_start_record(platform: Platform, name: str) -> None:
    """Write a start record without announcing it."""
    record = start_record(Execution(name, platform.clock.ms), 5)
    platform.memory.create(start_key("w", name), stored_item("w", record), expires_at_s=10**12)


def ended(platform: Platform, name: str) -> None:
    """An execution that has come to its end, a second later than what was before."""
    platform.clock.pass_seconds(1)
    platform.start(name, 1)
    platform.deliver_all()
