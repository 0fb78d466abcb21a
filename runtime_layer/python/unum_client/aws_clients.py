"""Source of AWS clients in place of a boto3 session, for programs that load boto3 late or never."""

from abc import ABC, abstractmethod
from typing import Any


class AwsClients(ABC):
    """Source of AWS clients; `connect` takes it as its `session`."""

    @abstractmethod
    def create(self, service: str, *, retries: int, **config: Any) -> Any:
        """Return a client with boto3's parameters and responses.

        Args:
            service: boto3's name of the service.
            retries: most retries of each call.
            config: other options of botocore's `Config`: `max_pool_connections`, `read_timeout`.
        """
