"""Asynchronous invocation by SNS and EventBridge, with Lambda's retries and destinations.

https://docs.aws.amazon.com/lambda/latest/dg/with-sns.html,
https://docs.aws.amazon.com/lambda/latest/dg/services-cloudwatchevents.html ministack calls the function once, in a
separate thread, and drops failures. Its S3 needs no correction.
"""

import json
from collections.abc import Mapping
from typing import Any

from ministack.services import eventbridge, lambda_svc, sns

from unum_emulator.patching import replace


class _AsynchronousLambda:
    """ministack's Lambda as SNS sees it, with events in place of calls."""

    def __getattr__(self, name: str) -> Any:
        return getattr(lambda_svc, name)

    def _execute_function_with_config_scope(self, func: Mapping[str, Any], event: Any) -> None:
        lambda_svc.invoke_async_with_retry(func, event)


def install() -> None:
    """Send what these services deliver through the queue of asynchronous events."""
    replace(sns, "_lambda_svc", _AsynchronousLambda())
    replace(eventbridge, "_dispatch_to_lambda", _dispatch_to_lambda)


def _dispatch_to_lambda(arn: str, payload: str) -> None:
    func, config, _name = lambda_svc._get_func_record_for_ref(arn)
    if func and config:
        # ministack's record of an alias has the version's ARN, but the handler's context must show the alias.
        record = lambda_svc._execution_record_for_config(func, {**config, "FunctionArn": arn})
        lambda_svc.invoke_async_with_retry(record, json.loads(payload))
