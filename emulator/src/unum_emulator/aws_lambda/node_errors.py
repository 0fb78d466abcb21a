"""Errors of Node.js functions under their own names, as ``Catch`` and ``Retry`` of a caller see them.

Lambda's client for Node.js reports the error's `name`, its message and its stack; ministack's worker reports the
message alone, as `Runtime.HandlerError`. https://docs.aws.amazon.com/lambda/latest/dg/nodejs-exceptions.html
"""

from typing import Any

from ministack.core import lambda_runtime
from ministack.services import lambda_svc

from unum_emulator.patching import SUPPORTED, UnsupportedMinistackError, replace

_END = "\0"
"""Separator of name, message and stack on their way from the worker, which has one field for an error."""

_NAMED = r"""
const named = (e) =>
  (e instanceof Error ? [e.name, e.message, e.stack || ""] : [typeof e, String(e), ""]).join("\u0000");
"""
_REPORTS = {
    'error: String(err.message || err), trace: err.stack || ""': 'error: named(err), trace: err.stack || ""',
    "error: e.message, trace: e.stack": 'error: named(e), trace: (e && e.stack) || ""',
}

Result = dict[str, Any]


def install() -> None:
    """Let workers of Node.js report names and stacks, and put them into the answer."""
    replace(lambda_runtime, "_NODEJS_WORKER_SCRIPT", _worker(lambda_runtime._NODEJS_WORKER_SCRIPT))
    original = replace(lambda_svc, "_execute_function_dispatch", None)

    def dispatch(func: Result, config: Result, event: Any, request_id: str, started: float) -> Result:
        return _with_name(original(func, config, event, request_id, started))

    replace(lambda_svc, "_execute_function_dispatch", dispatch)


def _worker(script: str) -> str:
    for report, own in _REPORTS.items():
        if report not in script:
            raise UnsupportedMinistackError(f"worker of Node.js: expected {report!r}, as in ministack {SUPPORTED}")
        script = script.replace(report, own)
    return _NAMED + script


def _with_name(result: Result) -> Result:
    body = result.get("body")
    message = body.get("errorMessage") if result.get("error") and isinstance(body, dict) else None
    if not isinstance(message, str) or _END not in message:
        return result
    name, text, stack = message.split(_END, 2)
    return {**result, "body": {"errorType": name, "errorMessage": text, "trace": stack.split("\n")}}
