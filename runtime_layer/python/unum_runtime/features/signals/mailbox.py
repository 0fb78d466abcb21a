"""Signals: names, limits, and keys of the mailboxes in which waits and signals of an execution meet.

See `unum_runtime.features.signals.signal_wait` for the protocol.
"""

from unum_runtime.cold_start.digest import sha256
from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.model.naming import Execution, Key, answer_key, escape, execution_partition, is_name, pending_key
from unum_runtime.model.states import SIGNAL

MOST_SLOTS = 1_000
"""Slots of a mailbox; whoever looks for a free one may read all before."""

MAX_KEY_BYTES = 256
"""Longest key, in bytes of UTF-8."""

KEY_RULE = f"a text of 1 to {MAX_KEY_BYTES} bytes"


class Mailbox(NamedTuple):
    """The waits and signals of an execution that belong together.

    Attributes:
        execution: the execution.
        signal: name of the signal.
        key: key of the signal; empty without one.
    """

    execution: Execution
    signal: str
    key: str

    def to_json(self) -> dict[str, str]:
        """Return the signal as text for people: name and key, if any."""
        return {"name": self.signal, "key": self.key} if self.key else {"name": self.signal}

    def slot(self, number: int) -> str:
        """Return the digest of a slot, which stands where that of a task token does."""
        return sha256(f"{self.execution} {self.signal} {number} {self.key}".encode())


def signal_of(resource: str | None) -> str | None:
    """Return the name of the signal that a Task with `resource` waits for; None for any other Task."""
    return resource.removeprefix(SIGNAL) if resource is not None and resource.startswith(SIGNAL) else None


def is_signal_name(name: object) -> bool:
    """Return True if a signal may have the name `name`; the rule is that of executions."""
    return is_name(name)


def is_key(key: object) -> bool:
    """Return True if a signal may have the key `key`; a lone surrogate is valid JSON, and no store takes it."""
    if not isinstance(key, str) or not 0 < len(key) <= MAX_KEY_BYTES:
        return False
    raw = key.encode(errors="replace")
    return len(raw) <= MAX_KEY_BYTES and raw.decode() == key


def wait_key(workflow: str, slot: str) -> Key:
    """Return the key of the wait in `slot`."""
    return pending_key(workflow, slot)


def result_key(workflow: str, slot: str) -> Key:
    """Return the key of the result of `slot`."""
    return answer_key(workflow, slot)


def mailboxes_partition(workflow: str, execution: Execution) -> str:
    """Return the partition with the list of an execution's mailboxes that have a key."""
    return f"{execution_partition(workflow, execution)}/mailboxes"


def mailbox_key(workflow: str, mailbox: Mailbox) -> Key:
    """Return the key of the entry of `mailbox` in that list."""
    partition = mailboxes_partition(workflow, mailbox.execution)
    return Key(partition, f"{escape(mailbox.signal)}.{sha256(mailbox.key.encode())}")


def listeners_partition(workflow: str, signal: str, key: str) -> str:
    """Return the partition of the waits for signals with `key`, in all executions."""
    return pending_key(workflow, sha256(f"listeners {signal} {key}".encode())).partition


def listener_key(workflow: str, mailbox: Mailbox, slot: str) -> Key:
    """Return the key of the entry there of the wait in `slot`, a digest, of `mailbox`."""
    return Key(listeners_partition(workflow, mailbox.signal, mailbox.key), slot)


def kept_partition(workflow: str, signal: str, key: str) -> str:
    """Return the partition of the signals with `key` to all executions."""
    return pending_key(workflow, sha256(f"kept {signal} {key}".encode())).partition


def kept_key(workflow: str, signal: str, key: str, identity: str) -> Key:
    """Return the key there of the signal with the id `identity`."""
    return Key(kept_partition(workflow, signal, key), sha256(identity.encode()))
