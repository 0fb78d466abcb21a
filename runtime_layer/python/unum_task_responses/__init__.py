# ruff: noqa: N803
# The names of arguments are boto3's.
"""Answers for Tasks with a task token, for functions that send them with boto3.

``workflow.grant_task_response(function)`` gives the function this package, in a layer, and the workflow's address, in
its environment. One line of the function's code changes::

    from unum_task_responses import boto3  # in place of `import boto3`

    boto3.client("stepfunctions").send_task_success(taskToken=token, output='"yes"')

Tokens of workflows go to their response aliases. All else, such as tokens of state machines, other operations and other
services, goes to boto3. The package has one module and needs boto3 alone, which AWS has in its Python runtimes.
"""

import json
import os
import re
import time
import uuid
from typing import Any

import boto3 as _boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

ALIASES = "UNUM_TASK_RESPONSES"
"""Environment variable with the ARNs of response aliases, separated by commas."""

ATTEMPTS = 3
"""Most attempts for a request without an answer; the request's id makes a repetition harmless."""

FIRST_PAUSE_S = 0.2

LONGEST_CALL_S = 310
"""Read timeout, above the longest timeout of a workflow's own functions."""

_OURS = re.compile(r"[0-9a-f]{64}.+", re.DOTALL)
"""Tokens of workflows. Those of state machines are in Base64, with upper-case letters from the beginning."""

_MARK, _WIRE_VERSION = "$unum", 1


class TaskResponses:
    """Client for ``boto3.client("stepfunctions")`` that answers Tasks of workflows too.

    Args:
        stepfunctions: boto3's client, for all else; its exceptions are raised.
        functions: boto3's client of Lambda.
        aliases: ARNs of the response aliases of the workflows whose Tasks are answered.
    """

    def __init__(self, stepfunctions: Any, functions: Any, aliases: tuple[str, ...]) -> None:
        self._stepfunctions, self._functions, self._aliases = stepfunctions, functions, aliases

    def __getattr__(self, name: str) -> Any:
        """Return what boto3's client has: other operations, `exceptions`, `meta`."""
        return getattr(self._stepfunctions, name)

    def send_task_success(self, *, taskToken: str, output: str) -> dict[str, Any]:
        """Complete the Task of `taskToken`.

        Args:
            taskToken: task token.
            output: result, JSON text of at most 380 KB for a Task of a workflow.

        Raises:
            InvalidOutput: `output` is not JSON, or too large.
            InvalidToken: no Task has that token.
            TaskTimedOut: the Task has a result already, or its timeout has passed.
            ClientError: the function may not answer; or, with the code ``ServiceUnavailable``, it is unknown whether
                the result arrived: call again.
        """
        return self._send("send_task_success", taskToken, {"output": output}, output=output)

    def send_task_failure(
        self, *, taskToken: str, error: str | None = None, cause: str | None = None
    ) -> dict[str, Any]:
        """Fail the Task of `taskToken`.

        Args:
            taskToken: task token.
            error: error name, for retriers and catchers.
            cause: text for humans.

        Raises:
            InvalidToken: no Task has that token.
            TaskTimedOut: the Task has a result already, or its timeout has passed.
            ClientError: as for `send_task_success`.
        """
        details = {key: value for key, value in (("error", error), ("cause", cause)) if value is not None}
        return self._send("send_task_failure", taskToken, details, error=error, cause=cause)

    def send_task_heartbeat(self, *, taskToken: str) -> dict[str, Any]:
        """Tell that work on the Task of `taskToken` continues.

        Raises:
            InvalidToken: no Task has that token.
            TaskTimedOut: the Task has a result already, or its timeout has passed.
            ClientError: as for `send_task_success`.
        """
        return self._send("send_task_heartbeat", taskToken, {}, heartbeat=True)

    def _send(self, method: str, token: str, arguments: dict[str, str], **content: Any) -> dict[str, Any]:
        """Send an answer to the workflow that gave out `token`, or to Step Functions."""
        if not isinstance(token, str) or _OURS.fullmatch(token) is None:
            answered: dict[str, Any] = getattr(self._stepfunctions, method)(taskToken=token, **arguments)
            return answered
        if not self._aliases:
            raise RuntimeError(
                f"{method}: expected the address of a workflow in the environment variable {ALIASES}, found none; "
                "call workflow.grant_task_response(function) in the CDK app"
            )
        # The id is one for all attempts: a repeated answer is recognized, where another one would have timed out.
        request = {_MARK: _WIRE_VERSION, "token": token, **content, "request": uuid.uuid4().hex}
        refusal: dict[str, str] = {}
        for alias in self._aliases:
            refusal = self._ask(method, alias, json.dumps(request).encode())
            if refusal.get("error") != "InvalidToken":  # which says that another workflow gave it out
                break
        if refusal:
            raise self._error(method, refusal["error"], refusal["message"])
        return {"ResponseMetadata": {"HTTPStatusCode": 200}}

    def _ask(self, method: str, alias: str, payload: bytes) -> dict[str, str]:
        """Return the answer of `alias`: empty, or an error name and a message."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                response = self._functions.invoke(FunctionName=alias, Payload=payload)
                answer = json.load(response["Payload"])
            except BotoCoreError as error:  # the connection broke
                found = f"{type(error).__name__}: {error}"
            else:
                if "FunctionError" not in response:
                    return dict(answer)
                found = json.dumps(answer)
            if attempt < ATTEMPTS:
                time.sleep(FIRST_PAUSE_S * 2 ** (attempt - 1))
        raise self._error(method, "ServiceUnavailable", f"{alias}: no answer; call again: {found}")

    def _error(self, method: str, code: str, message: str) -> Exception:
        operation = method.title().replace("_", "")
        kind: Any = getattr(self._stepfunctions.exceptions, code, ClientError)
        error: Exception = kind({"Error": {"Code": code, "Message": message}}, operation)
        return error


class _Boto3:
    """The module boto3, whose clients of Step Functions answer Tasks of workflows too."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_boto3, name)

    def client(self, service_name: str, *args: Any, **options: Any) -> Any:
        """Return a client of `service_name`, as ``boto3.client`` does."""
        module: Any = _boto3
        found = module.client(service_name, *args, **options)
        if service_name != "stepfunctions":
            return found
        aliases = tuple(filter(None, os.environ.get(ALIASES, "").split(",")))
        same: Any = {key: value for key, value in options.items() if key.startswith("aws_")}  # credentials
        if aliases:
            same["region_name"] = aliases[0].split(":")[3]
        functions = module.client("lambda", **same, config=Config(read_timeout=LONGEST_CALL_S))
        return TaskResponses(found, functions, aliases)


boto3: Any = _Boto3()
"""In place of the module boto3."""
