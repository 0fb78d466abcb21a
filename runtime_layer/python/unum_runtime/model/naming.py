"""Names of invocations, and the keys under which the store keeps what belongs to them.

An invocation's name is structured data: the execution, the frames of the fan-outs around it, and its step, the ordinal
within the innermost scope. Each invocation computes its successors' names from its own, so no coordination is needed,
and names differ whenever frames or steps do. Within a scope control flow is sequential, hence one step has one state.

Text is made of it only here, for keys. Every free text is escaped first, so that the encoding is injective:
``wf/exec:18c`` is the partition of an execution's top level and ``wf/exec:18c/M@2.0[7]/N@1.0~1`` that of shard 1 of
the scope that fan-out N opened in branch 7 of fan-out M.
"""

import re
from functools import lru_cache
from typing import TypeAlias

from unum_runtime.cold_start.digest import sha256
from unum_runtime.cold_start.records import NamedTuple, dataclass

MAX_NAME = 80
"""Longest name of an execution or a workflow, in characters.

Source: AWS Step Functions API Reference, "StartExecution" and "CreateStateMachine".
"""

NAME_PATTERN = rf"[A-Za-z0-9_-]{{1,{MAX_NAME}}}"
NAME_RULE = f"1 to {MAX_NAME} characters from A-Z a-z 0-9 - _"

_NAME = re.compile(NAME_PATTERN)

WORKFLOWS_FOLDER = "unum_workflows"
"""Folder of a layer with the workflow's IR, beside the package `unum_runtime`."""

SHARD_SIZE = 256
"""Branches per completion shard: as many indexes as keep the shard's item near 1 KB, one DynamoDB write unit."""

PACK_SIZE = 7
"""Branches whose small results lie in one item: as many as keep it within 1 KB, one DynamoDB write unit, if each has
100 bytes."""

MAX_PARTITION_BYTES = 1_024
"""Longer partition keys are hashed; DynamoDB allows 2,048 bytes."""

_HASHED = "#"
"""What stands in hashed partition keys behind the workflow, and in no other key."""

START_STEP = 0
"""The top level's first step is the execution's start record, whose outcome is the execution's input."""

_PACK, _ASIDE = "p", "+"
"""What sort keys in a shard's partition begin and end with that are no checkpoints' own."""

_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_ ")


@dataclass(frozen=True)
class Frame:
    """One level of fan-out.

    Attributes:
        state: the Map or Parallel state that fans out.
        iteration: the fan-out's own step in the scope around it; differs for every round of a loop.
        generation: how often the fan-out was retried before.
        index: which branch this is, from 0.
        size: how many branches the fan-out has.
    """

    state: str
    iteration: int
    generation: int
    index: int
    size: int

    @property
    def shard(self) -> int:
        """The completion shard that the branch belongs to."""
        return self.index // SHARD_SIZE


Frames: TypeAlias = tuple[Frame, ...]


class Execution(NamedTuple):
    """The identity of an execution in its workflow.

    Attributes:
        name: unique among the executions that are stored.
        started_ms: milliseconds since 1970. A name may be used again when its start record has expired; the time keeps
            the new execution apart from what is left of the old one.
    """

    name: str
    started_ms: int

    def __str__(self) -> str:
        return f"{self.name}:{self.started_ms:x}"


@dataclass(frozen=True)
class Name:
    """The unique name of an invocation in its workflow.

    Attributes:
        execution: the execution.
        frames: the fan-outs around the invocation, outermost first.
        step: how many steps its scope took before it.
    """

    execution: Execution
    frames: Frames
    step: int

    @property
    def hops(self) -> int:
        """How many steps lie between the start and this one."""
        return self.step + sum([frame.iteration for frame in self.frames]) if self.frames else self.step

    @property
    def following(self) -> "Name":
        """The name of the step after it, in the same scope."""
        return Name(self.execution, self.frames, self.step + 1)

    @property
    def scopes(self) -> "tuple[Scope, ...]":
        """The scopes of all fan-outs around the invocation, outermost first."""
        return scopes_around(self.execution, self.frames)

    def __str__(self) -> str:
        text: str | None = vars(self).get("text")  # asked for more than once, and a cached property would take a lock
        if text is None:
            text = vars(self)["text"] = self._text()
        return text

    def _text(self) -> str:
        scopes = "".join(f"/{escape(f.state)}@{f.iteration}.{f.generation}[{f.index}]" for f in self.frames)
        return f"{self.execution}{scopes}#{self.step}"


