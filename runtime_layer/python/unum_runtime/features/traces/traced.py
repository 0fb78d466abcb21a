"""Handlers with the traces that the function's environment names."""

import logging
import os
from collections.abc import Callable
from typing import Any, TypeAlias

from unum_runtime.functions.configuration import OPENTELEMETRY, TRACES, XRAY

Handler: TypeAlias = Callable[[Any, Any], Any]

_LOG = logging.getLogger("unum_runtime")


def traced(handler: Handler) -> Handler:
    """Return user code's `handler` with a segment of X-Ray around each call, and a span of OpenTelemetry in it."""
    if _has(OPENTELEMETRY) and _has_sdk():
        from unum_runtime.features.traces.opentelemetry.otel_spans import in_spans  # noqa: PLC0415 - needs the SDK

        handler = in_spans(handler)
    if _has(XRAY):
        from unum_runtime.features.traces.xray import in_segments  # noqa: PLC0415 - not in all layers

        handler = in_segments(handler)
    return handler


def flushed(handle: Handler) -> Handler:
    """Return the function's `handle`, sending all finished spans before each return."""
    if not (_has(OPENTELEMETRY) and _has_sdk()):
        return handle
    from unum_runtime.features.traces.opentelemetry.otel_spans import sending_spans  # noqa: PLC0415 - needs the SDK

    return sending_spans(handle)


def _has(kind: str) -> bool:
    return kind in os.environ[TRACES].split(",")


def _has_sdk() -> bool:
    """Return True if Python finds the SDK; log a warning otherwise, as container images may lack it."""
    try:
        import opentelemetry.sdk.trace  # noqa: F401, PLC0415 - in a layer of its own
    except ImportError as error:
        _LOG.warning("no spans of user code: %s; install opentelemetry-sdk, or add a layer with it", error)
        return False
    return True
