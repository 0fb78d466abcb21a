"""Store of clients without the workflow's table."""

from typing import Any, NoReturn

from unum_runtime.errors import ClientError


class NoTable:
    """Store that cannot be read: see `unum_runtime.store.base.Store`."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise ClientError(
            "table: expected the workflow's table, got None; steps, lists and definitions are read there, descriptions "
            "too unless the client has `describe_alias`"
        )

    create = read = query = collect = extend = add = acquire = renew = release = _refuse
