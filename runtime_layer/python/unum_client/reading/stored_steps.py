"""Read stored executions without their workflows' definitions, and find the stored definitions that they ran on."""

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from unum_runtime.errors import DefinitionNotStored
from unum_runtime.model.checkpoint import Checkpoint, Ending
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Execution, Name, execution_partition
from unum_runtime.protocol.history.past import past_digest
from unum_runtime.protocol.history.start_records import last_step, start_record
from unum_runtime.protocol.history.timeline import nested_steps, top_level
from unum_runtime.protocol.history.timeline import redrives as redrives_of
from unum_runtime.protocol.requests.definition_records import read_definition
from unum_runtime.store.base import Store

__all__ = ["ending", "last_step", "redrives", "start_record", "steps"]


def definition_of(store: Store, workflow: str, execution: Execution) -> Workflow | None:
    """Return the definition that `execution` runs on; None before its first commit, which names the version.

    Raises:
        DefinitionNotStored: the store does not have that version.
        StoreError: the store did not answer.
    """
    # A stop takes the place of a step and names no version, but the step before it does.
    newest = store.query(execution_partition(workflow, execution), newest=2)
    found = (Checkpoint.from_item(Name(execution, (), int(key.sort)), item) for key, item in newest.items())
    digests = [step.digest for step in found if step.digest]
    return read_definition(store, workflow, digests[0]) if digests else None


class Past(NamedTuple):
    """What readers of an execution's past need.

    Attributes:
        last: the last definition that it has run on.
        checkpoints: start record, steps and stop records.
        earlier: other definitions that it, or the originals of its copies, have run on.
    """

    last: Workflow
    checkpoints: list[Checkpoint]
    earlier: list[Workflow]


def past_of(store: Store, last: Workflow, record: Checkpoint) -> Past:
    """Return the past of the execution with the start record `record` and the definition `last`.

    Raises:
        DefinitionNotStored: the store does not have one of the definitions.
        StoreError: the store did not answer.
    """
    checkpoints = [record, *steps(store, last.name, record.name.execution)]
    own = dict.fromkeys(each.digest for each in checkpoints if each.digest)
    if own and last.digest not in own:  # a file of another version; readers say which one is needed
        return Past(last, checkpoints, [])
    copied = dict.fromkeys(map(past_digest, checkpoints))
    earlier = [read_definition(store, last.name, digest) for digest in own if digest != last.digest]
    for digest in copied.keys() - own.keys() - {last.digest, ""}:
        # A fork may outlive its original. Without that definition, the copies are shown by the fork's own.
        with suppress(DefinitionNotStored):
            earlier.append(read_definition(store, last.name, digest))
    return Past(last, checkpoints, earlier)


def ending(store: Store, workflow: str, execution: Execution) -> Ending | None:
    """Return an execution's end; None while it runs."""
    last = last_step(store, workflow, execution)
    return last.ending if last else None


def steps(store: Store, workflow: str, execution: Execution) -> Iterator[Checkpoint]:
    """Yield every committed step; each scope's steps follow their opening step.

    Reads one partition per shard of each fan-out, besides the top level.
    """
    return nested_steps(store, workflow, top_level(store, workflow, execution))


def redrives(store: Store, workflow: str, execution: Execution) -> list[Checkpoint]:
    """Return commits of all redrives, in order; reads the whole top level."""
    return [redrive for _, redrive in redrives_of(top_level(store, workflow, execution))]
