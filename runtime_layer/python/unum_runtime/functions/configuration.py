"""Configuration of a Lambda function of a workflow, read from its environment.

* `UNUM_WORKFLOWS`: JSON object with the fields of `Service` by workflow name.
* `UNUM_HANDLER`: path of the user's handler; unset for functions with several handlers, or without user code.
* `UNUM_HANDLERS`: JSON object with the paths of several handlers, by the key that Tasks name.
* `UNUM_QUEUES`: JSON object by workflow and ARN of queues whose messages start executions, and whose mappings take
  reports of single failures; the value is the path of the execution's name in the body of messages, or empty.
* ``UNUM_MAINTAIN_LEASES=0``: do not renew leases.
* `UNUM_TRACES`: kinds of traces of user code, `OPENTELEMETRY` and `XRAY`, separated by commas; unset for none.
* `UNUM_CLIENT`: AWS client library, see `unum_runtime.aws.client_factory`.
"""

import os
from collections.abc import Mapping
from functools import cache

from unum_runtime.cold_start.records import dataclass, field
from unum_runtime.json_text import parse_json
from unum_runtime.model.log_level import LogLevel
from unum_runtime.model.metrics import Metrics
from unum_runtime.model.states import Json, Language

STORE = "store"
"""Location of definitions that a function takes from the workflow's store, by the digests in events."""

ENTRY = "entry"
"""Location of the definition for functions that plan in place of others: the configuration of the entry function."""

INLINE = "data:"
"""Beginning of a definition itself, compressed and in Base64."""

SERVICE_CALLS = "services"
"""Member of `Service.loads` in functions that call AWS services for Tasks."""


@dataclass(frozen=True, kw_only=True)
class Service:
    """Settings of one workflow that a function serves.

    Attributes:
        table: name of the workflow's DynamoDB table, or ``s3://`` and the name of its bucket.
        hosts: keys of the workflow's functions that run in this Lambda function.
        routes: version ARNs of functions by key, and ARNs of other workflows' start aliases.
        carried: keys of functions and start aliases whose ARNs travel with executions that start here.
        start_alias: name of the workflow's start alias; None if executions start in another function.
        retention_s: retention of items in seconds.
        result_retention_s: retention of an execution's result in seconds; None for `retention_s`.
        timer: URL of the timer queue; None if this function sends no delayed events.
        activities: queue URLs of activities by name.
        called: ARNs of invoked functions by key, in the service function.
        values: texts that replace placeholders in the IR, by placeholder name.
        log_level: lines that the runtime logs.
        definition: the IR itself, after `INLINE`; its location as ``s3://bucket/key``, for images with a large IR;
            `STORE`, for a function that starts no executions and takes definitions from the store alone; or `ENTRY`.
            None for a layer.
        metrics: metrics that the runtime counts.
        fusion: deliveries may continue with the next Task in the same sandbox.
        payload_bucket: name of the bucket for values that are too large for the table; None for no bucket.
        describe_alias: ARN of the describe alias, where executions start; None elsewhere.
        stores_first: starts wait until the definition is stored, because other functions take it from there alone.
        events: ARN of the bus for status events; None for no events.
        takes_starts: the intake of this workflow takes failed starts, too, because all its functions have one role.
        loads: query languages, and `SERVICE_CALLS`, that a function loads before its first event names a definition.
    """

    table: str
    hosts: tuple[str, ...]
    routes: Mapping[str, str] = field(default_factory=dict)
    retention_s: int
    result_retention_s: int | None = None
    carried: tuple[str, ...] = ()
    start_alias: str | None = None
    timer: str | None = None
    activities: Mapping[str, str] = field(default_factory=dict)
    called: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    log_level: str = LogLevel.INFO
    definition: str | None = None
    metrics: str = Metrics.WORKFLOW
    fusion: bool = True
    payload_bucket: str | None = None
    describe_alias: str | None = None
    stores_first: bool = False
    events: str | None = None
    takes_starts: bool = False
    loads: tuple[str, ...] = (Language.JSONPATH,)


_LISTS: Mapping[str, tuple[str, ...]] = {"hosts": (), "carried": (), "loads": (Language.JSONPATH,)}
"""Fields of `Service` that are lists in JSON, with their defaults."""

_DROPPED = frozenset({"former_clients"})
"""Fields that only environments of earlier versions have, and that mean nothing to the receivers of their events."""

TRACES, OPENTELEMETRY, XRAY = "UNUM_TRACES", "opentelemetry", "xray"
"""Environment variable of functions whose user code is traced, and its values."""

QUEUES = "UNUM_QUEUES"
"""Environment variable of the function in which executions start, if queues have settings."""


@cache
def queues() -> Mapping[str, Mapping[str, str]]:
    """Return the settings of queues by workflow and ARN."""
    found: Mapping[str, Mapping[str, str]] = parse_json(os.environ.get(QUEUES, "{}"))
    return found


@cache
def services() -> Mapping[str, Service]:
    """Return the services of this function by workflow name."""
    return services_in(os.environ)


def services_in(environment: Mapping[str, str]) -> Mapping[str, Service]:
    """Return the services of a function with `environment` by workflow name."""
    table = parse_json(environment.get("UNUM_WORKFLOWS", "{}"))
    return {name: _service(fields) for name, fields in table.items()}


def _service(fields: Mapping[str, Json]) -> Service:
    # Functions that an earlier version deployed are described by their environments, while executions run on them.
    kept = {name: value for name, value in fields.items() if name not in _DROPPED}
    return Service(**kept | {each: tuple(kept.get(each, default)) for each, default in _LISTS.items()})


@cache
def handler_paths() -> Mapping[str | None, str]:
    """Return the paths of the user's handlers by the key that Tasks name; None is the key of an only handler."""
    several: Mapping[str | None, str] = parse_json(os.environ.get("UNUM_HANDLERS", "{}"))
    only = os.environ.get("UNUM_HANDLER")
    return several if only is None else {**several, None: only}
