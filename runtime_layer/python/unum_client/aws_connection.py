"""AWS clients behind `connect`: those of a boto3 session, unless another source is given."""

from collections.abc import Callable, Mapping
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from unum_client.aws_clients import AwsClients
from unum_runtime.aws.invoker import PARALLEL_CALLS, LambdaInvoker
from unum_runtime.aws.object_bucket import S3Objects
from unum_runtime.features.activities import Activities
from unum_runtime.features.bucket_state.s3 import S3Store
from unum_runtime.functions.operations.caller import LambdaCaller
from unum_runtime.store.base import BUCKET, Index, Store
from unum_runtime.store.dynamodb import DynamoStore
from unum_runtime.store.large_items import LargeItems

if TYPE_CHECKING:
    from boto3 import Session


class AwsConnection:
    """AWS clients of one session.

    Args:
        session: source of credentials and region, or of clients; None for boto3's default session.
    """

    def __init__(self, session: "Session | AwsClients | None") -> None:
        self.clients = session if isinstance(session, AwsClients) else Boto3Clients(session)

    def open_stores(self, table: str, workflow: str, payload_bucket: str | None) -> tuple[Store, Index]:
        """Return the workflow's store, and its table or bucket as index."""
        # Created once: clients are thread-safe, their creation is not.
        objects = self._pooled("s3") if payload_bucket or table.startswith(BUCKET) else None
        items: DynamoStore | S3Store
        if table.startswith(BUCKET):
            items = S3Store(lambda: objects, table.removeprefix(BUCKET))
        else:
            items = DynamoStore(self._pooled("dynamodb"), table)
        if payload_bucket is None:
            return items, items
        return LargeItems(items, S3Objects(lambda: objects, payload_bucket), workflow), items

    def invoker(self) -> LambdaInvoker:
        """Return an invoker for asynchronous requests."""
        return LambdaInvoker(self._pooled("lambda"))

    def caller(self, *, attempts: int = 5, **config: Any) -> LambdaCaller:
        """Return a caller for synchronous requests, with up to `attempts` attempts each."""
        return LambdaCaller(self._client("lambda", attempts=attempts, **config))

    def activities(self, queues: Mapping[str, str] | None) -> Activities | None:
        """Return activities with their queues; None without any."""
        return Activities(self._client("sqs"), queues) if queues else None

    def _pooled(self, service: str) -> Any:
        return self._client(service, max_pool_connections=PARALLEL_CALLS)

    def _client(self, service: str, *, attempts: int = 5, **config: Any) -> Any:
        return _LazyClient(partial(self.clients.create, service, retries=attempts, **config))


class Boto3Clients(AwsClients):
    """Clients of a boto3 session.

    Args:
        session: the session; None for a new one with boto3's defaults.
    """

    def __init__(self, session: "Session | None") -> None:
        import boto3  # noqa: PLC0415 - an optional dependency, and slow

        self.session = session or boto3.Session()

    def create(self, service: str, *, retries: int, **config: Any) -> Any:  # noqa: D102 - in the base class
        from botocore.config import Config  # noqa: PLC0415 - as above

        create: Any = self.session.client  # boto3's type stubs accept only literal names
        return create(service, config=Config(retries={"mode": "standard", "max_attempts": retries}, **config))


class _LazyClient:
    """AWS client that is created on first use: each takes a tenth of a second, and most commands need one or two."""

    def __init__(self, create: Callable[[], Any]) -> None:
        self._create = create

    def __getattr__(self, operation: str) -> Any:
        with _CREATION:
            if "_client" not in vars(self):
                self._client = self._create()
        return getattr(self._client, operation)


_CREATION = Lock()
"""Lock of all creations, because sessions are not safe to use from several threads."""
