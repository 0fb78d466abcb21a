"""The structure of the folders: import-linter checks who may import whom, this checks names and sizes."""

import warnings
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from tests.architecture.house import DISTRIBUTIONS, ROOT, modules

MOST_IN_A_ROOM = 25
MOST_PUBLIC_CONSTRUCT_MODULES = 13
MOST_SHARED_NAMES = 8  # names that documentation shows, handler paths, and one part each of runtime and constructs
MANY_LINES = 700


def named(folder: Path) -> Counter[str]:
    return Counter(path.stem for path in modules(folder) if path.stem not in ("__init__", "__main__"))


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_room_has_few_modules(name: str) -> None:
    rooms = Counter(path.parent for path in modules(DISTRIBUTIONS[name]) if path.stem != "__init__")
    assert {str(room): count for room, count in rooms.items() if count > MOST_IN_A_ROOM} == {}


def test_the_top_of_the_constructs_is_what_users_name() -> None:
    top = [path.stem for path in DISTRIBUTIONS["unum_constructs"].glob("[!_]*.py")]
    assert len(top) <= MOST_PUBLIC_CONSTRUCT_MODULES


def test_few_modules_share_a_name() -> None:
    every = [path for folder in DISTRIBUTIONS.values() for path in modules(folder) if "template" not in path.parts]
    names = Counter(path.stem for path in every if path.stem not in ("__init__", "__main__"))
    shared = [stem for stem, count in names.items() if count > 1]
    assert len(shared) <= MOST_SHARED_NAMES, shared


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_no_two_names_differ_in_one_letter(name: str) -> None:
    pairs = combinations(sorted(named(DISTRIBUTIONS[name])), 2)
    assert [pair for pair in pairs if differ_in_one_letter(*pair)] == []


class LongModuleWarning(UserWarning):
    """A module that may hold more than one idea. It fails nothing: a limit would split ideas at a number."""


@pytest.mark.filterwarnings("default::tests.architecture.test_rooms.LongModuleWarning")
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_long_modules_are_warned_of(name: str) -> None:
    for path, count in long_modules(DISTRIBUTIONS[name]).items():
        warnings.warn(
            f"{path.relative_to(ROOT)} has {count} lines: check that it holds one idea", LongModuleWarning, stacklevel=1
        )


def long_modules(folder: Path) -> dict[Path, int]:
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in modules(folder)}
    return {path: count for path, count in lines.items() if count > MANY_LINES}


def test_only_modules_above_the_limit_are_long(tmp_path: Path) -> None:
    for name, count in (("short", MANY_LINES), ("long", MANY_LINES + 1)):
        (tmp_path / f"{name}.py").write_text("x = 1\n" * count, encoding="utf-8")
    assert long_modules(tmp_path) == {tmp_path / "long.py": MANY_LINES + 1}


def differ_in_one_letter(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if len(short) == len(long):
        return sum(a != b for a, b in zip(short, long, strict=True)) == 1
    return len(short) + 1 == len(long) and any(long[:at] + long[at + 1 :] == short for at in range(len(long)))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("payload", "payloads", True),
        ("version", "versions", True),
        ("steps", "stops", True),
        ("plan", "advance", False),
        ("plan", "planning", False),
    ],
)
def test_the_measure_of_names(one: str, other: str, *, expected: bool) -> None:
    assert differ_in_one_letter(one, other) is differ_in_one_letter(other, one) is expected
