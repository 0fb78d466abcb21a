"""What operators see and find of executions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from constructs import Construct

from unum_compiler.analysis.attribute_places import place_of
from unum_constructs.errors import ConstructError
from unum_constructs.layer.opentelemetry import OpenTelemetry
from unum_runtime.model.ir import Workflow
from unum_runtime.model.log_level import LogLevel
from unum_runtime.model.metrics import Metrics
from unum_runtime.model.start_facts import MOST_ATTRIBUTES, RULE, is_attribute_name
from unum_runtime.model.states import Language

if TYPE_CHECKING:
    from aws_cdk.aws_events import IEventBus


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitoring:
    """Logs, metrics, events and spans of executions, and attributes to find them.

    Attributes:
        log_level: lowest level of the runtime's log lines, in all functions.
        metrics: metrics that the runtime writes to the logs; CloudWatch bills each metric.
        events: bus for status events, see `UnumWorkflow.on_execution_status_change`. Requires a sweep. Default: no
            events.
        opentelemetry: spans of user code, which the functions send to a collector, in the trace of ``unum trace``.
            Default: none, and nothing of it in the functions.
        attributes: places of attributes in the input, by name: reference paths such as ``$.order.id``, or JSONata.
    """

    log_level: LogLevel | str = LogLevel.INFO
    metrics: Metrics | str = Metrics.WORKFLOW
    events: "IEventBus | None" = None
    opentelemetry: OpenTelemetry | None = None
    attributes: Mapping[str, str] | None = None

    def with_attributes(self, construct: Construct, compiled: Workflow) -> Workflow:
        """Return `compiled` with the places of its attributes.

        Raises:
            ConstructError: a name or a place is not valid, there are too many, or no state has the language of a place.
        """
        attributes = self.attributes
        if not attributes:
            return compiled
        if (
            not isinstance(attributes, Mapping)
            or not all(map(is_attribute_name, attributes))
            or len(attributes) > MOST_ATTRIBUTES
        ):
            raise ConstructError(
                construct, f"monitoring.attributes: expected places by name ({RULE}), got {attributes!r}"
            )
        try:
            places = {name: place_of(name, text) for name, text in attributes.items()}
        except ValueError as error:
            raise ConstructError(construct, f"monitoring.{error}") from None
        languages = {state.language for state in compiled.states.values()}
        for name, place in places.items():
            if isinstance(place, str) and Language.JSONATA not in languages:
                expected = "expected a reference path, such as $.order.id, in a definition without JSONata"
                raise ConstructError(construct, f"monitoring.attributes[{name!r}]: {expected}; got {place!r}")
        return replace(compiled, attributes=places)
