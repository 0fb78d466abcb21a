"""Settings of one emulator process."""

import secrets
from dataclasses import dataclass, field
from pathlib import Path

REGION = "us-east-1"
ACCOUNT = "000000000000"
HOST = "127.0.0.1"


@dataclass(frozen=True)
class AccessKey:
    """Access key of one emulator, random by default.

    Attributes:
        id: AWS_ACCESS_KEY_ID.
        secret: AWS_SECRET_ACCESS_KEY.
    """

    id: str = field(default_factory=lambda: f"UNUM{secrets.token_hex(8).upper()}")
    secret: str = field(default_factory=lambda: secrets.token_hex(32), repr=False)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Limits and locations of one emulator.

    Attributes:
        port: TCP port on the loopback interface.
        auth: enforce IAM policies.
        work: private directory, removed at the end.
        logs: directory with one log file per function.
        max_sandboxes: maximum number of function processes. Synchronous calls may exceed it after a pause: a caller
            that waits for its callee must not wait for its own process.
        dispatchers: maximum number of parallel asynchronous events.
        max_starting: maximum number of processes in the init phase.
        account_concurrency: Lambda's quota for concurrent executions of all functions.
        history: file for everything that tables, Lambda and queues see; None to record nothing.
        key: the emulator's access key.
    """

    port: int
    auth: bool
    work: Path
    logs: Path
    max_sandboxes: int = 24
    dispatchers: int = 24
    max_starting: int = 3
    account_concurrency: int = 1000
    history: Path | None = None
    key: AccessKey = field(default_factory=AccessKey)

    @property
    def endpoint(self) -> str:
        """Endpoint URL for all clients and functions."""
        return f"http://{HOST}:{self.port}"
