"""Notes by which a deletion finds what no step of its execution leads to.

A redrive or fork may die after copies and before the step that opens their fan-out. A delivery that runs while its
execution is deleted may give out a token or start a job later, when the steps are gone: the first deletion notes how
many there were. A note has no data of the execution.
"""

from collections.abc import Iterator

from unum_runtime.cold_start.records import NamedTuple, replace
from unum_runtime.json_text import parse_json, to_text
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.naming import Execution, Frame, Frames, Key, Name, execution_partition, redrive_key


def copies_partition(workflow: str, execution: Execution) -> str:
    """Return the partition of the notes of copies, which has the pins of redrives as well."""
    return redrive_key(workflow, Name(execution, (), 0)).partition


def copies_key(workflow: str, name: Name) -> Key:
    """Return the key of the note that a redrive or fork copies the fan-out that the step `name` opens."""
    return Key(copies_partition(workflow, name.execution), f"{name.step:09d}.copies")


def waits_key(workflow: str, execution: Execution, partition: str = "top") -> Key:
    """Return the key of a deletion's note about steps of the top level, or of the shard stored in `partition`."""
    return Key(f"{execution_partition(workflow, execution)}/waits", partition)


class Waits(NamedTuple):
    """Steps of the top level, or of the branches in one shard, at which Tasks may have waited.

    Attributes:
        frames: frames of the first branch; none for the top level.
        steps: number of steps of each branch, the one without an outcome included.
        tries: number of tokens that one Task may have, each for one of its tries.
        digests: definitions of the steps, at the top level.
    """

    frames: Frames
    steps: tuple[int, ...]
    tries: int = 0
    digests: tuple[str, ...] = ()

    def names(self, execution: Execution) -> Iterator[Name]:
        """Yield the names of all steps."""
        for branch, steps in enumerate(self.steps):
            for step in range(steps):
                yield Name(execution, self._of_branch(branch), step)

    def last_names(self, execution: Execution) -> Iterator[Name]:
        """Yield the name of the last step of each branch."""
        return (Name(execution, self._of_branch(branch), steps - 1) for branch, steps in enumerate(self.steps) if steps)

    def joined(self, noted: "Waits") -> "Waits":
        """Merge these steps with steps `noted` for the same place."""
        most = (max(own, other) for own, other in zip(self.steps, noted.steps, strict=True))
        digests = tuple(sorted({*self.digests, *noted.digests}))
        return Waits(self.frames, tuple(most), max(self.tries, noted.tries), digests)

    def to_item(self) -> Item:
        """Return the stored form."""
        return {
            "frames": to_text([[f.state, f.iteration, f.generation, f.index, f.size] for f in self.frames]),
            "steps": to_text([*self.steps]),
            "tries": self.tries,
            "digests": to_text([*self.digests]),
        }

    @classmethod
    def from_item(cls, item: Item) -> "Waits":
        """Return what `to_item` wrote."""
        frames, steps, digests = (parse_json(str(item[field])) for field in ("frames", "steps", "digests"))
        return cls(tuple(Frame(*frame) for frame in frames), tuple(steps), int(item["tries"]), tuple(digests))

    def _of_branch(self, branch: int) -> Frames:
        if not self.frames:
            return ()
        *outer, first = self.frames
        return (*outer, replace(first, index=first.index + branch))
