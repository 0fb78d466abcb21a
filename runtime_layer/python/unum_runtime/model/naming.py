"""Invocation names, and keys of stored items.

An invocation name is structured data: the execution, the frames of the fan-outs around it, and its step, the ordinal
within the innermost scope. Each invocation computes its successors' names from its own, so no coordination is needed.
Control flow within a scope is sequential, hence one step has one state.

Only this module encodes names as text, for keys. Free text is escaped first, so the encoding is injective: two names
never share a key. ``wf/exec:18c`` is the partition of an execution's top level; ``wf/exec:18c/M@2.0[7]/N@1.0~1`` is the
partition of shard 1 of the scope that fan-out N opened in branch 7 of fan-out M. Keys are a stored format: running
executions, IAM policies and clients of other releases compute them too.
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
"""Branches per completion shard: their indexes keep the shard's item near 1 KB, one DynamoDB write unit."""

PACK_SIZE = 7
"""Branches per pack: results of 100 bytes each keep its item within 1 KB, one DynamoDB write unit."""

MAX_PARTITION_BYTES = 1_024
"""Longest readable partition key; longer ones are hashed, because DynamoDB allows 2,048 bytes."""

_HASHED = "#"
"""Mark of hashed partition keys after the workflow, which no other key contains."""

START_STEP = 0
"""First step of the top level: the start record, with the execution's input as outcome."""

_PACK, _ASIDE = "p", "+"
"""Prefix of packs' sort keys, and suffix of sort keys of outcomes that were set aside, in a shard's partition."""

# Characters with a meaning in keys (``/ : @ . [ ] ~ # % +``) are missing here, and so are all other ASCII characters,
# which may get a meaning later.
_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_ ")


@dataclass(frozen=True)
class Frame:
    """Position in one fan-out.

    Attributes:
        state: Map or Parallel state.
        iteration: step of the fan-out in the scope around it, which differs for every round of a loop.
        generation: number of earlier retries of the fan-out.
        index: number of the branch, from 0.
        size: number of branches.
    """

    state: str
    iteration: int
    generation: int
    index: int
    size: int

    @property
    def shard(self) -> int:
        """Completion shard of the branch."""
        return self.index // SHARD_SIZE


Frames: TypeAlias = tuple[Frame, ...]


class Execution(NamedTuple):
    """Identity of an execution in its workflow.

    Attributes:
        name: name, unique among stored executions.
        started_ms: start in milliseconds since 1970. It separates an execution from remains of an earlier one of the
            same name, whose start record has expired.
    """

    name: str
    started_ms: int

    def __str__(self) -> str:
        return f"{self.name}:{self.started_ms:x}"


