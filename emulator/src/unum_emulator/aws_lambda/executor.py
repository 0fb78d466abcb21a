"""Execution of Python functions in sandboxes, in place of ministack's own executor.

It restores the invocation semantics of Lambda's processes: one request id for all retries of an event, the caller's
version or alias in the context, the exception's class as `errorType`, one log stream per sandbox.
https://docs.aws.amazon.com/lambda/latest/dg/python-context.html
https://docs.aws.amazon.com/lambda/latest/dg/python-exceptions.html
"""

import contextvars
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ministack.services import lambda_svc

from unum_emulator.aws_lambda.function_version import FunctionRef, FunctionVersion
from unum_emulator.aws_lambda.injected_faults import FaultInjector
from unum_emulator.aws_lambda.invocation import InvocationType, current_invocation
from unum_emulator.aws_lambda.logs import FunctionLogs
from unum_emulator.aws_lambda.pool import SandboxPool
from unum_emulator.aws_lambda.runtime_api import Delivery
from unum_emulator.aws_lambda.sandbox import Outcome, SandboxGoneError
from unum_emulator.history import History, sender
from unum_emulator.patching import replace

Result = dict[str, Any]
_MOCK = "Mock response - "
"""Begin of ministack's answers in the name of functions."""

_patient: contextvars.ContextVar[bool] = contextvars.ContextVar("patient", default=False)


@contextmanager
def unlimited_wait() -> Iterator[None]:
    """Let invocations in this context wait for a sandbox without limit."""
    token = _patient.set(True)
    try:
        yield
    finally:
        _patient.reset(token)


class Executor:
    """Executor of invocations; ministack has already counted their concurrency."""

    def __init__(self, pool: SandboxPool, logs: FunctionLogs, history: History, faults: FaultInjector) -> None:
        self._pool = pool
        self._logs = logs
        self._history = history
        self._faults = faults

    def install(self) -> None:
        """Replace the executor of Python functions; other runtimes keep ministack's executors."""
        original = replace(lambda_svc, "_execute_function_dispatch", None)

        def dispatch(func: Result, config: Result, event: Any, request_id: str, started: float) -> Result:
            # Container images have no archive, and other runtimes no client here.
            if func.get("code_zip") and config.get("Runtime", "").startswith("python"):
                return self._execute(func, event)
            result: Result = original(func, config, event, request_id, started)
            return _without_mock(result)

        replace(lambda_svc, "_execute_function_dispatch", dispatch)

    def _execute(self, func: Result, event: Any) -> Result:
        function = FunctionVersion.of(func)
        invocation = current_invocation()
        arn = func["config"]["FunctionArn"]
        name = secrets.token_hex(8)
        traced = (func["config"].get("TracingConfig") or {}).get("Mode") == "Active"
        lineage = invocation.lineage.with_invocation_of(FunctionRef.parse(arn), traced=traced)
        delivery = Delivery(
            payload=json.dumps(event).encode(),
            request_id=invocation.request_id,
            invoked_function_arn=arn,
            trace_id=lineage.header(name),
            timeout_s=function.timeout_s,
        )
        attempt: Result = {"by": sender(), "request": invocation.request_id, "version": function.version}
        attempt |= {"is_async": invocation.kind is InvocationType.EVENT, "function": arn, "event": event}
        outcome, log = self._run(function, delivery, name, attempt)
        return {"body": outcome.body, "log": log, **({"error": True} if outcome.failed else {})}

    def _run(self, function: FunctionVersion, delivery: Delivery, name: str, attempt: Result) -> tuple[Outcome, str]:
        while True:
            with self._pool.lease(function, patient=_patient.get()) as sandbox:
                self._history.add("begun", delivery=name, **attempt)
                try:
                    with self._faults.during(name, delivery.request_id, function.ref, sandbox.kill):
                        outcome = sandbox.invoke(delivery)
                # The event never reached the process, so another sandbox may take it without a second
                # attempt.
                except SandboxGoneError:
                    self._history.add("ended", delivery=name, result="never reached", body=None)
                    continue
                self._history.add("ended", delivery=name, result=_result(outcome), body=outcome.body)
                return outcome, self._logs.write(sandbox, delivery.request_id, outcome)


def _without_mock(result: Result) -> Result:
    """Return an error in place of the success that ministack invents for a function that it cannot run."""
    body = result.get("body")
    text = body.get("body") if isinstance(body, dict) else None
    if not isinstance(text, str) or not text.startswith(_MOCK):
        return result
    error = {"errorType": "Runtime.Unavailable", "errorMessage": text.removeprefix(_MOCK)}
    return {**result, "body": error, "error": True}


def _result(outcome: Outcome) -> str:
    """Return `answer`, `error`, or `killed` for a process that died."""
    if not outcome.failed:
        return "answer"
    is_killed = isinstance(outcome.body, dict) and str(outcome.body.get("errorMessage")).endswith("signal: kill")
    return "killed" if is_killed else "error"
