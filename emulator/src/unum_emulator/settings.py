"""What one emulator process was told at its start."""

from dataclasses import dataclass
from pathlib import Path

REGION = "us-east-1"
ACCOUNT = "000000000000"
HOST = "127.0.0.1"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The limits and places of one emulator.

    Attributes:
        port: TCP port on the loopback interface.
        auth: whether IAM denies what a role was not granted.
        work: a private directory, removed at the end.
        logs: receives one file per function.
        max_sandboxes: how many function processes may exist; synchronous calls may exceed it after
            a pause, because a caller that waits for its callee must not wait for its own process.
        dispatchers: how many asynchronous events may run at once.
        max_starting: how many processes may be in their init phase at once.
        account_concurrency: Lambda's quota for the concurrent executions of all functions together.
    """

    port: int
    auth: bool
    work: Path
    logs: Path
    max_sandboxes: int = 24
    dispatchers: int = 24
    max_starting: int = 3
    account_concurrency: int = 1000

    @property
    def endpoint(self) -> str:
        """The URL that every client and every function talks to."""
        return f"http://{HOST}:{self.port}"
