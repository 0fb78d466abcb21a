"""Find the definitions that an execution has run on, in the workflow's store."""

from contextlib import suppress
from typing import NamedTuple

from unum_client.reading.stored_steps import steps
from unum_runtime.errors import DefinitionNotStored
from unum_runtime.model.checkpoint import Checkpoint
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Execution, Name, execution_partition
from unum_runtime.protocol.history.past import past_digest
from unum_runtime.protocol.requests.definition_records import read_definition
from unum_runtime.store.base import Store


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
