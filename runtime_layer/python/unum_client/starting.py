"""Starts of executions through the workflow's run alias."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unum_client.alias_requests import Caller, send_request
from unum_client.polling import Pauses
from unum_runtime.cold_start.digest import sha256
from unum_runtime.errors import ExecutionAlreadyExists, InvalidExecutionInput, InvalidName, InvokeError, StartsPaused
from unum_runtime.json_text import to_text
from unum_runtime.model.envelope import start_event
from unum_runtime.model.requests import INPUT, UPLOADED, run_request, upload_request, uploaded_event
from unum_runtime.model.states import Json
from unum_runtime.protocol.requests.answers import MAX_BYTES
from unum_runtime.protocol.runtime import Invoker

MAX_SUBMITTED_BYTES = 990_000
"""Largest input of an asynchronous start, with some space for its name.

Source: AWS Lambda Developer Guide, "Lambda quotas": 1 MB for each asynchronous request.
"""

TRANSFER_S = 300
"""Timeout in seconds of an upload or a download."""


@dataclass(frozen=True, kw_only=True)
class Starts:
    """Starts of one workflow's executions; the workflow's own function writes the start records.

    Attributes:
        caller: connection for starts that are answered.
        invoker: connection for starts that are not.
        run_alias: ARN of the workflow's run alias.
    """

    caller: Caller
    invoker: Invoker
    run_alias: str

    def start(
        self,
        name: str,
        value: Json,
        *,
        lease: bool,
        pauses: Pauses,
        force: bool = False,
        attributes: Mapping[str, Json] | None = None,
    ) -> Mapping[str, Any]:
        """Start an execution, and return the answer of `unum_runtime.protocol.requests.run`.

        With a lease, wait while another client's request is starting it.

        Raises:
            InvalidExecutionInput: too large for the workflow, or attributes beyond their bounds.
            ExecutionAlreadyExists: the name was started with another input.
            StartsPaused: the workflow is paused.
            InvokeError: unknown whether the execution exists; call again with the same name.
            WaitTimedOut: another client held the lease until the deadline.
        """
        request = run_request(name, self._content(value, MAX_BYTES), lease=lease, force=force, attributes=attributes)
        first = answer = self._ask(request)
        while "Waits" in answer:
            pauses.pause()
            answer = self._ask(request)
        return {**answer, "IsNew": first["IsNew"]}

    def submit(self, name: str, value: Json, attributes: Mapping[str, Json] | None = None) -> None:
        """Send a start without waiting for what becomes of it.

        Raises:
            InvalidExecutionInput: too large for the workflow.
            InvokeError: unknown whether Lambda accepted the request; call again with the same name.
        """
        content = self._content(value, MAX_SUBMITTED_BYTES)
        if INPUT in content:
            event = start_event(name, value, attributes)
        else:
            event = uploaded_event(name, content[UPLOADED], attributes)
        self.invoker.invoke([(self.run_alias, to_text(event).encode())])

    def _content(self, value: Json, most: int) -> dict[str, Json]:
        """Return `value` for a request of at most `most` bytes, uploaded if necessary."""
        content = to_text(value).encode()
        return {INPUT: value} if len(content) <= most else {UPLOADED: self._upload(content)}

    def _upload(self, content: bytes) -> Json:
        link = self._ask(upload_request(sha256(content), len(content)))
        transfer(link["url"], method="PUT", data=content, headers=link["headers"])
        return link[UPLOADED]

    def _ask(self, request: Json) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = send_request(
            self.caller,
            self.run_alias,
            request,
            ExecutionAlreadyExists,
            InvalidExecutionInput,
            InvalidName,
            StartsPaused,
        )
        return answer


def transfer(url: str, **request: Any) -> bytes:
    """Send a request to a link that the workflow made, and return the content of the response.

    Raises:
        InvokeError: the link did not work; repeat the call that led to it.
    """
    import urllib.request  # noqa: PLC0415 - slow, and few values are too large for a request
    from http.client import HTTPException  # noqa: PLC0415 - the same

    try:
        asked = urllib.request.Request(url, **request)  # noqa: S310 - the link is the answer of the workflow's function
        with urllib.request.urlopen(asked, timeout=TRANSFER_S) as response:  # noqa: S310
            content: bytes = response.read()
    except (OSError, HTTPException) as error:
        raise InvokeError(f"{url.partition('?')[0]}: {error}") from error
    return content
