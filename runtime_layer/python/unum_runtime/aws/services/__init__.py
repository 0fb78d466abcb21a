"""Calls of AWS services and of HTTP endpoints, as the service integrations of Step Functions make them.

It is imported only in the function that a workflow provisions for its service Tasks. Source: AWS Step Functions
Developer Guide, "Integrating services with Step Functions".
"""

from unum_runtime.aws.services.boto_clients import Clients
from unum_runtime.aws.services.nested_executions import addressed
from unum_runtime.aws.services.roles import Roles
from unum_runtime.aws.services.service_call import call
from unum_runtime.aws.services.sync import Running, begin, delay_ms, poll, stop

__all__ = ["Clients", "Roles", "Running", "addressed", "begin", "call", "delay_ms", "poll", "stop"]
