"""Collection: what becomes of outcomes that nobody can need any more.

Under `Collection.TTL` they expire, and nothing is ever deleted: the checkpoint is its own tombstone. Under
`Collection.EAGER` whoever has committed an outcome and sent what follows from it turns what it was made of into
tombstones: a node its parent, a join all branches, their completion sets and the checkpoint that opened the fan-out.
From then on no delivery of the parent can matter, for its successors have committed; a late one finds the tombstone.
The start record and the checkpoint that ended the execution are kept.

Source of the scheme: Unum, "Garbage collection"; there the checkpoint is deleted and a late duplicate runs again.
"""

from unum_runtime.model.envelope import Envelope, Neighbours, Results
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import Key, Name, Scope, checkpoint_key, completion_key, root_key, shard_partition
from unum_runtime.protocol.plan import is_start
from unum_runtime.protocol.runtime import Runtime


def collect_behind(rt: Runtime, envelope: Envelope) -> None:
    """Collect what the input of `envelope` was made of; its outcome is committed and what follows is sent."""
    if rt.collection is Collection.TTL:
        return
    if isinstance(envelope.input, Results):
        rt.store.collect(_scope_keys(rt, envelope.input.scope))
    elif envelope.name.step > 0 and not isinstance(envelope.input, Neighbours):  # the branch after it needs the same
        rt.store.collect(_parent_key(rt, envelope.name))


def collect_scope(rt: Runtime, scope: Scope) -> None:
    """Collect all that a scope has stored; what it came to is committed and what follows is sent."""
    if rt.collection is Collection.EAGER:
        rt.store.collect(_scope_keys(rt, scope))


def _parent_key(rt: Runtime, name: Name) -> list[Key]:
    parent = Name(name.execution, name.frames, name.step - 1)
    return [] if is_start(parent) else [checkpoint_key(rt.workflow.name, parent)]


def _scope_keys(rt: Runtime, scope: Scope) -> list[Key]:
    keys = [checkpoint_key(rt.workflow.name, scope.origin)]
    for shard in range(scope.shards):
        keys += rt.store.query(shard_partition(rt.workflow.name, scope, shard))
        keys.append(completion_key(rt.workflow.name, scope, shard))
    return keys if scope.shards == 1 else [*keys, root_key(rt.workflow.name, scope)]
