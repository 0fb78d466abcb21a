"""Calls of AWS services and HTTP endpoints, equal to Step Functions' service integrations.

Only the workflow's service function imports this package. Source: AWS Step Functions Developer Guide, "Integrating
services with Step Functions".
"""

from unum_runtime.features.services.boto_clients import Clients, Roles
from unum_runtime.features.services.nested_executions import with_start_alias
from unum_runtime.features.services.sync import Running, begin, call, delay_ms, poll, stop

__all__ = ["Clients", "Roles", "Running", "begin", "call", "delay_ms", "poll", "stop", "with_start_alias"]
