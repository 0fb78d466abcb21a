"""Building blocks of graphs: immutable, reusable, without unique names.

Every use of a node becomes a state of its own; repeated names get a number. `Goto` continues with an existing state
instead.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeAlias

from unum_compiler.frontends.graph.graph_expressions import Condition, Expression, Reference, payload
from unum_runtime.model.states import Json


def check_whole(node: str, argument: str, value: Any, least: int, *, may_be_place: bool = False) -> None:
    """Raise unless `value` is None, an integer >= `least`, or an allowed place.

    Raises:
        TypeError: `value` is something else.
        ValueError: the integer is too small.
    """
    if value is None or (may_be_place and isinstance(value, Reference)):
        return
    if isinstance(value, bool) or not isinstance(value, int):
        place = ", or a place in data" if may_be_place else ""
        raise TypeError(f"{node!r}: {argument}: expected an integer{place}, got {shown(value)}")
    if value < least:
        raise ValueError(f"{node!r}: {argument}: expected at least {least}, got {value}")


def check_number(node: str, argument: str, value: Any, least: float) -> None:
    """Raise unless `value` is a number >= `least`.

    Raises:
        TypeError: `value` is something else.
        ValueError: the number is too small.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{node!r}: {argument}: expected a number, got {shown(value)}")
    if value < least:
        raise ValueError(f"{node!r}: {argument}: expected at least {least:g}, got {value}")


def check_text(node: str, argument: str, value: Any, *, may_be_place: bool = False) -> None:
    """Raise TypeError unless `value` is text, or a place if that is allowed."""
    if not isinstance(value, str) and not (may_be_place and isinstance(value, Reference)):
        place = ", or a place in data" if may_be_place else ""
        raise TypeError(f"{node!r}: {argument}: expected text{place}, got {shown(value)}")


def check_truth(node: str, argument: str, value: Any) -> None:
    """Raise TypeError unless `value` is True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{node!r}: {argument}: expected True or False, got {shown(value)}")


def number_field(node: str, argument: str, field: str, value: Any, least: int = 0) -> dict[str, Json]:
    """Return ASL's field for an integer or a place; nothing for None.

    Raises:
        TypeError: `value` is something else.
        ValueError: the integer is too small.
    """
    check_whole(node, argument, value, least, may_be_place=True)
    if value is None:
        return {}
    return {f"{field}Path": value.text} if isinstance(value, Reference) else {field: value}


def shown(value: Any) -> str:
    """Return `value` for a message."""
    return value.text if isinstance(value, Expression) else repr(value)


class Piece(ABC):
    """A part of a ``>>`` sequence."""

    @property
    @abstractmethod
    def steps(self) -> tuple["Step", ...]:
        """Return the nodes of the sequence."""

    def after(self, *sources: str) -> "Node":
        """Return the nodes as one node of a `dag`, whose input is the results of `sources` by name.

        Raises:
            TypeError: a source is no name.
        """
        for source in sources:
            if not isinstance(source, str):
                raise TypeError(f'after: expected the name of a node, such as "split", got {source!r}')
        return Node(self, sources)

    def __rshift__(self, other: "Piece") -> "Flow":
        if not isinstance(other, Piece):
            return NotImplemented
        return Flow((*self.steps, *other.steps))


@dataclass(frozen=True, eq=False)
class Node(Piece):
    """A node of a `dag`.

    Attributes:
        piece: its nodes, which run in a row.
        sources: names of the nodes whose results it waits for.
    """

    piece: Piece
    sources: tuple[str, ...] = ()

    @property
    def steps(self) -> tuple["Step", ...]:
        """Refuse a use outside of a `dag`.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            f"after({', '.join(map(repr, self.sources))}): expected as a value of dag({{...}}), not elsewhere"
        )


@dataclass(frozen=True, eq=False)
class Flow(Piece):
    """A sequence of nodes.

    Raises:
        ValueError: a node follows a node that ends the sequence.
    """

    nodes: tuple["Step", ...]

    def __post_init__(self) -> None:
        for before, after in zip(self.nodes, self.nodes[1:], strict=False):
            if before.is_last:
                raise ValueError(f"{after.name!r} can never be reached: nothing follows {before.name!r}; remove it")

    @property
    def steps(self) -> tuple["Step", ...]:
        """Return the nodes."""
        return self.nodes


