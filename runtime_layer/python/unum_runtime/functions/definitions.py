"""Load a workflow's IR from environment, layer, an object in S3, or the workflow's store; keep it in the store."""

import binascii
import sys
import zlib
from contextlib import suppress
from functools import cache
from threading import Thread

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import NotOurEvent, StoreError
from unum_runtime.functions.configuration import INLINE, STORE, services
from unum_runtime.model.ir import Home, Workflow
from unum_runtime.model.naming import WORKFLOWS_FOLDER
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.base import Store

MAX_WRITE_WAIT_S = 0.5
"""Longest time that a start waits until its definition is stored, in seconds."""

RETRY_MS = 60_000
"""Time after a failed write before the next attempt of this sandbox, in milliseconds."""

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
    given = services()[name].definition if name in services() else None
    if given is not None and given.startswith(INLINE):
        return _parsed(name, _inflated(given.removeprefix(INLINE)))
    if given is not None:
        from unum_runtime.aws.definition_object import read_definition  # noqa: PLC0415 - only container images need it

        return _parsed(name, read_definition(given))
    # A function may have the layers of several workflows, and an image may put its own copy anywhere on the path.
    for folder in sys.path:
        with (
            suppress(FileNotFoundError, NotADirectoryError),
            open(f"{folder}/{WORKFLOWS_FOLDER}/{name}.json", encoding="utf-8") as file,  # noqa: PTH123 - 6 ms of import
        ):
            return _parsed(name, file.read())
    file_name = f"{WORKFLOWS_FOLDER}/{name}.json"
    raise FileNotFoundError(f"{file_name} is in none of {sys.path}; is the workflow's layer attached?")


def _inflated(text: str) -> str:
    return zlib.decompress(binascii.a2b_base64(text)).decode()


@cache
def load_workflow_at(name: str, function_arn: str) -> Workflow:
    """Load workflow `name` with partition, region and account of `function_arn`, for the context object."""
    return replace(load_workflow(name), home=_home_beside(function_arn))


def _home_beside(function_arn: str) -> Home:
    _, partition, _, region, account, *_ = function_arn.split(":")
    return Home(partition=partition, region=region, account=account)


def has_own_definition(name: str) -> bool:
    """Return True if this function brings a definition of workflow `name`, other than the store's."""
    return name not in services() or services()[name].definition != STORE


def definition_at(store: Store, name: str, digest: str | None, function_arn: str) -> Workflow:
    """Return workflow `name`'s definition with `digest`, or this function's own, for functions beside `function_arn`.

    A definition of another version is read from `store` once for each sandbox, and verified against its digest.

    Raises:
        DefinitionNotStored: the store has no such definition.
        InconsistentHistory: what the store has under this digest is another text.
        ClientError: a later release has compiled it.
        StoreError: the store did not answer.
    """
    if has_own_definition(name):
        own = load_workflow_at(name, function_arn)
        if digest in (None, own.digest):
            return own
    if digest is None:
        raise NotOurEvent(f"workflow {name!r}: no execution starts in this function")
    if (name, digest) not in _stored:
        from unum_runtime.protocol.history.definition_records import read_definition  # noqa: PLC0415 - few events need it

        _stored[name, str(digest)] = read_definition(store, name, str(digest))
    return replace(_stored[name, str(digest)], home=_home_beside(function_arn))


_stored: dict[tuple[str, str], Workflow] = {}
"""Definitions that this sandbox has read from stores, by workflow and digest; they are verified and never change."""


def keep_definition(rt: Runtime) -> None:
    """Store the definition of `rt` for its executions' functions and readers, about once a day and sandbox.

    Functions of executions that start now may have no other source. A copy that this sandbox has stored before serves
    them, if today's is refused: it lasts a day longer than needed.

    Raises:
        StoreError: the definition may not be stored, and other functions than this one may need it.
    """
    now_ms, digest = rt.clock.now_ms(), rt.workflow.digest
    if now_ms >= _due_ms.get(digest, 0):
        _due_ms[digest] = now_ms + RETRY_MS
        # In a thread, because AWS's clients repeat a throttled call for half a minute, longer than many functions may
        # run.
        writing = Thread(target=_write, args=(rt,), daemon=True)
        writing.start()
        writing.join(MAX_WRITE_WAIT_S)
    name = rt.workflow.name
    needs_store = rt.workflow.variant is not None or (name in services() and services()[name].stores_first)
    if digest not in _kept and needs_store:
        _due_ms.pop(digest, None)
        raise StoreError(f"the definition of workflow {name!r} is not stored yet; try again")


def _write(rt: Runtime) -> None:
    from unum_runtime.protocol.history.definition_records import write_definition  # noqa: PLC0415 - once a day

    try:
        _due_ms[rt.workflow.digest] = write_definition(rt)
        _kept.add(rt.workflow.digest)
    except StoreError as error:
        rt.log("definition not stored", reason=str(error))


def _parsed(name: str, ir: str) -> Workflow:
    """Return the workflow in the text `ir`, with `Service.values` in place of its placeholders."""
    # The layer is the same in every deployment, so its digest cannot depend on ARNs that CloudFormation chooses.
    values = services()[name].values if name in services() else {}
    if not values:
        return Workflow.from_json(ir)
    from unum_runtime.asl.deployed_workflow import load  # noqa: PLC0415 - few workflows have any

    return load(ir, values)
