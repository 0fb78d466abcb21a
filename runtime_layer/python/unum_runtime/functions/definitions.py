"""Load a workflow's IR from an environment, layer, an object in S3, or the workflow's store; keep it in the store."""

import binascii
import sys
import zlib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from threading import Thread

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import NotOurEvent, StoreError
from unum_runtime.functions.configuration import ENTRY, INLINE, STORE, Service, services
from unum_runtime.model.ir import Home, Workflow
from unum_runtime.model.naming import WORKFLOWS_FOLDER
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.base import Store

MAX_WRITE_WAIT_S = 0.5
"""Longest time that a start waits until its definition is stored, in seconds."""

MAX_NEEDED_WAIT_S = 2.0
"""The same where other functions need it: Lambda's default timeout of 3 s, less a second for the start itself.

A start that gives up is delivered again, which takes a minute on AWS and counts as an error of the function.
"""

RETRY_MS = 60_000
"""Time after a failed write before the next attempt of this sandbox, in milliseconds."""

NO_DEFINITION = ""
"""Digest of runtimes for work that needs the workflow's name alone."""

_due_ms: dict[str, int] = {}
"""Time of the next write of a definition by this sandbox, by digest, in milliseconds since 1970."""

_kept: set[str] = set()
"""Digests of the definitions that this sandbox has stored, or found stored, at least once."""


@cache
def load_workflow(name: str) -> Workflow:
    """Load workflow `name`'s IR from the environment, from its configured object, or from a layer.

    Raises:
        FileNotFoundError: no folder on the path contains it.
    """
    service = services().get(name)
    if service is not None and (own := definition_in(name, service)) is not None:
        return own
    values = {} if service is None else service.values
    if service is not None and service.definition is not None:
        from unum_runtime.aws.definition_object import read_definition  # noqa: PLC0415 - only container images need it

        return _parsed(read_definition(service.definition), values)
    # A function may have the layers of several workflows, and an image may put its own copy anywhere on the path.
    for folder in sys.path:
        with (
            suppress(FileNotFoundError, NotADirectoryError),
            open(f"{folder}/{WORKFLOWS_FOLDER}/{name}.json", encoding="utf-8") as file,  # noqa: PTH123 - 6 ms of import
        ):
            return _parsed(file.read(), values)
    file_name = f"{WORKFLOWS_FOLDER}/{name}.json"
    raise FileNotFoundError(f"{file_name} is in none of {sys.path}; is the workflow's layer attached?")


def definition_in(name: str, service: Service) -> Workflow | None:
    """Return the definition that `service` contains, which may configure another function; None without one."""
    text = service.definition or ""
    return _inflated(name, text, tuple(service.values.items())) if text.startswith(INLINE) else None


@cache
def _inflated(_name: str, text: str, values: tuple[tuple[str, str], ...]) -> Workflow:
    return _parsed(zlib.decompress(binascii.a2b_base64(text.removeprefix(INLINE))).decode(), dict(values))


def _home_beside(function_arn: str) -> Home:
    _, partition, _, region, account, *_ = function_arn.split(":")
    return Home(partition=partition, region=region, account=account)


def has_own_definition(name: str) -> bool:
    """Return True if this function brings a definition of workflow `name`."""
    return name not in services() or services()[name].definition not in (STORE, ENTRY)


def definition_at(store: Store, name: str, service: Service, digest: str | None, function_arn: str) -> Workflow:
    """Return workflow `name`'s definition with `digest`, for functions beside `function_arn`.

    Any other definition than that of `service` or this function is read from `store` once for each sandbox, and
    verified against its digest.

    Args:
        store: the workflow's store.
        name: name of the workflow.
        service: settings of the function that needs it, which may contain a definition.
        digest: digest of the definition; None for that of `service` or this function; or `NO_DEFINITION`.
        function_arn: ARN of the function, whose partition, region and account the context object has.

    Raises:
        DefinitionNotStored: the store has no such definition.
        InconsistentHistory: what the store has under this digest is another text.
        ClientError: a later release has compiled it.
        StoreError: the store did not answer.
    """
    return replace(_found(store, name, service, digest), home=_home_beside(function_arn))


def _found(store: Store, name: str, service: Service, digest: str | None) -> Workflow:
    if digest == NO_DEFINITION:
        return Workflow(name=name, start_at="", states={})
    own = definition_in(name, service) or (load_workflow(name) if has_own_definition(name) else None)
    if own is not None and digest in (None, own.digest):
        return own
    if digest is None:
        raise NotOurEvent(f"workflow {name!r}: no execution starts in this function")
    if (name, digest) not in _stored:
        from unum_runtime.protocol.requests.definition_records import read_definition  # noqa: PLC0415 - few events need it

        _stored[name, digest] = read_definition(store, name, digest)
    return _stored[name, digest]


_stored: dict[tuple[str, str], Workflow] = {}
"""Definitions that this sandbox has read from stores, by workflow and digest; they are verified and never change."""


def keep_definition(rt: Runtime) -> None:
    """Store the definition of `rt` for its executions' functions and readers, about once a day and sandbox.

    Functions of executions that start now may have no other source. A copy that this sandbox has stored before serves
    them, if today's is refused: it lasts a day longer than needed.

    Raises:
        StoreError: the definition may not be stored, and other functions than this one may need it.
    """
    name, now_ms, digest = rt.workflow.name, rt.clock.now_ms(), rt.workflow.digest
    needs_store = rt.workflow.variant is not None or (name in services() and services()[name].stores_first)
    if now_ms >= _due_ms.get(digest, 0):
        _due_ms[digest] = now_ms + RETRY_MS
        # In a thread, because AWS's clients repeat a throttled call for half a minute, longer than many functions may
        # run.
        writing = Thread(target=_write, args=(rt,), daemon=True)
        writing.start()
        writing.join(MAX_NEEDED_WAIT_S if needs_store and digest not in _kept else MAX_WRITE_WAIT_S)
    if digest not in _kept and needs_store:
        _due_ms.pop(digest, None)
        raise StoreError(f"the definition of workflow {name!r} is not stored yet; try again")


def _write(rt: Runtime) -> None:
    from unum_runtime.protocol.requests.definition_records import write_definition  # noqa: PLC0415 - once a day

    try:
        _due_ms[rt.workflow.digest] = write_definition(rt)
        _kept.add(rt.workflow.digest)
    except StoreError as error:
        rt.log("definition not stored", reason=str(error))


def _parsed(ir: str, values: Mapping[str, str]) -> Workflow:
    """Return the workflow in the text `ir`, with `values` in place of its placeholders."""
    # The text is the same in every deployment, so its digest cannot depend on ARNs that CloudFormation chooses.
    if not values:
        return Workflow.from_json(ir)
    from unum_runtime.asl.deployed_workflow import load  # noqa: PLC0415 - few workflows have any

    return load(ir, values)
