"""User code with spans of its own, and a library that calls X-Ray's SDK."""

from typing import Any

from aws_lambda_powertools import Tracer
from opentelemetry import trace

spans = trace.get_tracer("shop")
tracer = Tracer(service="shop")


class Busy(Exception):
    """A failure that passes."""


@tracer.capture_lambda_handler
def receive(event: Any, _context: Any) -> Any:
    with spans.start_as_current_span("select"):
        return event


def price(event: Any, context: Any) -> Any:
    with spans.start_as_current_span("update"):
        if event == 2 and not context.unum.attempt:
            raise Busy("try again")
        return event


@tracer.capture_lambda_handler
def ship(event: Any, _context: Any) -> Any:
    with spans.start_as_current_span("insert"):
        return sum(event)
