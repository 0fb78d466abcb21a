"""Starts whose first event was lost: the start record is there, and nothing is on its way."""

import uuid

from unum_client import Client, Started
from unum_client.deliveries import to_datetime
from unum_runtime.clock import Clock, SystemClock
from unum_runtime.model.checkpoint import start_record
from unum_runtime.model.naming import Execution
from unum_runtime.model.states import Json
from unum_runtime.protocol.history.start_records import record_start


def start_lost(client: Client, value: Json, name: str | None = None, clock: Clock | None = None) -> Started:
    """Write the start record, as the run alias does, and send nothing."""
    name, now_ms = name or uuid.uuid4().hex, (clock or SystemClock()).now_ms()
    draft = start_record(Execution(name, now_ms), value)
    record_start(client.store, client.workflow, draft, expires_at_s=now_ms // 1000 + client.retention_s)
    return Started(name=name, started_at=to_datetime(now_ms), is_new=True)
