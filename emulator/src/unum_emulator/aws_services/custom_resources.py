"""Custom resources: Lambda's retries for their functions, and an early end where no answer can arrive.

CloudFormation sends the request as an event and waits for the answer at its ResponseURL until ServiceTimeout, an hour
by default. ministack calls the function once, drops its error and waits for the whole time. Here a deployment fails
once the function has failed in all attempts, or has returned and nothing runs that could still answer for it. The
waiter of CDK's provider framework, a state machine, may take its time. An update to another function fails, as on AWS.
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudformation-customresource.html
"""

import contextvars
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from ministack.services import lambda_svc, stepfunctions
from ministack.services.cloudformation import _stacks, custom_resource

from unum_emulator.aws_lambda.destinations import Condition
from unum_emulator.aws_services import bucket_cleanup, sdk_calls
from unum_emulator.patching import replace

_QUIET_S = 5.0
"""Time without any running function after which nothing answers any more; longer than all delays of retries."""
_POLL_S = 0.1

Provider = Callable[[Mapping[str, Any], Mapping[str, Any]], Mapping[str, Any]]
"""What a function would do, from its record and the request; returns fields of the answer."""

_is_requesting: contextvars.ContextVar[bool] = contextvars.ContextVar("is_requesting", default=False)


def install(endpoint: str) -> None:
    """Send requests of custom resources through the queue of asynchronous events.

    Args:
        endpoint: AWS endpoint for providers whose functions do not run here.
    """
    cleanup, calls = bucket_cleanup.BucketCleanup(endpoint), sdk_calls.SdkCalls(endpoint)
    request = replace(custom_resource, "invoke_custom_resource", None)
    execute = replace(lambda_svc, "_execute_function_with_config_scope", None)

    def request_and_wait(
        request_type: str, logical_id: str, props: Mapping[str, Any], *others: Any, **named: Any
    ) -> Any:
        old, (stack_name, *_) = named.get("old_props") or props, others
        # A rollback restores the properties of the resource, whose update was refused here.
        is_rollback = "ROLLBACK" in _stacks.get(stack_name, {}).get("StackStatus", "")
        if old.get("ServiceToken") != props.get("ServiceToken") and not is_rollback:
            raise ValueError("Modifying service token is not allowed.")
        token = _is_requesting.set(True)
        try:
            return request(request_type, logical_id, props, *others, **named)
        except TimeoutError as error:
            raise TimeoutError(f"{error} of function {props['ServiceToken']}") from error
        finally:
            _is_requesting.reset(token)

    def provider_of(event: Mapping[str, Any]) -> Provider | None:
        if event["ResourceType"] == bucket_cleanup.RESOURCE_TYPE:
            return cleanup
        return calls if sdk_calls.is_sdk_call(event) else None

    def execute_or_send(func: Mapping[str, Any], event: Any) -> Any:
        if not _is_requesting.get():
            return execute(func, event)
        _Request(func, event).send(provider_of(event))
        return {}

    replace(custom_resource, "invoke_custom_resource", request_and_wait)
    replace(lambda_svc, "_execute_function_with_config_scope", execute_or_send)


def _running_executions() -> frozenset[str]:
    """Return the ARNs of running state machine executions in the current account and region."""
    executions = list(stepfunctions._executions.items())
    return frozenset(arn for arn, execution in executions if execution["status"] == "RUNNING")


@dataclass(frozen=True)
class _Request:
    """A request to a custom resource's function.

    Attributes:
        func: ministack's record of the function.
        event: CloudFormation's request.
        earlier: state machine executions that began before the request, so not on its behalf.
    """

    func: Mapping[str, Any]
    event: Mapping[str, Any]
    earlier: frozenset[str] = field(default_factory=_running_executions)

    def send(self, provider: Provider | None) -> None:
        """Invoke the function, or answer for it; return before the answer arrives."""
        if provider is None:
            lambda_svc.invoke_async_with_retry(self.func, self.event, on_end=self._end)
            return
        try:
            self._answer("SUCCESS", **provider(self.func, self.event))
        except (ClientError, BotoCoreError, ValueError) as error:
            self._fail(f"failed: {error}")

    def _end(self, condition: Condition, result: Mapping[str, Any] | None) -> None:
        """Handle the end of the event: its success, or the drop after its last attempt."""
        if condition is Condition.SUCCESS:
            context = contextvars.copy_context()
            threading.Thread(target=context.run, args=(self._await_answer,), daemon=True).start()
        elif result is None:
            self._fail(f"was not invoked: {condition}")
        else:
            self._fail(f"failed without an answer to CloudFormation: {_error(result.get('body'))}")

    def _await_answer(self) -> None:
        quiet_since_s = time.monotonic()
        while self._token in custom_resource._pending:
            in_flight, _ = lambda_svc.executions_in_flight()
            if in_flight or _running_executions() - self.earlier:
                quiet_since_s = time.monotonic()
            elif time.monotonic() - quiet_since_s > _QUIET_S:
                self._fail("returned without an answer to CloudFormation, and nothing runs that could still send it")
            time.sleep(_POLL_S)

    def _fail(self, reason: str) -> None:
        place = f"Custom resource {self.event['LogicalResourceId']} ({self.event['ResourceType']})"
        self._answer("FAILED", Reason=f"{place}: function {self.func['config']['FunctionName']} {reason}")

    def _answer(self, status: str, **others: Any) -> None:
        # Without effect if the function has answered.
        custom_resource.deliver_response(self._token, {"Status": status, **others})

    @property
    def _token(self) -> str:
        return str(self.event["ResponseURL"].rpartition("/")[2])


def _error(body: Any) -> str:
    """Return type and message of a function error."""
    if not isinstance(body, dict):
        return str(body)
    return f"{body.get('errorType')}: {body.get('errorMessage')}"