@dataclass(frozen=True)
class Name:
    """Unique name of an invocation in its workflow.

    Attributes:
        execution: the execution.
        frames: fan-outs around the invocation, outermost first.
        step: number of earlier steps in its scope.
    """

    execution: Execution
    frames: Frames
    step: int

    @property
    def hops(self) -> int:
        """Steps since the start."""
        return self.step + sum([frame.iteration for frame in self.frames]) if self.frames else self.step

    @property
    def following(self) -> "Name":
        """Name of the scope's next step."""
        return Name(self.execution, self.frames, self.step + 1)

    @property
    def scopes(self) -> "tuple[Scope, ...]":
        """Scopes of all fan-outs around the invocation, outermost first."""
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
        frames: fan-outs around this one, outermost first.
        state: Map or Parallel state.
        iteration: its step in the scope around it.
        generation: number of earlier retries.
        size: number of branches.
    """

    execution: Execution
    frames: Frames
    state: str
    iteration: int
    generation: int
    size: int

    @classmethod
    def around(cls, execution: Execution, frames: Frames) -> "Scope":
        """Return the innermost scope around branch `frames`, at least one frame."""
        *outer, last = frames
        return cls(execution, tuple(outer), last.state, last.iteration, last.generation, last.size)

    def branch(self, index: int) -> Frames:
        """Return the frames of branch `index`."""
        return (*self.frames, Frame(self.state, self.iteration, self.generation, index, self.size))

    @property
    def join(self) -> Name:
        """Name of the fan-out's own outcome; for a fan-out before a joining Task, the Task's name."""
        return Name(self.execution, self.frames, self.iteration)

    @property
    def origin(self) -> Name:
        """Name of the opening checkpoint: always the previous step in the fan-out's own scope."""
        return Name(self.execution, self.frames, self.iteration - 1)

    @property
    def shards(self) -> int:
        """Number of completion shards."""
        return -(-self.size // SHARD_SIZE)

    def shard_size(self, shard: int) -> int:
        """Return the number of branches in `shard`."""
        return min(SHARD_SIZE, self.size - shard * SHARD_SIZE)

    @property
    def packs(self) -> int:
        """Number of packs; each contains branches of one shard only."""
        return pack_of(self.size - 1) + 1

    def pack_size(self, pack: int) -> int:
        """Return the number of branches in `pack`."""
        shard, _ = divmod(pack, _packs_in_shard())
        return min(PACK_SIZE, shard * SHARD_SIZE + self.shard_size(shard) - first_of(pack))


def is_name(name: object) -> bool:
    """Return True if an execution or a workflow may have the name `name`."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def scopes_around(execution: Execution, frames: Frames) -> tuple[Scope, ...]:
    """Return all scopes around a branch with `frames`, outermost first."""
    return tuple([Scope.around(execution, frames[:depth]) for depth in range(1, len(frames) + 1)])


def pack_of(index: int) -> int:
    """Return the pack of branch `index`."""
    shard, place = divmod(index, SHARD_SIZE)
    return shard * _packs_in_shard() + place // PACK_SIZE


def first_of(pack: int) -> int:
    """Return the first branch of `pack`."""
    shard, place = divmod(pack, _packs_in_shard())
    return shard * SHARD_SIZE + place * PACK_SIZE


def _packs_in_shard() -> int:
    return -(-SHARD_SIZE // PACK_SIZE)


class Key(NamedTuple):
    """Key of a stored item; one query reads a partition, ordered by `sort`."""

    partition: str
    sort: str


def escape(text: str) -> str:
    """Replace every ASCII character outside `_SAFE` by ``%`` and its code point in six hexadecimal digits."""
    # Injective, because ``%`` itself is escaped and an escape has a fixed length: the result can be decoded. Two states
    # with similar names would otherwise share a key, and one outcome would count for both.
    if _SAFE.issuperset(text):
        return text
    return "".join(c if c in _SAFE or not c.isascii() else f"%{ord(c):06x}" for c in text)


def start_partition_prefix(workflow: str) -> str:
    """Return the prefix of all start records' partitions, to which IAM policies limit clients."""
    return f"start:{escape(workflow)}/"


def execution_partition_prefix(workflow: str) -> str:
    """Return the prefix of all partitions of executions, except start records'."""
    return f"{escape(workflow)}/"


def partition_prefixes(workflow: str) -> tuple[str, ...]:
    """Return the partition prefixes of `workflow`, which no other workflow shares."""
    shared = (f"{kind}:{escape(workflow)}/" for kind in ("memo", "token"))
    return (start_partition_prefix(workflow), execution_partition_prefix(workflow), *shared)


def definition_partition_prefix(workflow: str) -> str:
    """Return the prefix of the partitions of all definition records, which only some functions may write."""
    return f"definition:{escape(workflow)}/"


def definition_partition(workflow: str, digest: str) -> str:
    """Return the partition of the definition with `digest`, with all its copies."""
    return definition_partition_prefix(workflow) + digest


def definition_key(workflow: str, digest: str, day: int, part: int) -> Key:
    """Return the key of one part of a definition's copy.

    Args:
        workflow: name of the workflow.
        digest: digest of the IR.
        day: last day that the copy is needed, counted from 1970; copies are ordered by it.
        part: number of the part in the copy, from 0.
    """
    return Key(definition_partition(workflow, digest), f"{day:09d}.{part:09d}")


def day_of_copy(key: Key) -> str:
    """Return the day in a key of `definition_key`, as text."""
    return key.sort.partition(".")[0]


def start_key(workflow: str, execution_name: str) -> Key:
    """Return the key of a start record, the only item that is found by the execution's name alone."""
    return Key(start_partition_prefix(workflow) + escape(execution_name), "start")


def checkpoint_key(workflow: str, name: Name) -> Key:
    """Return the checkpoint key for `name`.

    Each shard has a partition of its own, so that the branches of a large fan-out spread over DynamoDB's partitions,
    which take 1,000 write units a second each. Within it, checkpoints are ordered by index, then step, so that a join
    reads a shard with one query. Source: Amazon DynamoDB Developer Guide, "Best practices for designing and using
    partition keys effectively".
    """
    if not name.frames:
        if name.step == START_STEP:
            return start_key(workflow, name.execution.name)
        return Key(execution_partition(workflow, name.execution), f"{name.step:09d}")
    scope = Scope.around(name.execution, name.frames)
    last = name.frames[-1]
    return key_in_shard(shard_partition(workflow, scope, last.shard), last.index, name.step)


def redrive_key(workflow: str, name: Name) -> Key:
    """Return the key of the pin of the redrive whose step at the top level is `name`."""
    return Key(f"{execution_partition(workflow, name.execution)}/redrives", f"{name.step:09d}")


def key_in_shard(partition: str, index: int, step: int) -> Key:
    """Return a branch checkpoint's key in its shard's partition."""
    # Nine digits, because sort keys are compared as text and must have the order of numbers.
    return Key(partition, f"{index:09d}.{step:09d}")


def place_in_shard(key: Key) -> tuple[int, int]:
    """Return branch and step of a checkpoint's key in a shard's partition."""
    index, step = key.sort.split(".")
    return int(index), int(step)


def pack_key(workflow: str, scope: Scope, pack: int, digest: str) -> Key:
    """Return a pack's key, next to its branches' checkpoints, so one query reads all.

    Args:
        workflow: name of the workflow.
        scope: the fan-out.
        pack: number of the pack.
        digest: digest of the IR that wrote all entries of the pack.
    """
    first = first_of(pack)
    return Key(shard_partition(workflow, scope, first // SHARD_SIZE), f"{_PACK}{first}.{digest}")


def pack_at(key: Key) -> tuple[int, str] | None:
    """Return first branch and IR digest of the pack at `key` in a shard's partition; None for any other item."""
    if not key.sort.startswith(_PACK):
        return None
    first, digest = key.sort.removeprefix(_PACK).split(".")
    return int(first), digest


def aside_key(checkpoint: Key) -> Key:
    """Return the key of an outcome set aside, valid only if the branch's pack refers to it."""
    return checkpoint._replace(sort=f"{checkpoint.sort}{_ASIDE}")


def is_aside(key: Key) -> bool:
    """Return True for a key of `aside_key`."""
    return key.sort.endswith(_ASIDE)


def join_keys(workflow: str, name: Name) -> tuple[Key, ...]:
    """Return the keys of the outcomes of all fan-outs around `name`, outermost first.

    If one exists while `name` has no outcome, the fan-out settled without it, or the execution was stopped.
    """
    return tuple([checkpoint_key(workflow, scope.join) for scope in name.scopes])


def completion_key(workflow: str, scope: Scope, shard: int) -> Key:
    """Return the key of the completion set of `shard`, in a separate partition that joins never read."""
    return Key(_bounded(f"{_scope_path(workflow, scope)}~{shard}/done"), "done")


def root_key(workflow: str, scope: Scope) -> Key:
    """Return the key of the set of full shards of `scope`."""
    return Key(_bounded(f"{_scope_path(workflow, scope)}/done"), "done")


def failed_key(workflow: str, scope: Scope) -> Key:
    """Return the key of the set of failed branches of `scope`, for a scope that tolerates failures."""
    return Key(_bounded(f"{_scope_path(workflow, scope)}/done"), "failed")


def meeting_key(workflow: str, scope: Scope, index: int, step: int) -> Key:
    """Return the key of the neighbour join of branch `index` and the previous branch at `step`."""
    return Key(_bounded(f"{_scope_path(workflow, scope)}~{index // SHARD_SIZE}/met"), f"{index:09d}.{step:09d}")


def pending_key(workflow: str, digest: str) -> Key:
    """Return the key of a pending callback; `digest` is the digest of the invocation name."""
    return Key(f"token:{escape(workflow)}/{digest}", "pending")


def proof_key(workflow: str, digest: str, proof: str) -> Key:
    """Return the key of a further token of a pending callback; `proof` is the digest of its secret part."""
    return Key(f"token:{escape(workflow)}/{digest}", f"proof.{proof}")


def answer_key(workflow: str, digest: str) -> Key:
    """Return the key of a responder's result."""
    return Key(f"token:{escape(workflow)}/{digest}", "result")


def job_partition(workflow: str, digest: str) -> str:
    """Return the partition of a Task's service jobs; `digest` is the digest of the invocation name."""
    return f"token:{escape(workflow)}/{digest}"


def job_key(workflow: str, digest: str, attempt: int, term: int) -> Key:
    """Return the key of a service job, ordered by the Task's attempts and their terms of polling."""
    return Key(job_partition(workflow, digest), f"job.{attempt:09d}.{term:09d}")


def term_of_job(key: Key) -> int:
    """Return the term in a key of `job_key`."""
    return int(key.sort.rpartition(".")[2])


def sweep_partition(workflow: str) -> str:
    """Return the partition with the memory of sweeps; names of executions are escaped, so none has its ``~``."""
    return f"{execution_partition_prefix(workflow)}sweeps~"


def letters_partition(workflow: str) -> str:
    """Return the partition with the times at which dead letters were tried again."""
    return f"{execution_partition_prefix(workflow)}letters~"


def announcements_partition(workflow: str, shard: int) -> str:
    """Return a partition with notes of pending status events."""
    return f"{execution_partition_prefix(workflow)}announcements~{shard}"


def lease_key(key: Key) -> Key:
    """Return the lease's key for work on item `key`."""
    return Key(f"{key.partition}/lease", key.sort)


DESCRIBE, INTAKE, START_INTAKE = "describe", "intake", "start-intake"
START, RUN, RESPOND = "start", "run", "respond"
"""Fronts of the names of aliases."""

PERMANENT = START, RUN
"""Those that the control function and the function where executions start both have."""


def start_alias(workflow: str) -> str:
    """Return the name of the start alias of `workflow`."""
    return f"{START}-{workflow}"


def run_alias(workflow: str) -> str:
    """Return the name of the run alias of `workflow`, which starts executions by name."""
    return f"{RUN}-{workflow}"


def describe_alias(workflow: str) -> str:
    """Return the name of the describe alias of `workflow`."""
    return f"{DESCRIBE}-{workflow}"


def control_alias_name(kind: str, workflow: str) -> str:
    """Return the name of the control function's alias for one kind of requests to `workflow`."""
    return f"{kind}-{workflow}"


def start_intake_alias(workflow: str) -> str:
    """Return the name of the intake's alias that receives failed start events of `workflow`."""
    return f"{START_INTAKE}-{workflow}"


def intake_alias(workflow: str) -> str:
    """Return the name of the alias that is the intake of `workflow`, in a control plane of several workflows."""
    return f"{INTAKE}-{workflow}"


def response_alias(workflow: str) -> str:
    """Return the name of the response alias of `workflow`, which takes answers with a task token."""
    return f"{RESPOND}-{workflow}"


@lru_cache(maxsize=64)
def execution_partition(workflow: str, execution: Execution) -> str:
    """Return the partition of an execution's top level."""
    return f"{execution_partition_prefix(workflow)}{escape(execution.name)}:{execution.started_ms:x}"


def shard_partition(workflow: str, scope: Scope, shard: int) -> str:
    """Return one shard's partition, with all its branches' checkpoints."""
    return _bounded(f"{_scope_path(workflow, scope)}~{shard}")


def object_folder(workflow: str, partition: str) -> str:
    """Return the folder of objects that items of `partition` refer to: one per execution of the workflow.

    For items with a digest in their partition, the digest replaces the execution's name.
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
    # The workflow stays readable, because IAM policies grant access by this prefix.
    workflow, slash, _ = partition.partition("/")
    return f"{workflow}{slash}{_HASHED}{sha256(raw)}"