@dataclass(frozen=True)
class Scope:
    """All branches of one fan-out instance.

    Attributes:
        execution: the execution.
        frames: the fan-outs around this one, outermost first.
        state: the Map or Parallel state.
        iteration: its step in the scope around it.
        generation: how often it was retried before.
        size: how many branches it has.
    """

    execution: Execution
    frames: Frames
    state: str
    iteration: int
    generation: int
    size: int

    @classmethod
    def around(cls, execution: Execution, frames: Frames) -> "Scope":
        """The innermost scope of a branch whose `frames` are not empty."""
        *outer, last = frames
        return cls(execution, tuple(outer), last.state, last.iteration, last.generation, last.size)

    def branch(self, index: int) -> Frames:
        """The frames of branch `index`."""
        return (*self.frames, Frame(self.state, self.iteration, self.generation, index, self.size))

    @property
    def join(self) -> Name:
        """Name of the fan-out's own outcome; where a Task is certain to join its results, that of the Task."""
        return Name(self.execution, self.frames, self.iteration)

    @property
    def origin(self) -> Name:
        """Name of the checkpoint from which the fan-out was planned: always the step before it in its own scope."""
        return Name(self.execution, self.frames, self.iteration - 1)

    @property
    def shards(self) -> int:
        """How many completion shards the branches fill."""
        return -(-self.size // SHARD_SIZE)

    def shard_size(self, shard: int) -> int:
        """How many branches `shard` has."""
        return min(SHARD_SIZE, self.size - shard * SHARD_SIZE)

    @property
    def packs(self) -> int:
        """How many packs the branches fill; each has branches of one shard only."""
        return pack_of(self.size - 1) + 1

    def pack_size(self, pack: int) -> int:
        """How many branches `pack` has."""
        shard, _ = divmod(pack, _packs_in_shard())
        return min(PACK_SIZE, shard * SHARD_SIZE + self.shard_size(shard) - first_of(pack))


def is_name(name: object) -> bool:
    """Return True if an execution or a workflow may have the name `name`."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def scopes_around(execution: Execution, frames: Frames) -> tuple[Scope, ...]:
    """All scopes that a branch with `frames` lies in, outermost first."""
    return tuple([Scope.around(execution, frames[:depth]) for depth in range(1, len(frames) + 1)])


def pack_of(index: int) -> int:
    """The pack of branch `index`."""
    shard, place = divmod(index, SHARD_SIZE)
    return shard * _packs_in_shard() + place // PACK_SIZE


def first_of(pack: int) -> int:
    """The first branch of `pack`."""
    shard, place = divmod(pack, _packs_in_shard())
    return shard * SHARD_SIZE + place * PACK_SIZE


def _packs_in_shard() -> int:
    return -(-SHARD_SIZE // PACK_SIZE)


class Key(NamedTuple):
    """Where the store keeps an item; items of one partition are read together, ordered by `sort`."""

    partition: str
    sort: str


def escape(text: str) -> str:
    """`text` with every character that has a meaning in keys as ``%`` and its code point in six hexadecimal digits."""
    if _SAFE.issuperset(text):
        return text
    return "".join(c if c in _SAFE or not c.isascii() else f"%{ord(c):06x}" for c in text)


def start_partition_prefix(workflow: str) -> str:
    """What the partitions of all start records begin with; a client's permission is limited to these."""
    return f"start:{escape(workflow)}/"


def execution_partition_prefix(workflow: str) -> str:
    """What the partitions begin with of all that executions store beside their start records."""
    return f"{escape(workflow)}/"


def partition_prefixes(workflow: str) -> tuple[str, ...]:
    """What the partitions of everything begin with that is stored for `workflow`, and those of no other workflow."""
    shared = (f"{kind}:{escape(workflow)}/" for kind in ("memo", "token"))
    return (start_partition_prefix(workflow), execution_partition_prefix(workflow), *shared)


def start_key(workflow: str, execution_name: str) -> Key:
    """Where the start record of an execution is stored: it alone is found by the execution's name."""
    return Key(start_partition_prefix(workflow) + escape(execution_name), "start")


def checkpoint_key(workflow: str, name: Name) -> Key:
    """Where the checkpoint of `name` is stored.

    Branches lie beside each other in their shard's partition, ordered by index, then step, so that a join reads them
    with one query per shard.
    """
    if not name.frames:
        if name.step == START_STEP:
            return start_key(workflow, name.execution.name)
        return Key(execution_partition(workflow, name.execution), f"{name.step:09d}")
    scope = Scope.around(name.execution, name.frames)
    last = name.frames[-1]
    return key_in_shard(shard_partition(workflow, scope, last.shard), last.index, name.step)


def key_in_shard(partition: str, index: int, step: int) -> Key:
    """Where the checkpoint of a branch is stored, or would be, in the partition of its shard."""
    return Key(partition, f"{index:09d}.{step:09d}")


def place_in_shard(key: Key) -> tuple[int, int]:
    """The branch and the step of a checkpoint whose key is in a shard's partition."""
    index, step = key.sort.split(".")
    return int(index), int(step)


def pack_key(workflow: str, scope: Scope, pack: int, digest: str) -> Key:
    """Where a pack is stored: beside the checkpoints of its branches, so that the same query reads it.

    Args:
        workflow: its name.
        scope: the fan-out.
        pack: its number.
        digest: of the workflow's IR, by which all entries of a pack are.
    """
    first = first_of(pack)
    return Key(shard_partition(workflow, scope, first // SHARD_SIZE), f"{_PACK}{first}.{digest}")


def pack_at(key: Key) -> tuple[int, str] | None:
    """The first branch and the IR's digest of the pack at `key` in a shard's partition; None for any other item."""
    if not key.sort.startswith(_PACK):
        return None
    first, digest = key.sort.removeprefix(_PACK).split(".")
    return int(first), digest


def aside_key(checkpoint: Key) -> Key:
    """Where an outcome is stored that a pack has no room for; it is the invocation's if the pack says so."""
    return checkpoint._replace(sort=f"{checkpoint.sort}{_ASIDE}")


def is_aside(key: Key) -> bool:
    """Whether `key` is one of those."""
    return key.sort.endswith(_ASIDE)


def join_keys(workflow: str, name: Name) -> tuple[Key, ...]:
    """Where it is stored what the fan-outs around `name` came to, outermost first.

    As long as `name` has no outcome, they came to something without it; or the execution was stopped.
    """
    return tuple([checkpoint_key(workflow, scope.join) for scope in name.scopes])


def completion_key(workflow: str, scope: Scope, shard: int) -> Key:
    """Where the completion set of `shard` is stored: in a partition of its own, which no join has to read."""
    return Key(_bounded(f"{_scope_path(workflow, scope)}~{shard}/done"), "done")


def root_key(workflow: str, scope: Scope) -> Key:
    """Where the set of full shards of `scope` is stored."""
    return Key(_bounded(f"{_scope_path(workflow, scope)}/done"), "done")


def failed_key(workflow: str, scope: Scope) -> Key:
    """Where the set of failed branches of `scope` is stored, if it goes on without all of them."""
    return Key(_bounded(f"{_scope_path(workflow, scope)}/done"), "failed")


def meeting_key(workflow: str, scope: Scope, index: int, step: int) -> Key:
    """Where it is stored whether branch `index` and the one before it have both come to `step`."""
    return Key(_bounded(f"{_scope_path(workflow, scope)}~{index // SHARD_SIZE}/met"), f"{index:09d}.{step:09d}")


def memo_key(workflow: str, digest: str) -> Key:
    """Where a result that executions share is stored; `digest` tells of which code and which input."""
    return Key(f"memo:{escape(workflow)}/{digest}", "memo")


def pending_key(workflow: str, digest: str) -> Key:
    """Where it is stored that an invocation waits for somebody to hand in its result; `digest` is of its name."""
    return Key(f"token:{escape(workflow)}/{digest}", "pending")


def answer_key(workflow: str, digest: str) -> Key:
    """Where the result is stored that was handed in."""
    return Key(f"token:{escape(workflow)}/{digest}", "result")


def job_partition(workflow: str, digest: str) -> str:
    """The partition of all that is stored of the jobs of a Task; `digest` is of its name. Nobody else waits for it."""
    return f"token:{escape(workflow)}/{digest}"


def job_key(workflow: str, digest: str, attempt: int, term: int) -> Key:
    """Where it is stored what job a Task waits for: in order of its tries, and for each of their terms."""
    return Key(job_partition(workflow, digest), f"job.{attempt:09d}.{term:09d}")


def term_of_job(key: Key) -> int:
    """The term in a key that `job_key` made."""
    return int(key.sort.rpartition(".")[2])


def lease_key(key: Key) -> Key:
    """Where the lease is stored that keeps others from making the item at `key` meanwhile."""
    return Key(f"{key.partition}/lease", key.sort)


def start_alias(workflow: str) -> str:
    """Name of the alias through which executions of `workflow` start."""
    return f"start-{workflow}"


def control_alias(workflow: str) -> str:
    """Name of the alias through which executions of `workflow` are controlled."""
    return f"control-{workflow}"


def response_alias(workflow: str) -> str:
    """Name of the alias behind the function URL that Tasks of `workflow` are answered through."""
    return f"respond-{workflow}"


@lru_cache(maxsize=64)
def execution_partition(workflow: str, execution: Execution) -> str:
    """The partition of an execution's top level."""
    return f"{execution_partition_prefix(workflow)}{escape(execution.name)}:{execution.started_ms:x}"


def shard_partition(workflow: str, scope: Scope, shard: int) -> str:
    """The partition with all checkpoints of the branches of one shard."""
    return _bounded(f"{_scope_path(workflow, scope)}~{shard}")


def object_folder(workflow: str, partition: str) -> str:
    """Where the objects are kept that items of `partition` refer to: below the workflow's name, by execution.

    Of items that are found by a digest, the digest takes the place of the execution's name.
    """
    _, _, rest = partition.partition("/")
    return f"{escape(workflow)}/{rest.partition('/')[0].removeprefix(_HASHED)}"


def _scope_path(workflow: str, scope: Scope) -> str:
    outer = "".join(f"/{escape(f.state)}@{f.iteration}.{f.generation}[{f.index}]" for f in scope.frames)
    own = f"/{escape(scope.state)}@{scope.iteration}.{scope.generation}"
    return f"{execution_partition(workflow, scope.execution)}{outer}{own}"


def _bounded(partition: str) -> str:
    raw = partition.encode()
    if len(raw) <= MAX_PARTITION_BYTES:
        return partition
    workflow, slash, _ = partition.partition("/")  # stays, because permissions go by it
    return f"{workflow}{slash}{_HASHED}{sha256(raw)}"
