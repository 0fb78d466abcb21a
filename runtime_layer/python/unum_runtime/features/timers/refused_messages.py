"""Messages of the timer queue that the forwarder refuses: dead letters that nothing delivers, for an operator."""

from collections.abc import Mapping
from typing import Any

from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import InvokeError
from unum_runtime.json_text import to_text
from unum_runtime.model.states import Json
from unum_runtime.wire.call_errors import call_errors

REFUSED = "refused"
"""Field of such a dead letter with the reason."""


@dataclass(frozen=True)
class RefusedMessages:
    """Failure queue, for refused messages.

    Attributes:
        client: SQS client.
        queue_url: URL of the failure queue.
    """

    client: Any
    queue_url: str

    def keep(self, record: Mapping[str, Json], reason: str) -> None:
        """Send the message in `record` to the failure queue.

        Raises:
            InvokeError: SQS did not take it, because it is too long together with the reason, or for another cause.
        """
        letter = {REFUSED: reason, "sender": record["attributes"]["SenderId"], "body": record["body"]}
        entry = {"Id": "0", "MessageBody": to_text(letter)}
        try:
            response = self.client.send_message_batch(QueueUrl=self.queue_url, Entries=[entry])
        except call_errors() as error:
            raise InvokeError(f"failure queue {self.queue_url}: {error}") from error
        for failed in response.get("Failed", ()):
            raise InvokeError(f"failure queue {self.queue_url}: {failed['Code']}: {failed.get('Message', '')}")
