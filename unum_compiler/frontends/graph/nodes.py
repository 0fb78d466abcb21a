"""The parts of a graph: immutable, and free of names that must be unique, so that each can be used again.

Every use of a node is a state of its own, whose name gets a number where it is taken. What is to be one state for
several ways is named by `Goto`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from unum_compiler.frontends.graph.graph_expressions import Condition, Expression, Reference, payload
from unum_runtime.model.ir import Json


class Piece:
    """Anything that can be put into a sequence by ``>>``."""

    @property
    def steps(self) -> tuple["Step", ...]:
        """The nodes that it is a sequence of."""
        raise NotImplementedError

    def __rshift__(self, other: "Piece") -> "Flow":
        if not isinstance(other, Piece):
            return NotImplemented
        return Flow((*self.steps, *other.steps))


@dataclass(frozen=True, eq=False)
class Flow(Piece):
    """A sequence of nodes.

    Raises:
        ValueError: a node stands behind one that nothing can follow.
    """

    nodes: tuple["Step", ...]

    def __post_init__(self) -> None:
        for before, after in zip(self.nodes, self.nodes[1:], strict=False):
            if before.is_last:
                raise ValueError(f"{after.name!r} can never be reached: nothing follows {before.name!r}; remove it")

    @property
    def steps(self) -> tuple["Step", ...]:
        """The nodes."""
        return self.nodes


@dataclass(frozen=True, eq=False, kw_only=True)
class Step(Piece):
    """A node.

    Attributes:
        name: of its state, and what `Goto` names.
        fields: of its state in the Amazon States Language, without those that say what follows.
        extensions: of its state in the IR, for which the Amazon States Language has no words.
    """

    is_last: ClassVar[bool] = False

    name: str
    fields: Mapping[str, Json] = field(default_factory=dict)
    extensions: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise TypeError(f"expected text as the name of a node, got {self.name!r}")

    @property
    def steps(self) -> tuple["Step", ...]:
        """The node alone."""
        return (self,)

    def _with(self, **fields: Json) -> Self:
        return replace(self, fields={**self.fields, **fields})


@dataclass(frozen=True, eq=False, kw_only=True)
class Simple(Step):
    """Pass or Wait: computed without user code."""

    def assign(self, **variables: Any) -> Self:
        """The same node, which sets variables; expressions in their values see its input."""
        return self._with(Assign={**self.fields.get("Assign", {}), **payload(variables)})


@dataclass(frozen=True, eq=False, kw_only=True)
class Ending(Step):
    """Succeed or Fail."""

    is_last: ClassVar[bool] = True


@dataclass(frozen=True, eq=False, kw_only=True)
class Goto(Step):
    """Goes on with the node called `name`, in the same sequence of states; its first use, if there are several."""

    is_last: ClassVar[bool] = True


@dataclass(frozen=True, eq=False, kw_only=True)
class Handler:
    """What happens after an error.

    Attributes:
        fields: of the catcher, without where it leads.
        then: the nodes that it leads to, and after which the way goes on; None if that is all.
    """

    fields: Mapping[str, Json]
    then: Piece | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Work(Step):
    """Task, Map or Parallel: a node that can fail, whose result can be kept beside its input.

    Attributes:
        handlers: for errors that no retry has mended; the first that is for an error counts.
    """

    handlers: tuple[Handler, ...] = ()

    def retry(
        self,
        *errors: str,
        attempts: int = 3,
        interval_s: int = 1,
        backoff_rate: float = 2.0,
        max_delay_s: int | None = None,
        jitter: bool = False,
    ) -> Self:
        """The same node, which is tried again after certain errors.

        Args:
            errors: their names; all if there are none.
            attempts: how many retries.
            interval_s: seconds before the first.
            backoff_rate: by how much the interval grows with every retry.
            max_delay_s: seconds that an interval is never longer than.
            jitter: the interval is a random part of itself.
        """
        retrier: dict[str, Json] = {
            "ErrorEquals": self._names(errors),
            "IntervalSeconds": interval_s,
            "MaxAttempts": attempts,
            "BackoffRate": backoff_rate,
        }
        retrier |= {} if max_delay_s is None else {"MaxDelaySeconds": max_delay_s}
        retrier |= {"JitterStrategy": "FULL"} if jitter else {}
        return self._with(Retry=[*self.fields.get("Retry", ()), retrier])

    def catch(self, *errors: str, then: Piece | None = None, into: str | None = None) -> Self:
        """The same node, after which the way leads through `then` when it fails.

        Args:
            errors: names of the errors that it is for; all if there are none.
            then: nodes whose input is the error, ``{"Error": ..., "Cause": ...}``; then the way goes on. Without, the
                error takes the place of the node's output.
            into: field of the node's input that takes the error, so that both are the input.
        """
        fields = {"ErrorEquals": self._names(errors), **_into(into)}
        return replace(
            self, handlers=(*self.handlers, Handler(fields=fields, then=None if then is None else nodes_of(then)))
        )

    def _names(self, errors: tuple[str, ...]) -> list[str]:
        for each in errors:
            if not isinstance(each, str):
                raise TypeError(f'{self.name!r}: expected the name of an error, such as "KeyError", got {each!r}')
        return [*errors] or ["States.ALL"]

    def into(self, name: str) -> Self:
        """The same node, whose output is its input with its result in the field `name`."""
        return self._with(**_into(name))

    def assign(self, **variables: Any) -> Self:
        """The same node, which sets variables; expressions in their values see its result."""
        return self._with(Assign={**self.fields.get("Assign", {}), **payload(variables)})


@dataclass(frozen=True, eq=False, kw_only=True)
class Task(Work):
    """Runs a function.

    Attributes:
        function: its key, or its construct.
    """

    function: Any

    def meets_previous(self) -> Self:
        """The same node in a branch: its input is an array of two, what the branch before comes here with, and its own.

        So each branch waits for its neighbour alone, and not for all. In the first branch the neighbour's part is null.
        What comes before the node in its branch must be a Task.
        """
        return replace(self, extensions={**self.extensions, "meets_previous": True})


@dataclass(frozen=True, eq=False, kw_only=True)
class FanOut(Work):
    """Map or Parallel."""

    def quorum(self, count: int) -> Self:
        """The same node, which goes on when `count` branches have succeeded; its output is the array of theirs.

        It fails only when too few are left that could succeed. What the others come to is dropped. It may have at most
        256 branches.
        """
        return replace(self, extensions={**self.extensions, "quorum": count})


@dataclass(frozen=True, eq=False, kw_only=True)
class Parallel(FanOut):
    """Runs branches side by side."""

    branches: tuple[Piece, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Map(FanOut):
    """Runs one branch for every item."""

    branch: Piece


@dataclass(frozen=True, eq=False, kw_only=True)
class Choose(Step):
    """Takes the first way whose condition holds.

    Attributes:
        ways: condition and nodes of each; the way goes on after them. None for no nodes.
        default: the same where no condition holds.
    """

    ways: tuple[tuple[Condition, Piece | None], ...]
    default: Piece | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Fold(Step):
    """Takes one item after the other; what each gives goes into the next.

    Attributes:
        items: where they are.
        initial: what the first gets, which may have expressions in it.
        body: the nodes for an item.
    """

    items: Reference
    initial: Any
    body: Piece


def nodes_of(value: Any) -> Piece:
    """`value`, if it is one or several nodes.

    Raises:
        TypeError: it is something else.
    """
    if isinstance(value, Piece):
        return value
    raise TypeError(f'expected nodes, such as task("name") or some in a row, got {value!r}')


def input_fields(value: Any) -> dict[str, Json]:
    """The fields by which a state selects what it works on.

    Args:
        value: None for its input as it is; a reference into that or into the context object; or an object with
            expressions in it.

    Raises:
        ValueError: it is anything else.
    """
    if value is None:
        return {}
    if isinstance(value, Reference) and re.match(r"\$\$?(?:[.\[]|$)", value.text):
        return {"InputPath": value.text}
    if isinstance(value, Expression) or not isinstance(value, Mapping):
        got = value.text if isinstance(value, Expression) else repr(value)
        raise ValueError(  # noqa: TRY004 - an expression has the right type, and cannot stand here
            f"expected a place in the input or an object with expressions in it, got {got}"
        )
    return {"Parameters": payload(dict(value))}


def _into(name: str | None) -> dict[str, Json]:
    if not (name is None or isinstance(name, str)):
        raise TypeError(f"into: expected the name of a field, got {name!r}")
    return {} if name is None else {"ResultPath": Reference("$")[name].text}
