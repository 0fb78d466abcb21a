"""X-Ray subsegments: one per attempt, named after its state, annotated for filters.

They go to Lambda's daemon as documents by UDP, so no SDK is needed. Subsegments of user code, by X-Ray's SDK or by
Powertools' Tracer, become their children.

Sources: AWS X-Ray Developer Guide, "X-Ray segment documents", "Sending trace data to X-Ray", "Tracing header"; AWS
Lambda Developer Guide, "Using Lambda environment variables".
"""

import os
import re
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.json_text import to_ascii
from unum_runtime.protocol.runtime import Call

Handler: TypeAlias = Callable[[Any, Any], Any]

HEADER = "_X_AMZN_TRACE_ID"
"""Environment variable with the tracing header of the current delivery."""

DAEMON = "AWS_XRAY_DAEMON_ADDRESS"
"""Environment variable with the daemon's address, as host and port."""

_BEGIN = b'{"format": "json", "version": 1}\n'
_REFUSED = re.compile(r"[^\w\s.:/%&#=+\\\-@]")
"""Characters that names of segments cannot have."""


class TraceHeader(NamedTuple):
    """Tracing header.

    Attributes:
        fields: all fields, in order; functions pass on those that they do not know.
    """

    fields: dict[str, str]

    @classmethod
    def here(cls) -> "TraceHeader":
        """Return the current delivery's header; empty outside deliveries."""
        parts = (part.partition("=") for part in os.environ.get(HEADER, "").split(";") if "=" in part)
        return cls({name.strip(): value for name, _, value in parts})

    @property
    def is_sampled(self) -> bool:
        """True if X-Ray keeps the trace."""
        return self.fields.get("Sampled") == "1" and {"Root", "Parent"} <= self.fields.keys()

    def below(self, segment: str) -> "TraceHeader":
        """Return the header for what happens inside `segment`."""
        return TraceHeader({**self.fields, "Parent": segment})

    def apply(self) -> None:
        """Set this header for subsequent requests by AWS SDKs and segments by X-Ray's SDK."""
        os.environ[HEADER] = ";".join(f"{name}={value}" for name, value in self.fields.items())
        with suppress(Exception):  # an SDK of another release traces less, and fails no Task
            self._tell_sdk()

    def _tell_sdk(self) -> None:
        """Renew the segment that X-Ray's SDK holds, if user code has loaded it: it reads the header once in a trace."""
        sdk, core = sys.modules.get("aws_xray_sdk"), sys.modules.get("aws_xray_sdk.core")
        if sdk is None or core is None or not sdk.global_sdk_config.sdk_enabled():
            return
        from aws_xray_sdk.core.models.facade_segment import (  # type: ignore[import-untyped]  # noqa: PLC0415 - part of user code
            FacadeSegment,
        )

        root, parent = self.fields["Root"], self.fields["Parent"]
        core.xray_recorder.set_trace_entity(FacadeSegment("facade", parent, root, sampled=True))


def in_segments(handler: Handler) -> Handler:
    """Return `handler` with a subsegment for each attempt in a trace that X-Ray keeps."""

    def segmented(event: Any, context: Any) -> Any:
        call, header = getattr(context, "unum", None), TraceHeader.here()
        if call is None or not header.is_sampled or DAEMON not in os.environ:
            return handler(event, context)
        with _segment(call, header):
            return handler(event, context)

    return segmented


@contextmanager
def _segment(call: Call, header: TraceHeader) -> Iterator[None]:
    segment: dict[str, Any] = {
        "name": _REFUSED.sub("_", call.state)[:200],
        "id": os.urandom(8).hex(),
        "trace_id": header.fields["Root"],
        "parent_id": header.fields["Parent"],
        "type": "subsegment",
        "start_time": time.time(),
        "annotations": {
            "workflow": call.idempotency_key.partition("/")[0],
            "execution": call.execution,
            "state": call.state,
            "attempt": call.attempt + 1,
        },
    }
    header.below(segment["id"]).apply()
    try:
        yield
    except BaseException as error:
        # The name alone: messages may hold data, and traces may have other readers than the table.
        exception = {"id": os.urandom(8).hex(), "type": type(error).__name__}
        segment |= {"fault": True, "cause": {"exceptions": [exception]}}
        raise
    finally:
        header.apply()
        _send({**segment, "end_time": time.time()})


def _send(segment: dict[str, Any]) -> None:
    """Send a document to the daemon; without a daemon it gets lost, like documents of X-Ray's SDK."""
    host, _, port = os.environ[DAEMON].rpartition(":")
    with suppress(OSError, ValueError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
        daemon.sendto(_BEGIN + to_ascii(segment).encode(), (host, int(port)))
