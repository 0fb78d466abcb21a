"""Read the version that an execution runs on; pin the version that its redrive runs on."""

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.errors import ExecutionNotRedrivable
from unum_runtime.model.checkpoint import Began, Checkpoint, Item, began_from_item, began_to_item
from unum_runtime.model.naming import Name, redrive_key
from unum_runtime.protocol.history.timeline import from_start
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.base import Store


class RunsOn(NamedTuple):
    """Version of an execution or redrive.

    Attributes:
        digest: digest of its IR; None before its first step.
        began: its functions; None if no step recorded them.
    """

    digest: str | None
    began: Began | None


def runs_on(store: Store, workflow: str, execution_name: str) -> RunsOn:
    """Return the version of an execution.

    Raises:
        ExecutionDoesNotExist: no execution has that name.
    """
    return runs_on_after(from_start(store, workflow, execution_name))


def runs_on_after(steps: list[Checkpoint]) -> RunsOn:
    """Return the version of an execution with `steps`, its start record and top level."""
    # Stop records have no version, and start records only those of forks and variants, whose steps have it as well.
    own = [step for step in steps if step.digest]
    began = [step.began for step in own if step.began is not None]
    return RunsOn(own[-1].digest if own else None, began[-1] if began else None)


def pin(rt: Runtime, name: Name, began: Began | None) -> int:
    """Decide that the redrive with step `name` is made on this version, before its first copy, and return its time.

    Copies for `name` have the same keys on each version, but joins of one version refuse results of another.

    Raises:
        ExecutionNotRedrivable: another version has begun it; only that one may finish it.
    """
    item: Item = {"ir": rt.workflow.digest, "at": rt.clock.now_ms(), **began_to_item(began)}
    winner = rt.store.create(redrive_key(rt.workflow.name, name), item, expires_at_s=rt.expires_at_s()) or item
    if winner["ir"] != rt.workflow.digest:
        raise ExecutionNotRedrivable(
            f"execution {name.execution.name!r}: another redrive has begun on IR {winner['ir']}, this is IR "
            f"{rt.workflow.digest}; redrive again to finish that one"
        )
    return int(winner["at"])


def pinned(store: Store, workflow: str, name: Name) -> RunsOn | None:
    """Return the version of the redrive with step `name` that has begun to copy; None without one."""
    key = redrive_key(workflow, name)
    item = store.read([key]).get(key)
    return None if item is None else RunsOn(str(item["ir"]), began_from_item(item))
