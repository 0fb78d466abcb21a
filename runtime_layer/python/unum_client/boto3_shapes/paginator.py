"""Paginators in boto3's shape."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from unum_runtime.errors import ClientError


@dataclass(frozen=True)
class Paginator:
    """Page iterator for one operation, as in boto3.

    Attributes:
        operation: method that returns one page.
    """

    operation: Callable[..., Any]

    def paginate(self, *, PaginationConfig: Mapping[str, int] | None = None, **arguments: Any) -> Iterator[Any]:  # noqa: N803 - boto3's name
        """Yield the pages.

        Args:
            PaginationConfig: ``PageSize`` for a page size other than 100.
            arguments: arguments of the operation.

        Raises:
            ClientError: `PaginationConfig` has other members.
        """
        config = dict(PaginationConfig or {})
        size = config.pop("PageSize", 0)
        if config:
            raise ClientError(
                f"PaginationConfig: expected PageSize alone, got {sorted(config)}; end the loop after enough pages"
            )
        page = self.operation(**{"maxResults": size, **arguments})
        yield page
        while "nextToken" in page:
            page = self.operation(**{"maxResults": size, **arguments, "nextToken": page["nextToken"]})
            yield page
