"""Our dataclasses are like those of the standard library."""

import copy
import dataclasses
import pickle
import subprocess
import sys
import typing
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, replace
from types import FrameType
from typing import Any

import pytest

from unum_runtime.cold_start import records


def print_nothing(*given: Any) -> Any:
    return given


def classes(dataclass: Any, field: Any) -> tuple[Any, Any, Any]:
    """The same classes, made by `dataclass`."""

    @dataclass(frozen=True)
    class Point:
        """With defaults."""

        x: int
        y: int = 2
        note: str = field(default="", compare=False)

    @dataclass(frozen=True, kw_only=True)
    class Named(Point):
        """Inherits, and takes its own by name."""

        name: str  # type: ignore[misc]  # by name
        tags: list[str] = field(default_factory=list, repr=False, compare=False)

    @dataclass(frozen=True)
    class Plain:
        """Has a `__dict__`."""

        value: Any
        note: str = "none"
        names: list[str] = field(default_factory=list, compare=False)
        make: Callable[[str], str] = str.upper
        shown: Callable[..., Any] = print_nothing

        def __repr__(self) -> str:
            return "its own"

    return Point, Named, Plain


Ours, OurNamed, OurPlain = classes(records.dataclass, records.field)
Theirs, TheirNamed, TheirPlain = classes(dataclasses.dataclass, dataclasses.field)


@records.dataclass(frozen=True)
class Kept:
    """Class at a place known to pickle."""

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
    lambda point, _named, _plain: vars(point(1, 2, "")),
    lambda point, named, _plain: [replace(each, x=5).x for each in (point(1), named(1, name="n"))],
    lambda point, named, _plain: [dataclasses.asdict(each) for each in (point(1), named(1, name="n"))],
    lambda point, named, _plain: [each.kw_only for cls in (point, named) for each in fields(cls)],
    lambda point, named, plain: [dataclasses.is_dataclass(each) for each in (point, named, plain(1))],
    lambda _point, _named, plain: vars(plain(1, names=["n"])).keys() & {"value", "names"},
    lambda _point, _named, plain: (plain(1).note, plain(1, "n").note, plain(1).names, plain(value=2, names=[3]).names),
    lambda _point, _named, plain: (plain(1).make("a"), plain(1).shown("a"), plain(1, shown=repr).shown("a")),
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


def test_fields_of_the_standard_library_are_refused() -> None:
    with pytest.raises(TypeError, match=r"Mixed\.names: expected unum_runtime\.cold_start\.records\.field"):

        @records.dataclass(frozen=True)
        class Mixed:
            """Takes one for the other."""

            names: list[str] = dataclasses.field(default_factory=list)


@pytest.mark.parametrize("make", [records.replace, replace])
def test_a_copy_with_changes(make: Callable[..., Any]) -> None:
    assert make(OurNamed(1, name="n", tags=["t"]), y=7).tags == ["t"]
    with pytest.raises(TypeError, match="unexpected keyword"):
        make(Ours(1), z=1)


def pairs(base: Any) -> Any:
    class Pair(base):  # type: ignore[misc]
        """Two."""

        left: int
        right: list[int] | None = None

        def both(self) -> Any:
            """All."""
            return [*self]

        @classmethod
        def of(cls, left: int) -> Any:
            """One."""
            return cls(left)

    return Pair


@pytest.mark.parametrize(
    "use",
    [
        lambda pair: (repr(pair(1)), pair(1), pair(1, right=[2]).both(), pair.of(3)._replace(left=4)),
        lambda pair: (pair._fields, pair._field_defaults, pair.__doc__, pair.__module__, pair.__name__),
        lambda pair: (issubclass(pair, tuple), pair(1).__slots__, pair.__match_args__, hash(pair(1))),
    ],
)
def test_named_tuples_are_those_of_typing(use: Callable[[Any], Any]) -> None:
    assert use(pairs(records.NamedTuple)) == use(pairs(typing.NamedTuple))


def test_neither_loads_what_takes_long() -> None:
    code = """
import sys
from unum_runtime.cold_start.records import NamedTuple, dataclass, replace
@dataclass(frozen=True)
class A:
    x: int = 1
class B(NamedTuple):
    x: int = 1
assert replace(A(), x=2) == A(2) and B() == (1,)
print({"dataclasses", "typing", "inspect"} & {*sys.modules})
"""
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path = {sys.path}\n{code}"]
    completed = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    assert completed.stdout == "set()\n"


def test_whoever_looks_at_the_variables_of_every_frame_changes_nothing() -> None:
    """As debuggers do, and what measures coverage in Python."""

    def look(frame: FrameType, _event: str, _argument: Any) -> Any:
        assert frame.f_locals is not None
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        made = OurPlain(1)
    finally:
        sys.settrace(before)
    assert vars(made) == vars(OurPlain(1))


@pytest.mark.parametrize("count", range(16))
def test_records_of_any_number_of_fields_keep_each_under_its_name(count: int) -> None:
    names = [f"field{number}" for number in range(count)]
    made: Any = records.dataclass(frozen=True)(type("Made", (), {"__annotations__": dict.fromkeys(names, int)}))
    given = made(*range(count))
    assert vars(given) == {name: number for number, name in enumerate(names)}
    assert given == made(**vars(given))
    with pytest.raises(TypeError, match="__init__"):
        made(*range(count + 1))
