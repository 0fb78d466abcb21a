"""Traces of executions in tests, read as a collector reads them."""

from typing import Any

from tests.unit.cli.traces.collector import decoded, spans_of
from tests.unit.protocol.platform import Platform
from unum_cli.traces.exporter import document
from unum_cli.traces.family import Family
from unum_client import Client


def client_of(platform: Platform) -> Client:
    return Client(store=platform.memory, workflow=platform.workflow.name, clock=platform.clock)


def traced(client: Client, name: str, definition: Any = None) -> list[Any]:
    """Return the spans of an execution."""
    family = Family(lambda _: None, (), lambda _: None)
    return spans_of(decoded(document(family.traces(client, name, definition))))


def traced_on(platform: Platform, name: str = "e") -> list[Any]:
    return traced(client_of(platform), name, platform.workflow)


def named(spans: list[Any], name: str) -> Any:
    """Return the first span with a name."""
    return next(span for span in spans if span.name == name)
