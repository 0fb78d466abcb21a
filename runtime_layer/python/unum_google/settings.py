"""Configuration of a function on Google Cloud, from its environment.

* `UNUM_SERVICE`: JSON object with the fields of `Service`.
* ``FIRESTORE_EMULATOR_HOST`` and `TASKS_HOST`: servers on this machine in place of Google's, without TLS.
"""

import os
from collections.abc import Mapping
from functools import cache

from unum_runtime.cold_start.records import dataclass, field
from unum_runtime.json_text import parse_json
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S

SERVICE = "UNUM_SERVICE"
TASKS_HOST = "CLOUD_TASKS_EMULATOR_HOST"

GOOGLE_CERTS = "https://www.googleapis.com/oauth2/v1/certs"
"""Google's public keys for ID tokens. Source: Google Identity documentation, "Validate ID tokens"."""


@dataclass(frozen=True, kw_only=True)
class Service:
    """Settings of the workflow in one function.

    Attributes:
        definition: path of the compiled workflow, a JSON file beside the function's code.
        project: name of the project.
        database: name of the Firestore database, if the state is there.
        hosts: handlers of the workflow's functions that run here, as ``module.attribute`` by key.
        routes: URL of each function of the workflow, by key.
        address: URL of this function, the audience of tokens for it.
        queues: full name of the Cloud Tasks queue of each function, by its URL.
        account: email of the service account of all functions of the workflow. Its tokens alone carry events.
        starters: emails of the accounts that may start executions; functions may not, unless they are listed.
        retention_s: retention of items in seconds.
        timeout_s: time that Google Cloud gives a request to this function, in seconds; at most half an hour, because
            then Cloud Tasks delivers an event again.
        attempts: deliveries of an event that may end without an answer, before its Task fails.
        certs_url: URL of the public keys of tokens.
        store: ``module.attribute`` of a function that takes a `Clock` and returns the store of the workflow, a
            `ConditionalStore`; Firestore if empty.
    """

    definition: str
    project: str
    hosts: Mapping[str, str]
    routes: Mapping[str, str]
    address: str
    queues: Mapping[str, str]
    account: str
    database: str = "(default)"
    starters: tuple[str, ...] = ()
    retention_s: int = DEFAULT_RETENTION_S
    timeout_s: int = 540
    attempts: int = 3
    certs_url: str = field(default=GOOGLE_CERTS)
    store: str = ""


@cache
def service() -> Service:
    """Return the settings of this function.

    Raises:
        KeyError: the environment has none.
    """
    given = parse_json(os.environ[SERVICE])
    return Service(**given | {"starters": tuple(given.get("starters", ()))})
