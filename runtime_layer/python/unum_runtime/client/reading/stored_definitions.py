"""Find the definition that an execution runs on, in the workflow's store."""

from unum_runtime.model.checkpoint import Checkpoint
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Execution, Name, execution_partition
from unum_runtime.protocol.history.definition_records import read_definition
from unum_runtime.store.base import Store


def definition_of(store: Store, workflow: str, execution: Execution) -> Workflow | None:
    """Return the definition that `execution` runs on; None before its first commit, which names the version.

    Raises:
        DefinitionNotStored: the store does not have that version.
        StoreError: the store did not answer.
    """
    # A stop takes the place of a step and names no version, but the step before it does.
    newest = store.query(execution_partition(workflow, execution), newest=2)
    steps = (Checkpoint.from_item(Name(execution, (), int(key.sort)), item) for key, item in newest.items())
    digests = [step.digest for step in steps if step.digest]
    return read_definition(store, workflow, digests[0]) if digests else None
