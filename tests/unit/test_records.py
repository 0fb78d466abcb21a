"""Our dataclasses are like those of the standard library."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, replace
from typing import Any

import pytest

from unum_runtime import records


def print_nothing(*given: Any) -> Any:
    return given


def classes(dataclass: Any) -> tuple[Any, Any, Any]:
    """The same classes, made by `dataclass`."""

    @dataclass(frozen=True, slots=True)
    class Point:
        """In slots."""

        x: int
        y: int = 2
        note: str = field(default="", compare=False)

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Named(Point):
        """Inherits, and takes its own by name."""

        name: str
        tags: list[str] = field(default_factory=list, repr=False, compare=False)

    @dataclass(frozen=True)
    class Plain:
        """Has a `__dict__`."""

        value: Any
        note: str = "none"
        names: list[str] = field(default_factory=list, compare=False)
        make: Callable[[str], str] = str.upper
        told: Callable[..., Any] = print_nothing

        def __repr__(self) -> str:
            return "its own"

    return Point, Named, Plain


Ours, OurNamed, OurPlain = classes(records.dataclass)
Theirs, TheirNamed, TheirPlain = classes(dataclasses.dataclass)


@records.dataclass(frozen=True, slots=True)
class Kept:
    """Where pickle finds it."""

    value: int


USES: list[Callable[[Any, Any, Any], Any]] = [
    lambda point, _named, _plain: repr(point(1)),
    lambda point, _named, _plain: repr(point(1, note="n", y=3)),
    lambda _point, named, _plain: repr(named(1, 3, name="n", tags=["t"])),
    lambda _point, named, _plain: named(1, name="n").tags,
    lambda _point, _named, plain: repr(plain(1)),
    lambda point, _named, _plain: point(1) == point(1, note="other"),
    lambda point, _named, _plain: point(1) == point(2),
    lambda point, named, _plain: point(1) == named(1, name="n"),
    lambda point, _named, _plain: hash(point(1)) == hash(point(1, note="other")),
    lambda _point, _named, plain: hash(plain(1)) == hash(plain(1)),
    lambda _point, named, _plain: repr(replace(named(1, name="n"), y=7)),
    lambda point, named, _plain: [[each.name for each in fields(cls)] for cls in (point, named)],
    lambda point, named, _plain: (point.__match_args__, named.__match_args__),
    lambda point, _named, _plain: hasattr(point(1), "__dict__"),
    lambda _point, _named, plain: vars(plain(1, names=["n"])).keys() & {"value", "names"},
    lambda _point, _named, plain: (plain(1).note, plain(1, "n").note, plain(1).names, plain(value=2, names=[3]).names),
    lambda _point, _named, plain: (plain(1).make("a"), plain(1).told("a"), plain(1, told=repr).told("a")),
    lambda _point, _named, plain: plain(1, "n") == plain(1),
    lambda _point, _named, plain: plain(1).names is plain(1).names,
    lambda _point, _named, plain: replace(plain(1, names=["n"]), value=2).names,
    lambda point, _named, _plain: copy.deepcopy(point([1])).x,
]

MISUSES: list[tuple[type[Exception], Callable[[Any, Any, Any], Any]]] = [
    (TypeError, lambda point, _named, _plain: point()),
    (TypeError, lambda point, _named, _plain: point(1, 2, "", 4)),
    (TypeError, lambda point, _named, _plain: point(1, x=1)),
    (TypeError, lambda point, _named, _plain: point(1, z=1)),
    (TypeError, lambda point, _named, _plain: point(y=1, z=1)),
    (TypeError, lambda _point, named, _plain: named(1, 2, "", "n")),
    (FrozenInstanceError, lambda point, _named, _plain: setattr(point(1), "x", 2)),
    (FrozenInstanceError, lambda point, _named, _plain: delattr(point(1), "x")),
    (FrozenInstanceError, lambda _point, _named, plain: setattr(plain(1), "value", 2)),
    (TypeError, lambda _point, _named, plain: hash(plain([]))),
    (TypeError, lambda _point, _named, plain: plain()),
    (TypeError, lambda _point, _named, plain: plain(note="")),
    (TypeError, lambda _point, _named, plain: plain(1, "", [], str, str, 6)),
    (TypeError, lambda _point, _named, plain: plain(1, value=1)),
    (TypeError, lambda _point, _named, plain: plain(1, z=1)),
]


@pytest.mark.parametrize("use", USES)
def test_used_as_those_are(use: Callable[[Any, Any, Any], Any]) -> None:
    ours = use(Ours, OurNamed, OurPlain)
    assert ours == use(Theirs, TheirNamed, TheirPlain)


@pytest.mark.parametrize(("error", "misuse"), MISUSES)
def test_refuse_what_those_refuse(error: type[Exception], misuse: Callable[[Any, Any, Any], Any]) -> None:
    for cls in ((Theirs, TheirNamed, TheirPlain), (Ours, OurNamed, OurPlain)):
        with pytest.raises(error):
            misuse(*cls)


def test_an_error_says_which_arguments_are_wrong() -> None:
    with pytest.raises(TypeError, match=r"Point.__init__\(\) got an unexpected keyword argument 'z'"):
        Ours(z=1)


def test_pickle() -> None:
    assert pickle.loads(pickle.dumps(Kept(1))) == Kept(1)  # noqa: S301 - ours


def test_only_frozen_classes() -> None:
    with pytest.raises(TypeError, match="frozen"):
        records.dataclass(frozen=False)
