"""Open the store that the environment of a function names.

* `UNUM_COSMOS`: JSON object with the account's ``url``, and the names of its ``database`` and ``container``. Further
  fields are arguments of `azure.cosmos.CosmosClient`.
* `UNUM_COSMOS_KEY`: key of the account.
"""

import os
from typing import Any

from unum_azure.cosmos import CosmosStore
from unum_runtime.clock import Clock
from unum_runtime.errors import StoreError
from unum_runtime.json_text import parse_json

SETTINGS, SECRET = "UNUM_COSMOS", "UNUM_COSMOS_KEY"

_REQUIRED = frozenset({"url", "database", "container"})


def open_store(clock: Clock) -> CosmosStore:
    """Return the store of a workflow; the setting `store` of functions names this function.

    Args:
        clock: current time for expiry checks.

    Raises:
        StoreError: the environment does not name an account, or has no key; or see `CosmosStore.connect`.
    """
    account = _account()
    key = os.environ.get(SECRET, "")
    if not key:
        raise StoreError(f"{SECRET}: expected the account's key, got nothing: set it from a secret of your platform")
    return CosmosStore.connect(**account, credential=key, clock=clock)


def _account() -> dict[str, Any]:
    # A `StoreError` puts an event off; any other error counts as a death of the function, and fails Tasks in the end.
    try:
        settings = parse_json(os.environ.get(SETTINGS, "{}"))
    except ValueError as error:
        raise StoreError(f"{SETTINGS}: expected a JSON object: {error}") from error
    if not isinstance(settings, dict) or not settings.keys() >= _REQUIRED:
        found = sorted(settings) if isinstance(settings, dict) else type(settings).__name__
        raise StoreError(f"{SETTINGS}: expected a JSON object with {', '.join(sorted(_REQUIRED))}, got {found}")
    return settings
