"""Invocations as keys, events and notes name them.

Parsed from text by this module's own expressions, so that a mistake in how the runtime computes names is no mistake
here. What the format means: `unum_runtime.model.naming`.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_FRAME = re.compile(r"/([^/@]+)@(\d+)\.(\d+)\[(\d+)\]")
_SCOPE = re.compile(r"/([^/@]+)@(\d+)\.(\d+)~\d+$")
_NAME = re.compile(r"([^/#]+)((?:/[^/@]+@\d+\.\d+\[\d+\])*)#(\d+)")
_TOP, _BRANCH = re.compile(r"\d{9}"), re.compile(r"(\d{9})\.(\d{9})")
_ESCAPED = re.compile(r"%([0-9a-f]{6})")


class Frame(NamedTuple):
    """One branch of a fan-out."""

    state: str
    iteration: int
    generation: int
    branch: int

    @property
    def scope(self) -> tuple[str, int, int]:
        return self[:3]


class Place(NamedTuple):
    """An invocation, or whatever else takes a step: execution as ``name:start``, frames of fan-outs, step."""

    execution: str
    frames: tuple[Frame, ...]
    step: int

    def __str__(self) -> str:
        frames = "".join(f"/{f.state}@{f.iteration}.{f.generation}[{f.branch}]" for f in self.frames)
        return f"{self.execution}{frames}#{self.step}"

    @property
    def name(self) -> str:
        """Name of the execution."""
        return self.execution.rpartition(":")[0]

    @property
    def before(self) -> "Place | None":
        """Place that must have committed before: the step before, or what opened the fan-out; None for a start."""
        if self.step:
            return self._replace(step=self.step - 1)
        if not self.frames:
            return None
        *outer, last = self.frames
        return Place(self.execution, tuple(outer), last.iteration - 1)

    @property
    def joins(self) -> "tuple[Place, ...]":
        """Places of the outcomes of all fan-outs around, outermost first."""
        return tuple(
            Place(self.execution, self.frames[:depth], frame.iteration) for depth, frame in enumerate(self.frames)
        )

    def shares_a_fan_out(self, other: "Place") -> bool:
        """Return True if this place is in a branch of a fan-out that has `other` inside as well."""
        depth = len(self.frames)
        if not depth or len(other.frames) < depth or other.execution != self.execution:
            return False
        return self.frames[:-1] == other.frames[: depth - 1] and self.frames[-1].scope == other.frames[depth - 1].scope

    @property
    def shape(self) -> tuple[Any, ...]:
        """Return the part that copies in other executions or other rounds of a fan-out share with the original."""
        return (*((frame.state, frame.branch) for frame in self.frames), self.step)


class UnknownFormatError(Exception):
    """A key of a format that this checker does not read."""


def of_key(workflow: str, key: list[str], item: Mapping[str, Any] | None) -> Place | None:
    """Return the place of a checkpoint's key; None for keys of sets, leases, tokens and the like.

    Raises:
        UnknownFormatError: hashed partitions and packs, which name places in other ways.
    """
    partition, sort = key
    if partition.startswith(f"start:{workflow}/") and sort == "start":
        return None if item is None else Place(f"{_plain(partition.partition('/')[2])}:{int(item['at']):x}", (), 0)
    head, _, rest = partition.partition("/")
    if head != workflow:
        return None
    execution, slash, inside = rest.partition("/")
    if execution.startswith("#") or (slash and sort.startswith("p")):
        raise UnknownFormatError(f"{key}: the checker reads neither hashed partitions nor packs of small results")
    if not slash:
        return Place(_plain(execution), (), int(sort)) if _TOP.fullmatch(sort) else None
    scope, place = _SCOPE.search(f"/{inside}"), _BRANCH.fullmatch(sort)
    if scope is None or place is None:
        return None
    state, iteration, generation = scope.groups()
    own = Frame(_plain(state), int(iteration), int(generation), int(place[1]))
    return Place(_plain(execution), (*_frames(f"/{inside}"[: scope.start()]), own), int(place[2]))


def of_envelope(event: Any) -> Place | None:
    """Return the place of an event between functions; None for any other."""
    if not isinstance(event, dict) or not {"$unum", "workflow", "execution", "frames", "step"} <= event.keys():
        return None
    name, started_ms = event["execution"]
    frames = tuple(Frame(state, iteration, again, index) for state, iteration, again, index, _ in event["frames"])
    return Place(f"{name}:{started_ms:x}", frames, event["step"])


def of_text(text: str) -> Place | None:
    """Return the place of an invocation's name as user code sees it."""
    found = _NAME.fullmatch(text)
    return found and Place(found[1], _frames(found[2]), int(found[3]))


def _frames(text: str) -> tuple[Frame, ...]:
    return tuple(Frame(_plain(state), *map(int, numbers)) for state, *numbers in _FRAME.findall(text))


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda code: chr(int(code[1], 16)), text)