@dataclass(frozen=True, eq=False, kw_only=True)
class Step(Piece):
    """A node.

    Attributes:
        name: name of its state, and of the target of a `Goto`.
        fields: fields of its state in the Amazon States Language, without its transitions.
        extensions: fields of its state in the IR that the Amazon States Language lacks.
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
        """Return the node alone."""
        return (self,)

    def _with(self, **fields: Json) -> Self:
        return replace(self, fields={**self.fields, **fields})


@dataclass(frozen=True, eq=False, kw_only=True)
class Simple(Step):
    """A Pass or Wait, which runs no user code."""

    def assign(self, **variables: Any) -> Self:
        """Return the node with variables to set; expressions read its input."""
        return self._with(Assign={**self.fields.get("Assign", {}), **payload(variables)})


@dataclass(frozen=True, eq=False, kw_only=True)
class Ending(Step):
    """A Succeed or Fail."""

    is_last: ClassVar[bool] = True


@dataclass(frozen=True, eq=False, kw_only=True)
class Goto(Step):
    """A continuation with state `name`, the first so called in the same scope."""

    is_last: ClassVar[bool] = True


@dataclass(frozen=True, eq=False, kw_only=True)
class Handler:
    """The continuation of an error.

    Attributes:
        fields: fields of the catcher, without its target.
        then: nodes that handle the error, before the sequence continues; None for no nodes.
    """

    fields: Mapping[str, Json]
    then: Piece | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Work(Step):
    """A Task, Map or Parallel: may fail, and can put its result beside its input.

    Attributes:
        handlers: handlers of errors after all retries; the first that names an error handles it.
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
        """Return the node with retries after certain errors.

        Args:
            errors: names of the errors; by default all.
            attempts: number of retries.
            interval_s: seconds before the first retry.
            backoff_rate: factor of the interval for every further retry.
            max_delay_s: longest interval, in seconds.
            jitter: use a random part of each interval.

        Raises:
            TypeError: an argument has another kind.
            ValueError: a number is too small.
        """
        check_whole(self.name, "attempts", attempts, 0)
        check_whole(self.name, "interval_s", interval_s, 1)
        check_number(self.name, "backoff_rate", backoff_rate, 1)
        check_whole(self.name, "max_delay_s", max_delay_s, 1)
        check_truth(self.name, "jitter", jitter)
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
        """Return the node with a continuation through `then` for certain errors.

        Args:
            errors: names of the errors; by default all.
            then: nodes whose input is the error, ``{"Error": ..., "Cause": ...}``; then the sequence continues. By
                default the error is the node's output.
            into: field of the node's input for the error, so that the handler gets both.
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
        """Return the node with field `name` of its input replaced by its result, as output."""
        return self._with(**_into(name))

    def assign(self, **variables: Any) -> Self:
        """Return the node with variables to set; expressions read its result."""
        return self._with(Assign={**self.fields.get("Assign", {}), **payload(variables)})


@dataclass(frozen=True, eq=False, kw_only=True)
class Task(Work):
    """A call of a function.

    Attributes:
        function: key or construct.
    """

    function: Any

    def meets_previous(self) -> Self:
        """Return the node as a neighbour join: its input is an array, the neighbour's output before its own input.

        Each branch waits for its neighbour alone. The first branch gets null for the neighbour's output. A Task must
        come before the node in its branch.
        """
        return replace(self, extensions={**self.extensions, "meets_previous": True})

    def after_previous(self, step: str) -> Self:
        """Return the node, waiting for the result of task `step` in the branch before: its input is an object of both.

        Its own input is `own`; the result of `step`, which may be the node itself, is `previous`. In the first branch
        `previous` is null. A task must come before the node in its branch.

        Args:
            step: name of a task of the same map that every branch runs once.

        Raises:
            TypeError: `step` is no name.
        """
        if not isinstance(step, str):
            raise TypeError(
                f'{self.name!r}: after_previous: expected the name of a task, such as "encode", got {step!r}'
            )
        return replace(self, extensions={**self.extensions, "after_previous": step})


@dataclass(frozen=True, eq=False, kw_only=True)
class FanOut(Work):
    """A Map or Parallel."""

    def quorum(self, count: int) -> Self:
        """Return the node with a quorum: `count` successful branches suffice, and their outputs form its output.

        It fails when too few branches are left. Outcomes of other branches are dropped. At most 256 branches are
        allowed.
        """
        check_whole(self.name, "count", count, 0)  # the compiler knows the limits
        return replace(self, extensions={**self.extensions, "quorum": count})


@dataclass(frozen=True, eq=False, kw_only=True)
class Parallel(FanOut):
    """A node that runs branches side by side."""

    branches: tuple[Piece, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Map(FanOut):
    """A node that runs one branch per item.

    Attributes:
        branch: nodes for an item.
        config: fields of the branch's definition besides its states.
    """

    branch: Piece
    config: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class Choose(Step):
    """A node that takes the first continuation whose condition holds.

    Attributes:
        ways: condition and nodes of each continuation, after which the sequence continues. None for no nodes.
        default: nodes if no condition holds.
    """

    ways: tuple[tuple[Condition, Piece | None], ...]
    default: Piece | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Fold(Step):
    """A node that processes items in sequence; each result feeds the next run.

    Attributes:
        items: place of the array.
        initial: first accumulated value, possibly with expressions.
        body: nodes for an item.
    """

    items: Reference
    initial: Any
    body: Piece


def nodes_of(value: Any) -> Piece:
    """Return `value` unchanged; refuse everything except nodes and sequences.

    Raises:
        TypeError: `value` is something else.
    """
    if isinstance(value, Piece):
        return value
    raise TypeError(f'expected nodes, such as task("name") or some in a row, got {value!r}')


def input_fields(value: Any) -> dict[str, Json]:
    """Return the ASL fields that select a state's input.

    Args:
        value: None for the whole input, a reference into the input or the context object, or an object with
            expressions.

    Raises:
        ValueError: `value` is something else.
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


Needs: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Each node's name with the names of its sources."""


def ordered(sources: Mapping[str, tuple[str, ...]], name: str) -> Needs:
    """Return the nodes so that each comes after its sources, and those without sources first.

    Args:
        sources: names of the sources of each node.
        name: name of the region, for messages.

    Raises:
        ValueError: there are no nodes, a node waits for one that does not exist, or some wait for each other.
    """
    if not sources:
        raise ValueError(f"{name!r}: expected at least one node, got none")
    for node, waits_for in sources.items():
        unknown = [each for each in waits_for if each not in sources]
        if unknown:
            raise ValueError(
                f"{name!r}: node {node!r} waits for {unknown[0]!r}, which does not exist among {[*sources]}"
            )
    found: dict[str, tuple[str, ...]] = {node: () for node, waits_for in sources.items() if not waits_for}
    while len(found) < len(sources):
        ready = {node: each for node, each in sources.items() if node not in found and found.keys() >= {*each}}
        if not ready:
            rest = [node for node in sources if node not in found]
            raise ValueError(f"{name!r}: nodes {rest} wait for each other, and would never begin; remove an edge")
        found |= {node: tuple(dict.fromkeys(each)) for node, each in ready.items()}
    return tuple(found.items())
